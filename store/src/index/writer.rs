//! Putting the keys of records into the index.

use std::io;
use std::sync::{Arc, LazyLock};

use apogee_remoting::message::java_hash::JavaHash;
use apogee_remoting::message::properties::Name;
use apogee_remoting::message::sys_flag;

use super::table::{IndexKind, IndexTable, Resume, hash_in};
use crate::dispatch::{Marks, RecordConsumer, RecordFields};

/// Takes records in log order.
pub(super) struct IndexWriter<F> {
    index: Arc<IndexTable>,
    /// The record of which some keys are there already.
    resume: Resume,
    /// Tags of records before this place are left out.
    tags_from: i64,
    /// Told the end time of each file that is full and synced, ms.
    finished: F,
}

impl<F: FnMut(i64)> IndexWriter<F> {
    pub(super) fn new(index: Arc<IndexTable>, resume: Resume, finished: F) -> Self {
        Self { index, resume, tags_from: 0, finished }
    }

    /// Leaves out the tags of records before a place.
    pub(super) fn with_tags_from(self, tags_from: i64) -> Self {
        Self { tags_from, ..self }
    }
}

impl<F: FnMut(i64) + Send> RecordConsumer for IndexWriter<F> {
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()> {
        if record.sys_flag & sys_flag::TRANSACTION_TYPE == sys_flag::TRANSACTION_ROLLBACK {
            return Ok(());
        }
        let mut marks = marks(record);
        if record.physical_offset < self.tags_from {
            marks.tags = None;
        }
        let topic = JavaHash::default().with(record.topic.as_bytes());
        self.put(record.physical_offset, record.store_timestamp, keys_of(topic, &marks))
    }

    fn consume_keys(&mut self, physical_offset: i64, store_timestamp: i64, keys: &[i32]) -> io::Result<bool> {
        self.put(physical_offset, store_timestamp, keys.iter().copied()).map(|()| true)
    }

    fn expect_keys(&mut self, keys: &[i32]) {
        self.index.expect(keys);
    }
}

impl<F: FnMut(i64)> IndexWriter<F> {
    fn put(&mut self, position: i64, store_timestamp: i64, keys: impl Iterator<Item = i32>) -> io::Result<()> {
        if position < self.resume.position {
            return Ok(());
        }
        if position > self.resume.position {
            self.resume = Resume { position, keys: 0 };
        }
        let there = self.resume.keys;
        for key in keys.skip(there) {
            if let Some(end_time) = self.index.put(key, position, store_timestamp)? {
                (self.finished)(end_time);
            }
            // so far is done, should the next one fail
            self.resume.keys += 1;
        }
        Ok(())
    }
}

/// Hashes of a record's keys in the order they are put: unique key, keys, tag. Those of a rolled back message are not put.
pub fn keys<'a>(record: &RecordFields<'a>) -> impl Iterator<Item = i32> + use<'a> {
    keys_of(JavaHash::default().with(record.topic.as_bytes()), &marks(record))
}

fn marks<'a>(record: &RecordFields<'a>) -> Marks<'a> {
    let [unique_key, keys, tags] = NAMES.each_ref().map(|name| record.properties.find(name));
    Marks { unique_key, keys, tags }
}

/// The same of the values of the properties that hold them.
pub(crate) fn keys_of<'a>(topic: JavaHash, marks: &Marks<'a>) -> impl Iterator<Item = i32> + use<'a> {
    let Marks { unique_key, keys, tags } = *marks;
    let words = keys.unwrap_or_default().split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    unique_key
        .into_iter()
        .chain(words)
        .map(move |key| hash_in(topic, key, IndexKind::Key))
        .chain(tags.map(move |tag| hash_in(topic, tag, IndexKind::Tag)))
}

static NAMES: LazyLock<[Name; 3]> = LazyLock::new(|| [&b"UNIQ_KEY\x01"[..], b"KEYS\x01", b"TAGS\x01"].map(Name::new));
