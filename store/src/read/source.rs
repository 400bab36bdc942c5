//! What reading and dispatching need of a commit log.

use std::io;

use apogee_remoting::message::record::Record;
use bytes::Bytes;

use super::record;
use crate::log::check_record;

/// A log of records that only grows at its end. The commit log is one.
pub trait RecordSource: Send + Sync {
    /// First physical offset there is.
    fn min_offset(&self) -> i64;

    /// Physical offset up to which records can be read.
    fn max_offset(&self) -> i64;

    /// The bytes [offset, offset + length), without copying where the file is mapped. `None` when they are not all
    /// there: before the minimum, behind the maximum, or not within one file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>>;

    /// The bytes from `offset` to the end of its file or of what can be read, at least `at_most` of them where there
    /// are so many; more may come when they cost nothing. `None` where nothing can be read.
    ///
    /// # Errors
    /// The file cannot be read.
    fn window(&self, offset: i64, at_most: usize) -> io::Result<Option<Bytes>>;

    /// Whether a read may wait for the disk. Where it may not, one that would fails with `WouldBlock`.
    fn may_wait(&self) -> bool {
        true
    }

    /// Whether what lies from `offset` on was written by this process and did not go through a disk, so that it is as it was
    /// written.
    fn is_as_written(&self, offset: i64) -> bool {
        let _ = offset;
        false
    }

    /// First physical offset of the file after the one that holds `offset`.
    fn next_file_start(&self, offset: i64) -> i64;

    /// Where records go on, when `offset` is known to stand at damage found at the start.
    fn damaged_until(&self, offset: i64) -> Option<i64> {
        let _ = offset;
        None
    }

    /// Looks for the first good record behind bytes that are none.
    ///
    /// # Errors
    /// A file cannot be read.
    fn resume_behind(&self, offset: i64) -> io::Result<Option<i64>> {
        let _ = offset;
        Ok(None)
    }
}

/// The record at a physical offset; `None` where none starts, or a damaged one.
///
/// # Errors
/// The file cannot be read.
pub fn record_at<S: RecordSource + ?Sized>(log: &S, offset: i64) -> io::Result<Option<Bytes>> {
    if log.damaged_until(offset).is_some() {
        return Ok(None);
    }
    // The size first, from a head that says that it stands here: any offset may be asked for.
    let head = log.slice(offset, record::HEAD)?;
    let Some(size) = head.and_then(|head| record::size_at(&head, offset)) else { return Ok(None) };
    let bytes = log.slice(offset, size)?;
    // One at a time is asked for by its place, so it may cost a checksum: where it was damaged, nothing else tells.
    Ok(bytes.filter(|bytes| Record::parse(bytes).is_ok_and(|record| check_record(&record, offset, false).is_ok())))
}
