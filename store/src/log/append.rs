//! Appending.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use apogee_remoting::message::record::{BLANK_HEAD, Draft, MAGIC_BLANK, Placement};
use parking_lot::MutexGuard;
use smallvec::SmallVec;

use super::CommitLog;
use super::error::AppendError;
use super::scan::are_properties;
use super::segment::Segment;
use crate::dispatch::{Known, Marks};
use crate::files::is_full_disk;
use crate::mapping::Writer;
use crate::queue::{Queue, is_queued};

/// Where a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Place in the log.
    pub physical_offset: i64,
    /// Bytes of the record.
    pub size: usize,
    /// Offset in its queue.
    pub queue_offset: i64,
    /// When, ms.
    pub store_timestamp: i64,
}

impl Appended {
    pub(super) fn new(placement: &Placement, size: usize) -> Self {
        Self {
            physical_offset: placement.physical_offset,
            size,
            queue_offset: placement.queue_offset,
            store_timestamp: placement.store_timestamp,
        }
    }

    /// Physical offset behind the record: what to wait for when it has to be on disk.
    pub fn end(&self) -> i64 {
        self.physical_offset + self.size as i64
    }
}

/// Places of the messages of one append, in order.
pub type Batch = SmallVec<[Appended; 8]>;

/// What the append lock protects.
#[derive(Debug)]
pub(super) struct Appender {
    /// The file being written, once there is one.
    pub(super) active: Option<Active>,
    /// Physical offset of the next record.
    pub(super) position: i64,
    pub(super) last_timestamp: i64,
    /// Each message is synced.
    pub(super) synced: bool,
    /// Records that have their place, the last before the position, and are not in the file yet.
    pub(super) staged: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    pub(super) writer: Writer,
}

impl CommitLog {
    /// Stores one message, with these marks; it is readable when this returns.
    ///
    /// # Errors
    /// Nothing was stored.
    pub fn append(&self, draft: &Draft<'_>, marks: &Marks<'_>, queue: Arc<Queue>) -> Result<Appended, AppendError> {
        self.append_one(draft, marks, queue, false)
    }

    /// The same for one who waits for [`CommitLog::wait_flushed`] before anybody is told of the message: it may be readable, and
    /// survive a kill, only then.
    ///
    /// # Errors
    /// Nothing was stored.
    pub fn append_awaited(
        &self,
        draft: &Draft<'_>,
        marks: &Marks<'_>,
        queue: Arc<Queue>,
    ) -> Result<Appended, AppendError> {
        self.append_one(draft, marks, queue, true)
    }

    fn append_one(
        &self,
        draft: &Draft<'_>,
        marks: &Marks<'_>,
        queue: Arc<Queue>,
        is_awaited: bool,
    ) -> Result<Appended, AppendError> {
        self.gate.check()?;
        ENCODED.with_borrow_mut(|buffer| {
            buffer.clear();
            self.encode(draft, buffer)?;
            let size = buffer.len();
            let known = self.known(draft, marks, &queue);
            let mut appender = self.lock_for(size)?;
            let placement = Self::place(&appender, &queue, offsets_of(draft), 0);
            placement.write(buffer, self.options.property_crc);
            self.copy(&mut appender, buffer);
            let stored = Appended::new(&placement, size);
            if let (Some(known), Some(feed)) = (known, self.feed.get()) {
                feed.begin().tell(&stored, queue, known);
            }
            if is_awaited && self.leave_staged(&mut appender) {
                trim(buffer);
                return Ok(stored);
            }
            self.publish(appender, placement.store_timestamp)?;
            self.appended(buffer);
            Ok(stored)
        })
    }

    /// Appends the record to the buffer, or nothing.
    pub(super) fn encode(&self, draft: &Draft<'_>, buffer: &mut Vec<u8>) -> Result<(), AppendError> {
        let limit = self.max_body_size.load(Ordering::Relaxed);
        if draft.body.len() > limit {
            return Err(AppendError::MessageTooLarge { size: draft.body.len(), limit });
        }
        if !are_properties(draft.properties) {
            return Err(AppendError::Properties);
        }
        self.check_size(draft.encoded_len(self.options.property_crc))?;
        Ok(draft.encode(buffer, self.options.property_crc)?)
    }

    /// Whether records of so many bytes fit into one file.
    pub(super) fn check_size(&self, size: usize) -> Result<(), AppendError> {
        let limit = self.segments.file_size() - BLANK_HEAD;
        if size > limit { Err(AppendError::MessageTooLarge { size, limit }) } else { Ok(()) }
    }

    /// Takes the lock, with a file that has room for `size` bytes and a blank behind them, and looks at the clock.
    pub(super) fn lock_for(&self, size: usize) -> Result<MutexGuard<'_, Appender>, AppendError> {
        let mut appender = self.appender.lock();
        // again: a shutdown or failure that came before the lock must not be followed by a record
        self.gate.check()?;
        if appender.active.as_ref().is_none_or(|active| active.writer.room() < size + BLANK_HEAD) {
            self.roll(&mut appender)?;
        }
        // a clock set back must not make younger records look older: searches by time rely on the order
        appender.last_timestamp = appender.last_timestamp.max(self.options.clock.now());
        Ok(appender)
    }

    /// The next place in log and queue, where it takes so many offsets. Whoever asks for it fills it: nothing may fail from here on.
    pub(super) fn place(appender: &Appender, queue: &Queue, offsets: i64, ahead: usize) -> Placement {
        Placement {
            queue_offset: if offsets > 0 { queue.take_offsets(offsets) } else { 0 },
            physical_offset: appender.position + ahead as i64,
            store_timestamp: appender.last_timestamp,
        }
    }

    /// What those who work on the log's end are told of a message.
    pub(super) fn known(&self, draft: &Draft<'_>, marks: &Marks<'_>, queue: &Queue) -> Option<Known> {
        self.feed.get()?.known(draft, marks, queue)
    }

    /// Copies a record into the file, or where each message is synced to what is staged for it: the first write into a page of
    /// the mapping after each sync would cost a fault, and where the page has neighbours they would be written with it.
    pub(super) fn copy(&self, appender: &mut Appender, record: &[u8]) {
        let Some(Active { segment, writer }) = &mut appender.active else { return };
        self.ahead.claim(segment.start() + (writer.position() + record.len()) as i64);
        if appender.synced {
            writer.reserve(record.len());
            appender.staged.extend_from_slice(record);
        } else {
            writer.write(record);
        }
    }

    /// Lets everyone see what was copied. What is staged is written for that.
    ///
    /// # Errors
    /// The file cannot be written, and the log takes nothing any more.
    pub(super) fn publish(&self, mut appender: MutexGuard<'_, Appender>, timestamp: i64) -> Result<(), AppendError> {
        self.advance(&mut appender);
        if let Some(writing) = self.begin_writing(&mut appender, timestamp) {
            drop(appender);
            return writing.finish();
        }
        let (position, synced) = (appender.position, appender.synced);
        if let Some(active) = appender.active.as_mut().filter(|_| !synced) {
            active.writer.publish();
            // the time after the position: who reads the time first gets one that the position covers
            self.written.store(position, Ordering::Release);
            self.last_timestamp.store(timestamp, Ordering::Release);
        }
        Ok(())
    }

    /// The next record goes behind what was copied.
    pub(super) fn advance(&self, appender: &mut Appender) {
        let Some(active) = &appender.active else { return };
        let (start, position) = (active.segment.start(), active.writer.position());
        appender.position = start + position as i64;
        self.ahead.advanced(active.writer.mapping(), start, position);
    }

    /// After the lock: tells those who work on new records.
    pub(super) fn appended(&self, buffer: &mut Vec<u8>) {
        self.tell_of_records(1);
        trim(buffer);
    }

    /// Tells those who work on new records that there are so many.
    pub(super) fn tell_of_records(&self, count: usize) {
        let (end, now) = (self.written.load(Ordering::Relaxed), self.last_timestamp.load(Ordering::Relaxed));
        self.waker.wake_or_help(count, end, now);
        self.tell_others();
    }

    /// Tells those who work on new bytes.
    pub(super) fn tell_of_growth(&self) {
        self.waker.wake();
        self.tell_others();
    }

    /// Call it behind the fence of a wake.
    fn tell_others(&self) {
        self.followers.wake();
        if self.wake_flush.load(Ordering::Relaxed) {
            self.flushed.nudge();
        }
    }

    /// Fills the rest of the file with a blank and goes on in the next one.
    #[cold]
    pub(super) fn roll(&self, appender: &mut Appender) -> Result<(), AppendError> {
        let start = appender.active.as_ref().map_or(appender.position, |active| active.segment.end());
        // first the new file: without one the old stays as it is, and smaller records may still fit
        let (segment, writer) = self.ahead.take(start).map_err(|error| {
            let why = if is_full_disk(&error) { "no room for the next file" } else { "the next file cannot be made" };
            AppendError::DiskFull(format!("{why} of the commit log ({error})").into())
        })?;
        self.close_file(appender)?;
        let segment = self.segments.push(segment);
        self.ahead.opened(writer.mapping(), start, 0);
        appender.position = start;
        appender.active = Some(Active { segment, writer });
        Ok(())
    }

    /// Closes the file that is written with a blank.
    fn close_file(&self, appender: &mut Appender) -> Result<(), AppendError> {
        // first: whoever sees that the log goes on finds all of this file
        self.write_under_lock(appender)?;
        let room = appender.room();
        if room >= BLANK_HEAD {
            let mut head = [0; BLANK_HEAD];
            head[..4].copy_from_slice(&(room as i32).to_be_bytes());
            head[4..].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
            self.copy(appender, &head);
            self.write_under_lock(appender)?;
        }
        if let Some(mut active) = appender.active.take() {
            active.writer.skip_rest();
            active.writer.publish();
        }
        Ok(())
    }
}

impl Appender {
    /// Bytes that the file that is written still has.
    pub(super) fn room(&self) -> usize {
        self.active.as_ref().map_or(0, |active| active.writer.room())
    }
}

/// Queue offsets that a record takes.
pub(super) fn offsets_of(draft: &Draft<'_>) -> i64 {
    i64::from(is_queued(draft.sys_flag))
}

/// Gives back a buffer that became large.
pub(super) fn trim(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT {
        *buffer = Vec::new();
    }
}

thread_local! {
    /// Where records are encoded.
    pub(super) static ENCODED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer larger than this is given back after use.
const KEPT: usize = 1 << 20;
