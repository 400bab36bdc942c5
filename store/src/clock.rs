//! The store's time.

#[cfg(test)]
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where store timestamps come from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's time.
    #[default]
    System,
    /// A time set by hand, ms since the epoch.
    #[cfg(test)]
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Milliseconds since the epoch.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(&self) -> i64 {
        match self {
            // before 1970: a clock that was never set
            Clock::System => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
            #[cfg(test)]
            Clock::Manual(now) => now.load(Ordering::Relaxed),
        }
    }
}
