//! What is known of records when they are appended, told to those who make queues and the index of them: they need not
//! fetch the records from the memory of another processor, and read them again.
//!
//! Nothing rests on it. A record that nobody told of is read: of those that are not told, of those that came while there was
//! no room, and of all that were there before this process.

use std::sync::Arc;

use apogee_remoting::message::java_hash;
use apogee_remoting::message::properties::{Properties, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::message::sys_flag::INNER_BATCH;
use parking_lot::{Mutex, MutexGuard};

use super::delay::SCHEDULE_TOPIC;
use crate::index::keys_of;
use crate::log::Appended;
use crate::queue::{Queue, QueueKind, is_queued};
use crate::stop::Stop;

/// A record of one message in one queue.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Place in the log.
    pub(crate) physical_offset: i64,
    /// When it was stored, ms.
    pub(crate) store_timestamp: i64,
    /// Bytes of the record.
    pub(crate) size: i32,
    pub(crate) keys: KeyHashes,
    /// Where its unit belongs; `None` for who makes the index.
    pub(crate) unit: Option<ToldUnit>,
}

/// The unit of a record besides its place.
#[derive(Clone, Debug)]
pub(crate) struct ToldUnit {
    pub(crate) queue: Arc<Queue>,
    pub(crate) queue_offset: i64,
    pub(crate) tags_code: i64,
}

/// Hashes of a record's keys, as [`crate::index::keys`] gives them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHashes {
    hashes: [i32; MOST_KEYS],
    count: u8,
}

/// The properties of a message that its queue and the index are made of. Of a property that is there several times the last
/// value counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks<'a> {
    /// UNIQ_KEY.
    pub unique_key: Option<&'a [u8]>,
    /// KEYS.
    pub keys: Option<&'a [u8]>,
    /// TAGS.
    pub tags: Option<&'a [u8]>,
}

impl<'a> Marks<'a> {
    /// Looks for them.
    pub fn of(properties: Properties<'a>) -> Self {
        let mut marks = Self::default();
        for (name, value) in properties {
            marks.take(name, value);
        }
        marks
    }

    /// Takes up a property; whether it is one of these.
    #[inline]
    pub fn take(&mut self, name: &[u8], value: &'a [u8]) -> bool {
        let mark = match name.len() {
            4 if name == key::KEYS.as_bytes() => &mut self.keys,
            4 if name == key::TAGS.as_bytes() => &mut self.tags,
            8 if name == key::UNIQ_KEY.as_bytes() => &mut self.unique_key,
            _ => return false,
        };
        *mark = Some(value);
        true
    }
}

/// What is known of a message before it has its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    tags_code: i64,
    keys: KeyHashes,
}

/// Who is told.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Whether messages may go to other queues than their own (enableMultiDispatch).
    light_queues: bool,
    told: Mutex<Lines>,
    /// Wakes who makes the index; `None` where nobody does.
    indexing: Option<Arc<Stop>>,
}

/// Tells of records.
pub(crate) struct Telling<'a> {
    indexing: Option<&'a Stop>,
    lines: MutexGuard<'a, Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    queues: Vec<Told>,
    index: Vec<Told>,
}

/// For whom something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Who makes queues.
    Queues,
    /// Who makes the index.
    Index,
}

impl Feed {
    pub(crate) fn new(light_queues: bool, indexing: Option<Arc<Stop>>) -> Self {
        Self { light_queues, told: Mutex::default(), indexing }
    }

    /// What is told of a message; `None` when its record has to be read.
    pub(crate) fn known(&self, draft: &Draft<'_>, marks: &Marks<'_>, queue: &Queue) -> Option<Known> {
        let is_plain = !self.light_queues
            && draft.topic != SCHEDULE_TOPIC
            && draft.sys_flag & INNER_BATCH == 0
            && is_queued(draft.sys_flag)
            && queue.kind() == QueueKind::Simple
            && !queue.takes_bit_maps();
        if !is_plain {
            return None;
        }
        let mut hashes = KeyHashes::default();
        if self.indexing.is_some() {
            for hash in keys_of(queue.topic_hash(), marks) {
                hashes.push(hash)?;
            }
        }
        Some(Known { tags_code: java_hash::tags_code(marks.tags), keys: hashes })
    }

    /// Begins to tell of records. Call it under the append lock, and let go before the last of them is published.
    pub(crate) fn begin(&self) -> Telling<'_> {
        Telling { indexing: self.indexing.as_deref(), lines: self.told.lock() }
    }

    /// Exchanges what was told for empty memory.
    fn take(&self, listener: Listener, into: &mut Vec<Told>) {
        let mut lines = self.told.lock();
        let line = match listener {
            Listener::Queues => &mut lines.queues,
            Listener::Index => &mut lines.index,
        };
        std::mem::swap(line, into);
    }
}

impl Telling<'_> {
    /// Tells of a record that is not published yet.
    pub(crate) fn tell(&mut self, appended: &Appended, queue: Arc<Queue>, known: Known) {
        let Appended { physical_offset, size, queue_offset, store_timestamp } = *appended;
        let told = Told { physical_offset, store_timestamp, size: size as i32, keys: known.keys, unit: None };
        let unit = ToldUnit { queue, queue_offset, tags_code: known.tags_code };
        let Lines { queues, index } = &mut *self.lines;
        if let Some(indexing) = self.indexing
            && index.len() < MOST_TOLD
        {
            index.push(told.clone());
            if index.len().is_multiple_of(MUCH) {
                indexing.nudge();
            }
        }
        if queues.len() < MOST_TOLD {
            queues.push(Told { unit: Some(unit), ..told });
        }
    }
}

impl KeyHashes {
    /// `None` when there are too many.
    fn push(&mut self, hash: i32) -> Option<()> {
        *self.hashes.get_mut(usize::from(self.count))? = hash;
        self.count += 1;
        Some(())
    }

    /// The hashes in their order.
    pub(crate) fn as_slice(&self) -> &[i32] {
        &self.hashes[..usize::from(self.count)]
    }
}

impl Told {
    /// Physical offset behind the record.
    pub(crate) fn end(&self) -> i64 {
        self.physical_offset + i64::from(self.size)
    }
}

/// What one listener was told and has not taken up.
#[derive(Debug)]
pub(super) struct Line {
    feed: Arc<Feed>,
    listener: Listener,
    told: Vec<Told>,
    next: usize,
}

impl Line {
    pub(super) fn new(feed: Arc<Feed>, listener: Listener) -> Self {
        Self { feed, listener, told: Vec::new(), next: 0 }
    }

    /// Takes over what was told meanwhile, once everything before is taken up.
    pub(super) fn refill(&mut self) {
        if self.next == self.told.len() {
            self.told.clear();
            if self.told.capacity() > 2 * MUCH {
                self.told = Vec::new();
            }
            self.next = 0;
            self.feed.take(self.listener, &mut self.told);
        }
    }

    /// The first record that is not taken up.
    pub(super) fn front(&self) -> Option<&Told> {
        self.told.get(self.next)
    }

    /// All records that are not taken up.
    pub(super) fn rest(&self) -> &[Told] {
        &self.told[self.next..]
    }

    /// How many of those that came together are taken up.
    pub(super) fn taken(&self) -> usize {
        self.next
    }

    /// The first record is taken up.
    pub(super) fn pass(&mut self) {
        self.next += 1;
    }
}

/// Keys of a record that are told: those of one with more are read.
const MOST_KEYS: usize = 4;
/// Records told for one listener that it has not taken: who falls further behind reads the others.
const MOST_TOLD: usize = 16 << 10;
/// As many records make it worth while to wake who makes the index.
const MUCH: usize = 4 << 10;

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
