//! What queues and index must hold for a record.

use apogee_remoting::message::java_hash::tags_code;
use apogee_remoting::message::properties::key;
use apogee_remoting::message::record::Record;
use apogee_remoting::message::sys_flag::{TRANSACTION_PREPARED, TRANSACTION_ROLLBACK, TRANSACTION_TYPE};
use apogee_store::dispatch::DelayLevels;
use apogee_store::index::{IndexKind, hash, keys};
use apogee_store::light;
use apogee_store::queue::{Entry, QueueKind, Unit};
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
}

impl Rules {
    /// The units that lead to a record.
    pub(crate) fn places<'a>(&self, record: &Record<'a>) -> Vec<Place<'a>> {
        if matches!(record.sys_flag & TRANSACTION_TYPE, TRANSACTION_PREPARED | TRANSACTION_ROLLBACK) {
            return Vec::new();
        }
        let (physical_offset, size) = (record.physical_offset, record.size() as i32);
        let unit = Unit { physical_offset, size, tags_code: self.tags_code(record) };
        let (topic, queue_id, store_timestamp) = (record.topic, record.queue_id, record.store_timestamp);
        let (offset, count) = match RecordFields::of(record.as_bytes()).and_then(|fields| fields.inner_batch()) {
            Some(batch) if self.topics.kind(topic) == QueueKind::Batch => batch,
            _ => (record.queue_offset, 1),
        };
        let mut places = vec![Place { topic, queue_id, entry: Entry { offset, count, unit, store_timestamp } }];
        if self.light_queues {
            let light = light::queues_of(topic, queue_id, record.properties);
            places.extend(light.map(|(topic, queue_id, offset)| Place {
                topic,
                queue_id,
                entry: Entry { offset, count: 1, unit, store_timestamp },
            }));
        }
        places
    }

    fn tags_code(&self, record: &Record<'_>) -> i64 {
        let level = record.properties.get_number(key::DELAY).filter(|level| *level > 0);
        match level {
            // a level without a delay waits a second, as in the reference
            Some(level) if record.topic == SCHEDULE_TOPIC => {
                record.store_timestamp + self.delays.delay(level).unwrap_or(1000)
            }
            _ => tags_code(record.properties.get(key::TAGS)),
        }
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

const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
