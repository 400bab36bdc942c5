//! Bounds and times of one connection.

use std::time::Duration;

use crate::Serialization;
use crate::frame::DEFAULT_MAX_FRAME;

/// What holds for a connection, on either side.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// How headers are written; reading takes both.
    pub serialization: Serialization,
    /// Largest frame in bytes, length word included.
    pub max_frame: usize,
    /// A connection without traffic and without anything pending is closed after this time; zero: never.
    pub idle: Duration,
    /// Requests of this connection that may wait for their answer; no more are read meanwhile.
    pub max_in_flight: usize,
    /// Bytes of unsent answers beyond which no more requests are read, and of unsent pushes beyond
    /// which [`super::Peer::send`] refuses.
    pub max_unsent: usize,
    /// A peer that takes none of the bytes waiting for it for this time is closed.
    pub stall: Duration,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            serialization: Serialization::Json,
            max_frame: DEFAULT_MAX_FRAME,
            idle: Duration::from_mins(2),
            max_in_flight: 16_384,
            max_unsent: 4 << 20,
            stall: Duration::from_mins(1),
        }
    }
}
