//! One consume queue: where the records of a topic's queue lie in the commit log, in order.
//!
//! Files `<place of the first unit * bytes of a unit, 20 digits>` of a fixed size, filled with units from their
//! start; the rest of the last one is zero. In a simple queue the place of a unit is the queue offset of its message:
//! one that starts above 0 has blank units up to its start in its first file. In a batch queue a unit says itself for
//! which offsets it stands; they ascend, so units are found by halving, and no blanks are needed.
//!
//! New units gather in memory and go to their file together, when a page of them is there or the flush
//! comes by: a process that dies loses them, and the dispatcher makes them again from the log. Files are
//! sparse until written and never mapped, so a queue costs what it holds.

mod anew;
mod append;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use apogee_remoting::message::java_hash::JavaHash;
use parking_lot::Mutex;
use tracing::warn;

pub use anew::Life;
pub use append::Appended;

use super::entry::Entry;
use super::extension::Extension;
use super::files::QueueFiles;
use super::layout::QueueKind;
use super::unit::Unit;

/// A consume queue. One thread appends (the dispatcher); any number read.
///
/// All offsets are queue offsets unless they are called physical; places count units.
#[derive(Debug)]
// In this order: what each message needs lies together, in one or two lines of the cache with the counts of who holds the queue.
#[repr(C)]
pub struct Queue {
    /// What the next record appended to the log gets. Only changed under the log's append lock.
    next: AtomicI64,
    /// One past the last offset that can be read.
    max: AtomicI64,
    /// One past the place of the last unit that can be read.
    end: AtomicI64,
    /// Physical offset behind the record of the last unit, -1 without one.
    max_physical: AtomicI64,
    /// Java's hash of the topic, with which those of all its keys begin.
    topic_hash: JavaHash,
    id: i32,
    kind: QueueKind,
    takes_bit_maps: bool,
    /// On the list of queues to flush.
    dirty: AtomicBool,
    /// Out of the table: whoever kept it looks for the topic's queue of this number again.
    gone: AtomicBool,
    state: Mutex<State>,
    /// First offset whose record the log still has.
    min: AtomicI64,
    topic: Arc<str>,
    files: QueueFiles,
    extension: Option<Extension>,
}

/// What a flush did.
#[derive(Debug)]
pub(super) enum Flushed {
    /// There was nothing to sync.
    Nothing,
    /// It waits for more.
    TooFew,
    /// To be told to [`Queue::note_synced`] once the names of its files are on disk, too.
    Synced(Synced),
}

/// What is in synced files.
#[derive(Debug)]
pub(super) struct Synced {
    /// Place behind the last unit.
    to: i64,
    /// The offset and the physical offset behind it.
    durable: (i64, i64),
    /// How often files had been dropped.
    dropped: u32,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Place of the first unit of each file, ascending.
    pub(super) file_starts: Vec<i64>,
    /// Units not yet in a file, as bytes.
    tail: Vec<u8>,
    /// Place of the first unit of the tail: everything before it is in files.
    pub(super) tail_start: i64,
    /// Everything before this place was synced.
    synced: i64,
    /// How often its files were dropped.
    dropped: u32,
    /// A unit that would leave a gap, held with its bit map until the next one shows whether the gap is real.
    ahead: Option<Held>,
    /// A unit at an offset that the queue has passed, of a record behind its last one: held with its bit map until the next
    /// one shows whether the queue begins anew, or a number in one record is damaged.
    behind: Option<Held>,
    /// The offset and the physical offset behind the last unit that is on disk.
    durable: (i64, i64),
    /// What it has may be left of a former end of the log: its records are no longer there to tell.
    is_unproven: bool,
    deleted: bool,
}

/// Rare, and so apart: what each unit touches lies together.
type Held = Box<(Entry, Vec<u8>)>;

impl Queue {
    pub(super) fn new(
        topic: Arc<str>,
        queue_id: i32,
        kind: QueueKind,
        files: QueueFiles,
        extension: Option<Extension>,
    ) -> Self {
        Self {
            next: AtomicI64::new(0),
            max: AtomicI64::new(0),
            end: AtomicI64::new(0),
            max_physical: AtomicI64::new(-1),
            topic_hash: JavaHash::default().with(topic.as_bytes()),
            id: queue_id,
            kind,
            takes_bit_maps: extension.as_ref().is_some_and(Extension::is_written),
            dirty: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            state: Mutex::default(),
            min: AtomicI64::new(kind.min_of_empty()),
            topic,
            files,
            extension,
        }
    }

    /// Name of the topic.
    pub fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// Java's hash of the topic's name.
    pub(crate) fn topic_hash(&self) -> JavaHash {
        self.topic_hash
    }

    /// Number of the queue in its topic.
    pub fn queue_id(&self) -> i32 {
        self.id
    }

    /// What its units are like.
    pub fn kind(&self) -> QueueKind {
        self.kind
    }

    /// Whether bit maps are wanted with new units.
    pub fn takes_bit_maps(&self) -> bool {
        self.takes_bit_maps
    }

    /// Whether the topic was deleted since: another queue has its name now, or will have. Who keeps a queue asks before each use,
    /// as one who does not looks for it.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Lets everyone who keeps it know that it is leaving the table.
    pub(super) fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// First offset whose record the commit log still has; the maximum when it has none of them. -1 for a batch queue that
    /// has no units.
    pub fn min_offset(&self) -> i64 {
        self.min.load(Ordering::Acquire)
    }

    /// One past the last offset that can be read.
    pub fn max_offset(&self) -> i64 {
        self.max.load(Ordering::Acquire)
    }

    /// Physical offset behind the record of the last unit, -1 when there was none yet.
    pub fn max_physical_offset(&self) -> i64 {
        self.max_physical.load(Ordering::Acquire)
    }

    /// The offset the next record appended to the log gets; at or ahead of [`Queue::max_offset`] by what is not
    /// dispatched yet.
    pub fn next_offset(&self) -> i64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Takes the offsets for `count` records; gives the first. Call it under the log's append lock only, and only for
    /// records that are then in the log.
    pub fn take_offsets(&self, count: i64) -> i64 {
        let first = self.next.load(Ordering::Relaxed);
        self.next.store(first + count, Ordering::Relaxed);
        first
    }

    /// Lets the next record get this offset: after recovery, or when a record is taken from a master's log.
    pub fn set_next_offset(&self, next: i64) {
        self.next.store(next, Ordering::Relaxed);
    }

    /// Reads units from a place on: as many as are there, fit, and lie in one file. 0 bytes at the end.
    ///
    /// # Errors
    /// The file cannot be read; `NotFound` when the place lies before the first file; `WouldBlock` when that would take
    /// a wait for the disk and none is allowed.
    pub(super) fn read(&self, from: i64, into: &mut [u8], may_wait: bool) -> io::Result<usize> {
        let end = self.end.load(Ordering::Acquire);
        if from >= end || from < 0 {
            return Ok(0);
        }
        let size = self.kind.unit_size();
        let room = (into.len() / size) as i64;
        let tail_start = {
            let state = self.state.lock();
            if from >= state.tail_start {
                let start = (from - state.tail_start) as usize * size;
                let units = room.min(end - from) as usize * size;
                let tail = state.tail.get(start..).unwrap_or_default();
                let length = units.min(tail.len());
                into[..length].copy_from_slice(&tail[..length]);
                return Ok(length);
            }
            state.tail_start
        };
        let count = room.min(tail_start - from);
        self.files.read(from, &mut into[..count as usize * size], may_wait)
    }

    /// The places of the first unit and behind the last one.
    pub(super) fn places(&self) -> (i64, i64) {
        let state = self.state.lock();
        let first = state.file_starts.first().copied().unwrap_or(state.tail_start);
        (first, self.end.load(Ordering::Acquire))
    }

    /// Sets the minimum to the first unit whose record lies at or behind the log's minimum.
    ///
    /// # Errors
    /// Units cannot be read.
    pub fn correct_min_offset(&self, log_min: i64) -> io::Result<()> {
        let (first, end) = self.places();
        let max = self.max_offset();
        let min = if end == 0 {
            self.kind.min_of_empty()
        } else if self.max_physical_offset() <= log_min {
            // everything expired (5.5.0: min = max)
            max
        } else {
            let behind = self.behind_those(first, end, |unit| Ok(unit.physical_offset < log_min))?;
            self.next_record(behind, end)?.map_or(max, |(_, entry)| entry.offset)
        };
        self.min.store(min, Ordering::Release);
        Ok(())
    }

    /// Removes files all of whose records lie before the log's minimum; the last file stays. Corrects the
    /// minimum. Returns how many files went.
    ///
    /// # Errors
    /// A file cannot be read or removed.
    pub fn delete_expired(&self, log_min: i64) -> io::Result<usize> {
        let mut removed = 0;
        while let Some((first, second)) = self.first_files()
            && self.last_record(first, second)?.is_none_or(|(_, last)| last.unit.physical_offset < log_min)
        {
            // the minimum first: nobody is sent to a file that is gone
            self.min.fetch_max(self.offset_at(second, true)?, Ordering::AcqRel);
            let mut state = self.state.lock();
            if state.file_starts.first() == Some(&first) {
                self.files.remove(first)?;
                state.file_starts.remove(0);
                removed += 1;
            }
        }
        self.correct_min_offset(log_min)?;
        if let Some(extension) = &self.extension
            && let Some(unit) = self.unit(self.min_offset())?
            && let Some(address) = unit.extension_address()
        {
            extension.remove_before(address)?;
        }
        Ok(removed)
    }

    /// Where the first two files start, if there are so many.
    fn first_files(&self) -> Option<(i64, i64)> {
        let state = self.state.lock();
        Some((*state.file_starts.first()?, *state.file_starts.get(1)?))
    }

    /// Writes gathered units to their files, and syncs these when at least `least_pages` pages of 4 KiB wait for it
    /// or `least_pages` is 0.
    ///
    /// # Errors
    /// Writing or syncing failed. After a failed sync what was written counts as never synced.
    pub(super) fn flush(&self, least_pages: u64) -> io::Result<Flushed> {
        self.dirty.store(false, Ordering::Release);
        let (from, synced) = {
            let mut state = self.state.lock();
            if state.deleted {
                return Ok(Flushed::Nothing);
            }
            self.write_out(&mut state)?;
            if state.tail.capacity() > 0 {
                // an idle queue keeps no buffer
                state.tail = Vec::new();
            }
            let durable = (self.max_offset(), self.max_physical_offset());
            (state.synced, Synced { to: state.tail_start, durable, dropped: state.dropped })
        };
        let to = synced.to;
        if from >= to {
            return Ok(Flushed::Nothing);
        }
        if (to - from) as u64 * (self.kind.unit_size() as u64) < least_pages * PAGE {
            return Ok(Flushed::TooFew);
        }
        // the extension first: what is on disk must not point to what is not
        let done =
            self.extension.as_ref().map_or(Ok(()), Extension::sync).and_then(|()| self.files.sync_files(from, to));
        done.inspect_err(|_| self.files.shared().set_sync_failed())?;
        Ok(Flushed::Synced(synced))
    }

    /// The directories that have to be synced for what was synced to be found again.
    pub(super) fn directories_of_new(&self) -> impl Iterator<Item = &Path> {
        self.files.directories_of_new()
    }

    /// What was synced will be found again, unless its file is gone.
    pub(super) fn note_synced(&self, Synced { to, durable, dropped }: Synced) {
        let mut state = self.state.lock();
        if to > state.synced && dropped == state.dropped {
            state.synced = to;
            state.durable = durable;
        }
    }

    /// The offset and the physical offset behind the last unit that is on disk; -1 twice without one.
    pub(super) fn durable_end(&self) -> (i64, i64) {
        let state = self.state.lock();
        if state.file_starts.is_empty() { (-1, -1) } else { state.durable }
    }

    /// Puts the queue back on the list of those to flush.
    pub(super) fn mark_dirty(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.files.shared().mark_dirty(&self.topic, self.id);
        }
    }

    /// Drops the queue's files; appends to it are ignored from now on.
    pub(super) fn delete(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.deleted = true;
        self.min.store(0, Ordering::Release);
        self.max.store(0, Ordering::Release);
        self.end.store(0, Ordering::Release);
        self.max_physical.store(-1, Ordering::Release);
        if let Some(extension) = &self.extension {
            extension.delete()?;
        }
        for start in std::mem::take(&mut state.file_starts) {
            self.files.remove(start)?;
        }
        state.tail = Vec::new();
        match fs::remove_dir(self.files.directory()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether there is anything of it on disk.
    pub(super) fn has_files(&self) -> bool {
        !self.state.lock().file_starts.is_empty()
    }

    pub(super) fn files(&self) -> &QueueFiles {
        &self.files
    }

    pub(super) fn extension(&self) -> Option<&Extension> {
        self.extension.as_ref()
    }

    /// Takes over what was found on disk: files, the place behind the last unit, the offset and the physical offset
    /// behind the last record.
    pub(crate) fn restore(&self, file_starts: Vec<i64>, end: i64, max: i64, max_physical: i64) {
        let mut state = self.state.lock();
        let first = file_starts.first().copied().unwrap_or(0);
        state.file_starts = file_starts;
        state.tail = Vec::new();
        state.tail_start = end;
        state.synced = end;
        state.durable = (max, max_physical);
        self.max_physical.store(max_physical, Ordering::Release);
        self.end.store(end, Ordering::Release);
        self.max.store(max, Ordering::Release);
        self.min.store(first.min(max), Ordering::Release);
        self.next.store(max, Ordering::Relaxed);
    }

    /// Lets the first record that follows tell where the queue goes on, though it had passed that offset.
    pub(super) fn set_unproven(&self) {
        self.state.lock().is_unproven = true;
    }

    /// Whether no record was ever put into it, and that of an offset would not be its first.
    pub(crate) fn lacks_first(&self, offset: i64) -> bool {
        self.is_empty() && offset > self.max.load(Ordering::Relaxed).max(0)
    }

    /// Whether no record was ever put into it.
    fn is_empty(&self) -> bool {
        self.max_physical.load(Ordering::Relaxed) < 0
    }

    /// Whether the unit of an offset follows on what is there, and leaves room in memory for more.
    pub(crate) fn takes_at_once(&self, offset: i64) -> bool {
        let state = self.state.lock();
        let follows = offset == self.max.load(Ordering::Relaxed) && state.ahead.is_none() && state.behind.is_none();
        follows && !state.deleted && state.tail.len() + self.kind.unit_size() < PAGE as usize
    }

    /// Adds the unit that follows on what is there.
    fn push(&self, state: &mut State, mut entry: Entry, bit_map: &[u8]) {
        (state.ahead, state.is_unproven) = (None, false);
        if let Some(extension) = &self.extension
            && let Some(address) = extension.append(entry, bit_map)
        {
            entry.unit.tags_code = address;
        }
        entry.encode(self.kind, &mut state.tail);
        if self.is_empty() {
            self.min.store(entry.offset, Ordering::Release);
        }
        let size = self.kind.unit_size();
        self.max_physical.store(entry.unit.end(), Ordering::Release);
        self.end.store(state.tail_start + (state.tail.len() / size) as i64, Ordering::Release);
        self.max.store(entry.end(), Ordering::Release);
        self.mark_dirty();
        if state.tail.len().is_multiple_of((PAGE as usize / size + 1) * size) {
            // a failure shows again at the flush; the units are kept until then
            let _ = self.write_out(state);
        }
    }

    /// Starts again at 0 with nothing. After an error it can be called again.
    fn reset(&self, state: &mut State, why: &'static str) -> io::Result<()> {
        warn!(topic = %self.topic, queue_id = self.id, why, "consume queue begins anew");
        // the minimum first: nobody is sent to a file that is gone
        self.min.store(self.max_offset(), Ordering::Release);
        self.drop_files(state)?;
        self.max.store(0, Ordering::Release);
        self.end.store(0, Ordering::Release);
        self.min.store(self.kind.min_of_empty(), Ordering::Release);
        self.max_physical.store(-1, Ordering::Release);
        *state = State { dropped: state.dropped, ..State::default() };
        Ok(())
    }

    /// Makes the offset of `entry` the next one to append. After an error it can be called again.
    fn skip_to(&self, state: &mut State, Entry { offset, unit, .. }: Entry) -> io::Result<()> {
        let max = self.max.load(Ordering::Relaxed);
        let is_empty = self.is_empty();
        if !is_empty {
            warn!(topic = %self.topic, queue_id = self.id, max, offset,
                "consume queue has a gap before the record's offset");
        }
        if self.kind == QueueKind::Batch {
            return Ok(());
        }
        self.write_out(state)?;
        let file_start = self.files.file_start(offset);
        // Blanks join what is still of use to what follows, unless the offset is beyond reason.
        let missing = offset - max;
        let is_joined = file_start <= max
            || self.min_offset() < max && (missing <= MOST_BLANKS || self.has_room_for(missing, unit));
        if is_joined && !is_empty {
            self.fill_blanks(state, max, offset)?;
        } else {
            // What lies before the gap can no longer be reached: files must follow on one another.
            self.min.store(offset, Ordering::Release);
            self.drop_files(state)?;
            self.fill_blanks(state, file_start, offset)?;
            state.synced = file_start;
        }
        state.tail_start = offset;
        Ok(())
    }

    fn drop_files(&self, state: &mut State) -> io::Result<()> {
        state.dropped += 1;
        while let Some(&last) = state.file_starts.last() {
            self.files.remove(last)?;
            state.file_starts.pop();
        }
        Ok(())
    }

    fn fill_blanks(&self, state: &mut State, from: i64, to: i64) -> io::Result<()> {
        let blanks = Unit::BLANK.to_bytes().repeat(BLANKS_AT_ONCE as usize);
        let mut at = from;
        while at < to {
            let count = BLANKS_AT_ONCE.min(to - at);
            at += self.write(state, at, &blanks[..count as usize * self.kind.unit_size()])?;
        }
        Ok(())
    }

    /// Writes the tail to its files.
    fn write_out(&self, state: &mut State) -> io::Result<()> {
        if let Some(extension) = &self.extension {
            extension.write_out()?;
        }
        let mut tail = std::mem::take(&mut state.tail);
        let mut written = 0;
        let mut result = Ok(());
        while written < tail.len() {
            match self.write(state, state.tail_start, &tail[written..]) {
                Ok(units) => {
                    written += units as usize * self.kind.unit_size();
                    state.tail_start += units;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        tail.drain(..written);
        state.tail = tail;
        result
    }

    /// Writes units that start at `at`, up to the end of their file; returns how many.
    fn write(&self, state: &mut State, at: i64, units: &[u8]) -> io::Result<i64> {
        let start = self.files.file_start(at);
        let new = state.file_starts.last().is_none_or(|last| *last < start);
        let count = self.files.write(at, units, new)?;
        if new {
            state.file_starts.push(start);
        }
        Ok(count)
    }
}

/// Units are gathered until they fill so many bytes, and counted in these for the flush.
const PAGE: u64 = 4096;
const BLANKS_AT_ONCE: i64 = 3000;
/// Units that may be missing whatever the log says: 20 MB of blanks.
const MOST_BLANKS: i64 = 1_000_000;

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "batch_tests.rs"]
mod batch_tests;
