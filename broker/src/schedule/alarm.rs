//! When the delivering task has to look again.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use apogee_store::Arrival;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::names;

/// Wakes one sleeper at a time or when something comes that is due earlier.
pub(crate) struct Alarm {
    /// When the sleeper wakes by itself, ms since the epoch. While it is awake, later than everything.
    next: AtomicI64,
    earlier: Notify,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { next: AtomicI64::new(NEVER), earlier: Notify::new() }
    }
}

impl Alarm {
    /// A message can be read now. One that is delayed is due at the time in its tags code.
    pub(crate) fn arrived(&self, arrival: &Arrival<'_>) {
        if arrival.topic == names::SCHEDULE_TOPIC && arrival.tags_code < self.next.load(Ordering::SeqCst) {
            self.earlier.notify_one();
        }
    }

    /// The sleeper is about to look: what arrives from here on wakes it again.
    pub(super) fn awake(&self) {
        self.next.store(NEVER, Ordering::SeqCst);
    }

    /// Sleeps until `next` (ms since the epoch; [`NEVER`] without an end), or until something earlier arrives.
    pub(super) async fn sleep(&self, next: i64, now: i64) {
        self.next.store(next, Ordering::SeqCst);
        let earlier = self.earlier.notified();
        if next == NEVER {
            return earlier.await;
        }
        let sleep = Duration::from_millis(next.saturating_sub(now).max(0) as u64);
        // Both ends are alike.
        let _ = timeout(sleep.min(LONGEST_SLEEP), earlier).await;
    }
}

/// Later than everything.
pub(super) const NEVER: i64 = i64::MAX;
/// The wall clock may be set while the task sleeps.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);
