//! How far the dispatcher came.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

/// A place up to which every record was dispatched, and the store time of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Physical offset behind the last record dispatched.
    pub position: i64,
    /// Physical offset of the last record that went to a queue, 0 before the first (checkpoint, bytes 40..48).
    pub last_record: i64,
    /// Store time of that record, ms (checkpoint, bytes 8..16).
    pub store_timestamp: i64,
}

/// Published progress: the position for anyone, the whole consistent for the flush.
#[derive(Debug)]
pub(super) struct Published {
    position: AtomicI64,
    whole: Mutex<Progress>,
}

impl Published {
    pub(super) fn new(position: i64) -> Self {
        Self { position: AtomicI64::new(position), whole: Mutex::new(Progress { position, ..Progress::default() }) }
    }

    pub(super) fn position(&self) -> i64 {
        self.position.load(Ordering::Acquire)
    }

    pub(super) fn get(&self) -> Progress {
        *self.whole.lock()
    }

    pub(super) fn set(&self, progress: Progress) {
        *self.whole.lock() = progress;
        self.position.store(progress.position, Ordering::Release);
    }
}
