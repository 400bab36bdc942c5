//! What queues and index must hold for a record.

use std::collections::HashMap;

use apogee_remoting::message::properties::key;
use apogee_remoting::message::record::Record;
use apogee_remoting::message::sys_flag::{TRANSACTION_ROLLBACK, TRANSACTION_TYPE};
use apogee_store::dispatch::DelayLevels;
use apogee_store::index::{IndexKind, hash, keys};
use apogee_store::queue::{Entry, QueueKind, Unit, is_queued};
use apogee_store::read::RecordFields;

use crate::topics::Topics;

/// A unit and its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) topic: &'a str,
    pub(crate) queue_id: i32,
    /// As it is in a queue without an extension; with the store time, whatever the kind of queue.
    pub(crate) entry: Entry,
}

/// An index item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) hash: i32,
    /// The reference puts tags since 5.x only.
    pub(crate) may_be_missing: bool,
}

/// How units are made.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) delays: DelayLevels,
    pub(crate) topics: Topics,
    /// Messages are also in the light queues they name.
    pub(crate) light_queues: bool,
    /// Topics that were deleted, each with the end of the log at that time.
    pub(crate) deleted: HashMap<String, i64>,
}

impl Rules {
    /// Whether a record is of a topic that was deleted later: it is in no queue.
    pub(crate) fn is_of_deleted(&self, topic: &str, physical_offset: i64) -> bool {
        self.deleted.get(topic).is_some_and(|log_end| physical_offset < *log_end)
    }

    /// The units that lead to a record.
    pub(crate) fn places<'a>(&self, record: &Record<'a>) -> Vec<Place<'a>> {
        let fields = RecordFields::of(record.as_bytes()).filter(|fields| is_queued(fields.sys_flag));
        let Some(record) = fields else { return Vec::new() };
        let tags_code = self.delays.tags_code(&record);
        let unit = Unit { physical_offset: record.physical_offset, size: record.size, tags_code };
        let place = |topic, queue_id, offset, count| {
            let entry = Entry { offset, count, unit, store_timestamp: record.store_timestamp };
            Place { topic, queue_id, entry }
        };
        let (offset, count) = match record.inner_batch() {
            Some(batch) if self.topics.kind(record.topic) == QueueKind::Batch => batch,
            _ => (record.queue_offset, 1),
        };
        let mut places = vec![place(record.topic, record.queue_id, offset, count)];
        if self.light_queues {
            places.extend(record.light_queues().map(|(topic, queue_id, offset)| place(topic, queue_id, offset, 1)));
        }
        places
    }
}

/// The index items that lead to a record.
pub(crate) fn index_keys(record: &Record<'_>) -> Vec<Key> {
    let Some(fields) = RecordFields::of(record.as_bytes()) else { return Vec::new() };
    if record.sys_flag & TRANSACTION_TYPE == TRANSACTION_ROLLBACK {
        return Vec::new();
    }
    let tag = record.properties.get(key::TAGS).map(|tag| hash(record.topic, tag, IndexKind::Tag));
    keys(&fields).map(|hash| Key { hash, may_be_missing: Some(hash) == tag }).collect()
}
