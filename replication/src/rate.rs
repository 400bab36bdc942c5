//! How many bytes go over a connection in a second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counts bytes by the second.
#[derive(Debug)]
pub(crate) struct Rate(Mutex<Second>);

#[derive(Debug)]
struct Second {
    start: Instant,
    bytes: u64,
    /// Of the second before.
    before: u64,
}

impl Second {
    /// Goes on to the second of `now`.
    fn turn(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.start);
        if elapsed >= SECOND {
            self.before = if elapsed < 2 * SECOND { self.bytes } else { 0 };
            self.bytes = 0;
            self.start = now;
        }
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self(Mutex::new(Second { start: Instant::now(), bytes: 0, before: 0 }))
    }
}

impl Rate {
    /// Counts bytes.
    pub(crate) fn add(&self, bytes: usize) {
        let mut second = self.0.lock();
        second.turn(Instant::now());
        second.bytes += bytes as u64;
    }

    /// Bytes of the last whole second.
    pub(crate) fn per_second(&self) -> u64 {
        let mut second = self.0.lock();
        second.turn(Instant::now());
        second.before
    }

    /// How long to wait until more than `limit` bytes are allowed, if there are that many in this second.
    pub(crate) fn wait(&self, limit: u64) -> Option<Duration> {
        let mut second = self.0.lock();
        let now = Instant::now();
        second.turn(now);
        (second.bytes >= limit).then(|| SECOND.saturating_sub(now.saturating_duration_since(second.start)))
    }
}

const SECOND: Duration = Duration::from_secs(1);
