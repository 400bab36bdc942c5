//! The one place that reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day in ms since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock;

impl Clock {
    /// Now, ms since the epoch.
    #[expect(clippy::unused_self, reason = "callers hold the clock they are given")]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }
}
