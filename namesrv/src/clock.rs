//! The server's clock, which tests set by hand.

use std::time::Instant;

/// Tells how much time has passed. It never goes back: a changed system time must not make brokers look silent.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since some fixed moment.
    fn now(&self) -> i64;
}

/// The real one.
#[derive(Debug)]
pub struct SteadyClock(Instant);

impl Default for SteadyClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// A clock that stands still until it is told otherwise.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub struct ManualClock(std::sync::Arc<std::sync::atomic::AtomicI64>);

#[cfg(test)]
impl ManualClock {
    /// Lets `milliseconds` pass.
    pub fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}
