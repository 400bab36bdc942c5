//! How the following of a master goes.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::rate::Rate;

/// What an administrator is shown.
#[derive(Debug, Default)]
pub struct Status {
    read: Mutex<Option<Instant>>,
    written: Mutex<Option<Instant>>,
    rate: Rate,
}

impl Status {
    /// How long ago anything came from the master; `None` while there is no connection that anything came over.
    pub fn since_read(&self) -> Option<Duration> {
        self.read.lock().map(|at| at.elapsed())
    }

    /// How long ago the master was told anything; `None` before the first time.
    pub fn since_written(&self) -> Option<Duration> {
        self.written.lock().map(|at| at.elapsed())
    }

    /// Bytes that came in the last second.
    pub fn bytes_per_second(&self) -> u64 {
        self.rate.per_second()
    }

    pub(super) fn note_read(&self, bytes: usize) {
        *self.read.lock() = Some(Instant::now());
        self.rate.add(bytes);
    }

    pub(super) fn note_lost(&self) {
        *self.read.lock() = None;
    }

    pub(super) fn note_written(&self) {
        *self.written.lock() = Some(Instant::now());
    }
}
