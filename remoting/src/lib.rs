//! The wire: frames, commands, headers, bodies and codes of the RocketMQ remoting protocol,
//! and an asynchronous server and client that speak it.
//!
//! Nothing here knows of files, brokers or name servers.
#![forbid(unsafe_code)]

pub mod client;
pub mod code;
pub mod command;
pub mod fields;
pub mod frame;
pub mod header;
pub mod json;
pub mod message;
pub mod protocol;
pub mod server;

mod codec;
mod connection;
mod word;

pub use code::{RequestCode, ResponseCode};
pub use codec::{DecodeError, Serialization};
pub use command::{Body, Command};
pub use fields::Fields;
pub use header::{DecodeHeader, EncodeHeader, FieldSink, HeaderError};
