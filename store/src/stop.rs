//! Telling a thread that works at intervals to end.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The word to end, and the wait for it.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    said: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Lets the thread end.
    pub(crate) fn say(&self) {
        *self.said.lock() = true;
        self.changed.notify_all();
    }

    /// Ends a wait early.
    pub(crate) fn nudge(&self) {
        self.changed.notify_all();
    }

    /// Waits for the interval, the word or a nudge; tells whether the word was said.
    pub(crate) fn wait(&self, interval: Duration) -> bool {
        let mut said = self.said.lock();
        if !*said {
            self.changed.wait_for(&mut said, interval);
        }
        *said
    }
}
