//! Opening a log: finding its end, and making what is behind it nothing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use thiserror::Error;
use tracing::{error, info, warn};

use super::CommitLog;
use super::options::LogOptions;
use super::scan::Scan;
use super::segments::{Segments, SegmentsError};
use crate::checkpoint::Positions;
use crate::dispatch::Waker;

/// What is known of a log before it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoverFrom {
    /// The last stop was clean.
    pub clean: bool,
    /// Physical offset of a record at or before which everything is on disk, if known.
    pub synced_record: Option<i64>,
    /// Physical offset of the last record dispatched before a clean stop, if known.
    pub dispatched_record: Option<i64>,
    /// Store time (ms) up to which log and queues are on disk; 0 when not known.
    pub synced_timestamp: i64,
    /// How often is told how far the check has come.
    pub tell_every: Duration,
}

impl RecoverFrom {
    /// What a checkpoint tells.
    pub(crate) fn checkpoint(positions: &Positions, clean: bool, tell_every: Duration) -> Self {
        Self {
            clean,
            synced_record: positions.synced_record,
            // 0: 4.x does not write it
            dispatched_record: Some(positions.dispatched_record).filter(|record| *record > 0),
            synced_timestamp: positions.synced_timestamp(),
            tell_every,
        }
    }

    /// Physical offset of a record that was on disk, where the log ends before it.
    fn lost(&self, end: i64) -> Option<i64> {
        let dispatched = self.dispatched_record.filter(|_| self.clean);
        [self.synced_record, dispatched].into_iter().flatten().filter(|record| *record >= end).max()
    }
}

/// Why a log cannot be opened.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// Its files.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// Reading or allocating failed.
    #[error("cannot open the commit log in {}: {source}", directory.display())]
    Io {
        /// First directory of the log.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The configured size is no size for files.
    #[error("mappedFileSizeCommitLog is {0}: it must be from 1024 to 2147483647 bytes")]
    FileSize(usize),
    /// No directory is named that takes new files.
    #[error("storePathCommitLog names no directory but those of readOnlyCommitLogStorePaths")]
    NoDirectory,
}

impl CommitLog {
    /// Opens the log, cuts off what is no good record behind its end, and starts its threads. Also tells from which
    /// place on records were checked: what was derived from earlier ones before the stop is on disk.
    ///
    /// Nothing of it harms when it is interrupted and done again.
    ///
    /// # Errors
    /// Files are missing, of another size or cannot be read, or there is no space to go on.
    pub fn recover(options: LogOptions, known: RecoverFrom, waker: Waker) -> Result<(Arc<Self>, i64), RecoverError> {
        if !(1024..=i32::MAX as usize).contains(&options.file_size) {
            return Err(RecoverError::FileSize(options.file_size));
        }
        let directory = options.directories.writable().first().ok_or(RecoverError::NoDirectory)?.clone();
        let segments = Segments::open(options.directories.clone(), options.file_size)?;
        let io = |source| RecoverError::Io { directory: directory.clone(), source };
        let mut scan = Scan::new(&segments, options.require_property_crc).ending_at_zeros(known.clean);
        let (from, newest) = start(&mut scan, &segments, known).map_err(io)?;
        let found = scan.run(from, newest, i64::MAX, known.tell_every).map_err(io)?;
        info!(from, end = found.end, clean = known.clean, "commit log checked");
        if let Some(record) = known.lost(found.end) {
            error!(
                record,
                end = found.end,
                "the commit log ends before a message that was on disk at the last stop: look for missing files and \
                 directories before new messages take their place"
            );
        }
        segments.delete_from(found.end + 1)?;
        // Behind the end everything must be zero: what is appended there later must not run into old bytes that look
        // like a record.
        if (!known.clean || !found.clean_end)
            && let Some(last) = segments.find(found.end)
        {
            last.clear_from((found.end - last.start()) as usize).map_err(io)?;
        }
        let log = Self::new(options, segments, found, waker).map_err(io)?;
        Ok((log, from))
    }
}

impl CommitLog {
    /// Checks records before those that were checked when the log was opened, for something is made from them again. What is
    /// damaged is not served from now on.
    pub(crate) fn check_again(&self, from: i64, to: i64, tell_every: Duration) -> io::Result<()> {
        let mut scan = Scan::new(&self.segments, self.options.require_property_crc);
        let mut damage = scan.run(from, 0, to, tell_every)?.damage;
        if !damage.is_empty() {
            damage.extend(self.damage.load().iter());
            self.damage.store(Arc::new(damage));
            self.is_damaged.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Where to check from, and the store time (ms) of a record there; 0 when that does not matter.
fn start(scan: &mut Scan<'_>, segments: &Segments, known: RecoverFrom) -> io::Result<(i64, i64)> {
    let dispatched = known.dispatched_record.filter(|_| known.clean);
    for record in [known.synced_record, dispatched].into_iter().flatten() {
        if segments.find(record).is_none() {
            continue;
        }
        if let Some(timestamp) = scan.record_at(record)? {
            return Ok((record, timestamp));
        }
        warn!(record, "no good record where the checkpoint names one: more of the commit log is checked");
    }
    let list = segments.list();
    if known.clean && list.len() > 3 {
        // as the reference
        return Ok((list[list.len() - 3].start(), 0));
    }
    // the last file whose first record was on disk, with all before it
    let synced = known.synced_timestamp - MARGIN;
    for segment in list.iter().rev() {
        if scan.record_at(segment.start())?.is_some_and(|timestamp| timestamp <= synced) {
            return Ok((segment.start(), 0));
        }
    }
    Ok((segments.min_offset(), 0))
}

/// Distance kept from the checkpoint's time, ms: as the reference.
const MARGIN: i64 = 3000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_ends_before_what_was_on_disk_lost_something() {
        let known = RecoverFrom { synced_record: Some(100), dispatched_record: Some(300), ..RecoverFrom::default() };
        assert_eq!((known.lost(101), known.lost(100), known.lost(0)), (None, Some(100), Some(100)));
        let known = RecoverFrom { clean: true, ..known };
        assert_eq!((known.lost(301), known.lost(101), known.lost(0)), (None, Some(300), Some(300)));
        assert_eq!(RecoverFrom { clean: true, ..RecoverFrom::default() }.lost(0), None);
    }
}
