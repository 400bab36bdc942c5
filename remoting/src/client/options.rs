//! Bounds and times of a client.

use std::time::Duration;

use crate::connection::ConnectionOptions;

/// What holds for a client and its connections.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// For each connection.
    pub connection: ConnectionOptions,
    /// How long to try to connect (`connectTimeoutMillis`).
    pub connect_timeout: Duration,
    /// After a failure, no new attempt for this time; doubled by each further one.
    pub first_back_off: Duration,
    /// The longest such time.
    pub last_back_off: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions { max_unsent: 64 << 20, ..ConnectionOptions::default() },
            connect_timeout: Duration::from_secs(3),
            first_back_off: Duration::from_millis(100),
            last_back_off: Duration::from_secs(2),
        }
    }
}
