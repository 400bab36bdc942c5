//! Records that have their place in the log and are not in its file yet.
//!
//! Where each message is synced, what came since the last write goes to the file by one system call: that of whoever syncs it for
//! all who wait, of the first who does not wait, or of one who gives up waiting; or the flush thread comes by. Until then nobody
//! sees it, and a kill takes it with it, of which nobody was told.
//!
//! A kill in the middle of such a write leaves whole records, and a last one that has zeros where its end should be: as a power
//! loss does, and recovery finds out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use tracing::error;

use super::CommitLog;
use super::append::{Active, Appender};
use super::error::AppendError;
use super::segment::Segment;
use crate::mapping::Reserved;

/// What was staged, about to be written. While there is one, nobody else writes.
pub(super) struct Writing<'a> {
    log: &'a CommitLog,
    bytes: MutexGuard<'a, Vec<u8>>,
    segment: Arc<Segment>,
    room: Reserved,
    /// Physical offset behind them.
    end: i64,
    /// Store time of a record at or before it, ms.
    timestamp: i64,
}

impl CommitLog {
    /// Physical offset behind the last record, also of one that is staged.
    pub(crate) fn end(&self) -> i64 {
        self.staged.load(Ordering::Acquire).max(self.written())
    }

    /// Leaves the record that was copied to who brings it to disk, where that is done at once; `false` where it is to be
    /// published.
    pub(super) fn leave_staged(&self, appender: &mut Appender) -> bool {
        if !appender.synced || !self.flushed.is_quick() || appender.staged.len() > MOST {
            return false;
        }
        self.advance(appender);
        self.staged.store(appender.position, Ordering::Release);
        true
    }

    /// Writes what is staged. When this returns everything that was appended before can be read.
    ///
    /// # Errors
    /// It cannot be written, and the log takes nothing any more.
    pub(super) fn write_staged(&self) -> Result<(), AppendError> {
        if self.end() == self.written() {
            return Ok(());
        }
        let mut appender = self.appender.lock();
        let timestamp = appender.last_timestamp;
        let Some(writing) = self.begin_writing(&mut appender, timestamp) else {
            // another has written it, or could not
            let is_lost = self.end() > self.written();
            return if is_lost { Err(AppendError::Broken(self.gate.broken().unwrap_or_default())) } else { Ok(()) };
        };
        drop(appender);
        writing.finish()?;
        // a sync is far more than to dispatch them
        self.tell_of_records(1);
        Ok(())
    }

    /// The same for who goes on to hold the lock.
    pub(super) fn write_under_lock(&self, appender: &mut Appender) -> Result<(), AppendError> {
        let timestamp = appender.last_timestamp;
        self.begin_writing(appender, timestamp).map_or(Ok(()), Writing::finish)
    }

    /// Takes over what is staged, once what was taken over before is written. `None` where nothing is. `timestamp` is the store
    /// time of a record at or before its end, ms.
    pub(super) fn begin_writing(&self, appender: &mut Appender, timestamp: i64) -> Option<Writing<'_>> {
        if !appender.synced {
            return None;
        }
        let mut bytes = self.writing.lock();
        let Active { segment, writer } = appender.active.as_ref().filter(|_| !appender.staged.is_empty())?;
        std::mem::swap(&mut *bytes, &mut appender.staged);
        let (room, segment) = (writer.reserved(bytes.len()), Arc::clone(segment));
        Some(Writing { log: self, bytes, segment, room, end: appender.position, timestamp })
    }
}

impl Writing<'_> {
    /// Writes it and lets everyone see it.
    ///
    /// # Errors
    /// It cannot be written, and the log takes nothing any more.
    pub(super) fn finish(mut self) -> Result<(), AppendError> {
        // what is before it may be missing
        let written = match self.log.gate.broken() {
            Some(why) => Err(why),
            None => self.room.fill(self.segment.file(), &self.bytes).map_err(|error| {
                error!(path = %self.segment.path().display(), %error,
                    "the commit log cannot be written: no message is taken until the broker is restarted");
                Arc::from(error.to_string())
            }),
        };
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        if let Err(why) = written {
            self.log.gate.break_down(Arc::clone(&why));
            // those who wait for it are told, and who works on new records finds those that were written under the lock before
            self.log.flushed.nudge();
            self.log.tell_of_growth();
            return Err(AppendError::Broken(why));
        }
        // the time after the position: who reads the time first gets one that the position covers
        self.log.written.store(self.end, Ordering::Release);
        self.log.last_timestamp.store(self.timestamp, Ordering::Release);
        Ok(())
    }
}

/// Bytes that may be staged. Where more come while the disk hangs, each is written as it comes.
const MOST: usize = 1 << 20;
/// A buffer larger than this is given back after use.
const KEPT: usize = 1 << 20;
