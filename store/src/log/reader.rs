//! Reading for one who may wait for the disk, or who must not.

use std::io;

use bytes::Bytes;

use super::CommitLog;
use super::segment::Segment;
use crate::read::RecordSource;

/// The log, read with an eye on what is in memory.
///
/// What this process wrote, and not too long ago, counts as in memory without a look. Of what is mapped besides, the kernel
/// is asked; what it does not have is read by file.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    log: &'a CommitLog,
    /// From here on bytes are in memory.
    recent: i64,
    may_wait: bool,
}

impl CommitLog {
    /// `memory`: how many bytes before the end memory likely reaches back to.
    pub(crate) fn reader(&self, memory: i64, may_wait: bool) -> Reader<'_> {
        Reader { log: self, recent: self.opened_at.max(self.written() - memory), may_wait }
    }
}

impl Reader<'_> {
    /// What is in memory without a look from an offset on to the end of its file or of what is written; `None` where nothing
    /// is, or nothing that is mapped.
    pub(crate) fn recent_from(&self, offset: i64) -> io::Result<Option<Bytes>> {
        if offset < self.recent {
            return Ok(None);
        }
        self.log.window(offset, 0)
    }

    /// Has the same bytes read where they lie.
    pub(crate) fn read_recent<T>(&self, offset: i64, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if offset < self.recent { None } else { self.log.segments.read_mapped(offset, read) }
    }

    fn slice_of_old(&self, segment: &Segment, at: usize, length: usize) -> io::Result<Option<Bytes>> {
        if at + length <= self.log.file_size() && !segment.is_resident(at, length) {
            return segment.read(at, length, self.may_wait).map(Some);
        }
        segment.slice(at, length)
    }
}

impl RecordSource for Reader<'_> {
    fn min_offset(&self) -> i64 {
        self.log.min_offset()
    }

    fn max_offset(&self) -> i64 {
        self.log.max_offset()
    }

    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>> {
        if offset >= self.recent {
            return self.log.slice(offset, length);
        }
        let end = offset.checked_add(length as i64);
        if offset < 0 || end.is_none_or(|end| end > self.log.written()) {
            return Ok(None);
        }
        match self.log.segments.find_to_read(offset)? {
            Some(segment) => self.slice_of_old(&segment, (offset - segment.start()) as usize, length),
            None => Ok(None),
        }
    }

    fn window(&self, offset: i64, at_most: usize) -> io::Result<Option<Bytes>> {
        self.log.window(offset, at_most)
    }

    fn may_wait(&self) -> bool {
        self.may_wait
    }

    fn is_as_written(&self, offset: i64) -> bool {
        offset >= self.recent
    }

    fn next_file_start(&self, offset: i64) -> i64 {
        self.log.next_file_start(offset)
    }

    fn damaged_until(&self, offset: i64) -> Option<i64> {
        self.log.damaged_until(offset)
    }

    fn resume_behind(&self, offset: i64) -> io::Result<Option<i64>> {
        self.log.resume_behind(offset)
    }
}
