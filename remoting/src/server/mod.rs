//! The asynchronous server: one task per connection.

mod peer;
mod service;

pub use peer::{CallError, Peer};
pub use service::{Reply, Service};
