//! The other end of a connection, as handlers see it.

use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

use crate::Command;

/// A connected client, broker or admin tool. Lives as long as anybody holds it; after the
/// connection closed, sending fails.
pub struct Peer {
    id: u64,
    address: SocketAddr,
}

/// Why a request to a peer got no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CallError {
    /// The connection is closed, or closed before the answer came.
    #[error("the connection to {0} is closed")]
    Closed(SocketAddr),
    /// No answer within the time.
    #[error("no answer from {0} within {1:?}")]
    Timeout(SocketAddr, Duration),
    /// Too many bytes wait to be written to this peer.
    #[error("{0} does not read its answers")]
    Congested(SocketAddr),
}

impl Peer {
    /// Number of this connection, unique within the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Remote address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the connection still stands.
    pub fn is_open(&self) -> bool {
        unreachable!("the transport is not in yet")
    }

    /// Queues a one-way request (code 40, for instance) or any other command for the connection's task; never blocks.
    pub fn send(&self, command: Command) -> Result<(), CallError> {
        let _ = command;
        unreachable!("the transport is not in yet")
    }

    /// Sends a request to the peer and waits for its response.
    pub async fn request(&self, command: Command, timeout: Duration) -> Result<Command, CallError> {
        let _ = (command, timeout);
        unreachable!("the transport is not in yet")
    }

    /// Closes the connection once queued commands are written.
    pub fn close(&self) {
        unreachable!("the transport is not in yet")
    }
}
