//! Bounds and socket settings of a listening port.

use std::time::Duration;

use crate::connection::ConnectionOptions;

/// What holds for a listening port and for every connection to it.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// For each connection.
    pub connection: ConnectionOptions,
    /// Connections beyond this number are closed at once.
    pub max_connections: usize,
    /// Requests of all connections that may wait for their answer; more are refused with SYSTEM_BUSY
    /// where [`super::Service::may_refuse`] allows it.
    pub max_requests_in_flight: usize,
    /// Bytes of these requests' frames.
    pub max_bytes_in_flight: usize,
    /// Connections that the system completes and keeps until they are accepted (`serverSocketBacklog`).
    pub backlog: u32,
    /// Send buffer of each socket in bytes; 0: the system's choice (`serverSocketSndBufSize`).
    pub send_buffer: u32,
    /// Receive buffer of each socket in bytes; 0: the system's choice (`serverSocketRcvBufSize`).
    pub receive_buffer: u32,
    /// How long a shutdown waits for answers in hand, and for peers to close their side.
    pub shutdown_grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            max_connections: 100_000,
            max_requests_in_flight: 262_144,
            max_bytes_in_flight: 512 << 20,
            backlog: 1024,
            send_buffer: 0,
            receive_buffer: 0,
            shutdown_grace: Duration::from_millis(500),
        }
    }
}
