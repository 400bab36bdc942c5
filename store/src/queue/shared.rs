//! What all consume queues of a store share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::descriptors::Descriptors;
use crate::NameMap;

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
    /// Topics that were deleted, or created anew, with a physical offset: records before it are of the topic's former life.
    former: NameMap<i64>,
    any_former: AtomicBool,
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
            former: NameMap::default(),
            any_former: AtomicBool::new(false),
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

    /// Takes records of the topic before `end` for those of its former life.
    pub(super) fn set_former(&self, topic: &str, end: i64) {
        self.former.insert(Arc::from(topic), end);
        self.any_former.store(true, Ordering::Release);
    }

    /// The same of a topic that was created anew; it may have been before, further on.
    pub(super) fn begins_anew(&self, topic: &str, former_end: i64) {
        let mut known = self.former.entry(Arc::from(topic)).or_insert(former_end);
        *known = former_end.max(*known);
        drop(known);
        self.any_former.store(true, Ordering::Release);
    }

    /// The physical offset before which records of a topic are of its former life, if it had one.
    pub(super) fn former_end(&self, topic: &str) -> Option<i64> {
        self.any_former.load(Ordering::Acquire).then(|| self.former.get(topic).map(|end| *end)).flatten()
    }

    /// All topics that had one, with that offset.
    pub(super) fn former(&self) -> Vec<(String, i64)> {
        let mut former: Vec<_> = self.former.iter().map(|entry| (entry.key().to_string(), *entry.value())).collect();
        former.sort_unstable();
        former
    }

    /// Forgets topics of whose former life the log has nothing any more.
    pub(super) fn forget_former(&self, log_min: i64) {
        self.former.retain(|_, end| *end > log_min);
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
