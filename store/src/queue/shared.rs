//! What all consume queues of a store share.

use std::collections::HashMap;
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
    /// A queue may hold a unit.
    holds: AtomicBool,
    /// Held while is looked which queues do.
    look: Mutex<()>,
    /// Topics that were created anew, as their queues show, with the physical offset of a record of the new life.
    remade: Mutex<HashMap<Arc<str>, i64>>,
}

impl Shared {
    pub(super) fn new(descriptors: usize) -> Self {
        Self {
            descriptors: Descriptors::new(descriptors),
            dirty: Mutex::default(),
            serials: AtomicU64::new(0),
            sync_failed: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            look: Mutex::default(),
            remade: Mutex::default(),
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

    pub(super) fn set_holds(&self) {
        self.holds.store(true, Ordering::Release);
    }

    /// Those that `look` finds to hold a unit, if any may.
    pub(super) fn holding<T>(&self, look: impl FnOnce() -> Vec<T>) -> Vec<T> {
        // nobody takes the mark of a look that has not ended for that nothing is held
        let _one_at_a_time = self.look.lock();
        if !self.holds.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        let found = look();
        if !found.is_empty() {
            self.set_holds();
        }
        found
    }

    pub(super) fn note_remade(&self, topic: &Arc<str>, position: i64) {
        let mut remade = self.remade.lock();
        let known = remade.entry(Arc::clone(topic)).or_insert(position);
        *known = position.max(*known);
    }

    pub(super) fn take_remade(&self) -> HashMap<Arc<str>, i64> {
        std::mem::take(&mut *self.remade.lock())
    }

    pub(super) fn set_sync_failed(&self) {
        self.sync_failed.store(true, Ordering::Release);
    }

    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }
}
