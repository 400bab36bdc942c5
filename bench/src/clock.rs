//! The two clocks of a measurement.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the process first asked: never steps, the same for all threads.
pub fn nanos() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Milliseconds since 1970, as messages carry them.
pub fn wall_millis() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_millis() as i64
}

/// Nanoseconds as seconds.
pub fn to_seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Seconds as whole nanoseconds.
pub fn to_nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
