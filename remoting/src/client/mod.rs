//! The client: one connection per address, kept and renewed.

mod connect;
mod name_servers;
mod options;
mod pool;

pub use crate::connection::{Answer, CallError, ConnectionOptions, Peer};
pub use name_servers::NameServers;
pub use options::ClientOptions;
pub use pool::Client;
