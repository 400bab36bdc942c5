//! The asynchronous server: one task per connection.

mod accept;
mod options;
mod service;

pub use crate::connection::{Answer, Answering, CallError, ConnectionOptions, Peer, Settling, Ticket};
pub use accept::{BindError, Server};
pub use options::ServerOptions;
pub use service::{Reply, Service};
