//! Finding messages by key.

use std::io;

use bytes::Bytes;

use super::Store;
use crate::index::IndexKind;

/// Which messages are looked for.
#[derive(Clone, Copy, Debug)]
pub struct KeyQuery<'a> {
    /// Topic.
    pub topic: &'a str,
    /// One of KEYS, the unique key, or a tag.
    pub key: &'a str,
    /// Which of them.
    pub kind: IndexKind,
    /// Most messages.
    pub max: usize,
    /// Earliest store time, ms. Times are compared in whole seconds.
    pub begin: i64,
    /// Latest store time, ms.
    pub end: i64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct KeyQueryResult {
    /// Records in log order. Those of another key with the same hash may be among them.
    pub records: Vec<Bytes>,
    /// Store time of the newest record indexed, ms; 0 when nothing was found.
    pub last_update_time: i64,
    /// Physical offset of it; 0 when nothing was found.
    pub last_update_offset: i64,
}

impl Store {
    /// The newest messages with a key. Reads files, and may index what was just sent: for a thread that may wait.
    ///
    /// Without an index (messageIndexEnable, indexFileWriteEnable, indexFileReadEnable) nothing is found.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn query_by_key(&self, query: &KeyQuery<'_>) -> io::Result<KeyQueryResult> {
        let Some(index) = &self.index else { return Ok(KeyQueryResult::default()) };
        let found = index.query(query.topic, query.key, query.kind, query.max, query.begin, query.end)?;
        if found.offsets.is_empty() {
            return Ok(KeyQueryResult::default());
        }
        let mut records = Vec::with_capacity(found.offsets.len());
        for offset in found.offsets {
            // The index keeps entries of records whose files expired.
            records.extend(self.record_at(offset)?);
        }
        let (last_update_time, last_update_offset) = (found.last_update_time, found.last_update_offset);
        Ok(KeyQueryResult { records, last_update_time, last_update_offset })
    }
}
