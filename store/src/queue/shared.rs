//! What all consume queues of a store share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::descriptors::Descriptors;

/// Open files, and which queues wait for a flush.
#[derive(Debug)]
pub(super) struct Shared {
    descriptors: Descriptors,
    dirty: Mutex<Vec<(Arc<str>, i32)>>,
    serials: AtomicU64,
    /// A sync failed: what is on disk is not known any more until the next start.
    sync_failed: AtomicBool,
}

impl Shared {
    pub(super) fn new(descriptors: usize) -> Self {
        Self {
            descriptors: Descriptors::new(descriptors),
            dirty: Mutex::default(),
            serials: AtomicU64::new(0),
            sync_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    pub(super) fn next_serial(&self) -> u64 {
        self.serials.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn mark_dirty(&self, topic: &Arc<str>, queue_id: i32) {
        self.dirty.lock().push((Arc::clone(topic), queue_id));
    }

    pub(super) fn take_dirty(&self) -> Vec<(Arc<str>, i32)> {
        std::mem::take(&mut *self.dirty.lock())
    }

    pub(super) fn set_sync_failed(&self) {
        self.sync_failed.store(true, Ordering::Release);
    }

    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }
}
