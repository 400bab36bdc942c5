//! How far each level is delivered, and the file that keeps it (`config/delayOffset.json`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::json;
use apogee_remoting::protocol::schedule::DelayOffsetSerializeWrapper;
use parking_lot::Mutex;

use crate::clock::Clock;

/// For each level the queue offset of the first message that is not delivered.
pub(crate) struct DelayOffsets {
    table: Mutex<Table>,
    file: StateFile,
    clock: Clock,
}

struct Table {
    /// In the form of the file and of the wire.
    current: DelayOffsetSerializeWrapper,
    changes: u64,
    saved: u64,
}

/// Offsets that the file does not have yet.
pub(super) struct Unsaved {
    offsets: DelayOffsetSerializeWrapper,
    changes: u64,
}

impl DelayOffsets {
    /// The table that the file holds.
    pub(crate) fn new(file: StateFile, saved: DelayOffsetSerializeWrapper, clock: Clock) -> Self {
        let current =
            DelayOffsetSerializeWrapper { data_version: Some(saved.data_version.unwrap_or_default()), ..saved };
        Self { table: Mutex::new(Table { current, changes: 0, saved: 0 }), file, clock }
    }

    /// Where a level is; 0 when nothing of it was ever delivered.
    pub(super) fn get(&self, level: i32) -> i64 {
        self.table.lock().current.offset_table.get(&level).copied().unwrap_or(0)
    }

    /// Notes where a level is, after so many changes. Every `version_step`-th makes a new version.
    pub(super) fn set(&self, level: i32, offset: i64, changes: u64, version_step: u64) {
        let table = &mut *self.table.lock();
        table.current.offset_table.insert(level, offset);
        let steps = |changes: u64| changes / version_step.max(1);
        let before = steps(table.changes);
        table.changes += changes;
        for _ in before..steps(table.changes) {
            table.current.data_version.get_or_insert_default().advance(0, self.clock.now());
        }
    }

    /// Notes where a level begins of which nothing was ever delivered.
    pub(super) fn begin(&self, level: i32, offset: i64) {
        let table = &mut *self.table.lock();
        if let Entry::Vacant(entry) = table.current.offset_table.entry(level) {
            entry.insert(offset);
            table.changes += 1;
        }
    }

    /// Becomes a copy of another broker's table.
    pub(crate) fn take_over(&self, theirs: DelayOffsetSerializeWrapper) {
        let table = &mut *self.table.lock();
        if table.current != theirs {
            table.current = theirs;
            table.changes += 1;
        }
    }

    /// Takes over where another broker is further.
    pub(crate) fn take_further(&self, theirs: DelayOffsetSerializeWrapper) {
        let table = &mut *self.table.lock();
        for (level, offset) in theirs.offset_table {
            let own = table.current.offset_table.entry(level).or_insert(0);
            *own = offset.max(*own);
        }
        let version = theirs.data_version.unwrap_or_default();
        let own = table.current.data_version.get_or_insert_default();
        if own.order(&version).is_lt() {
            *own = version;
        }
        table.changes += 1;
    }

    /// All levels, for those who show them.
    pub(crate) fn all(&self) -> BTreeMap<i32, i64> {
        self.table.lock().current.offset_table.clone()
    }

    /// In the form of the wire.
    pub(super) fn snapshot(&self) -> DelayOffsetSerializeWrapper {
        self.table.lock().current.clone()
    }

    /// What is to be written down, if anything changed since the last time.
    pub(super) fn unsaved(&self) -> Option<Unsaved> {
        let table = self.table.lock();
        let changes = table.changes;
        (changes != table.saved).then(|| Unsaved { offsets: table.current.clone(), changes })
    }

    /// Writes it down.
    pub(super) fn save(&self, unsaved: &Unsaved) -> Result<(), StateFileError> {
        self.file.write(json::to_vec_pretty(&unsaved.offsets))?;
        self.table.lock().saved = unsaved.changes;
        Ok(())
    }
}
