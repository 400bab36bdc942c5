//! The log as the store's dispatcher and index builder read it.

use std::io;

use apogee_remoting::message::record::Entry;
use apogee_store::read::RecordSource;
use bytes::Bytes;
use parking_lot::Mutex;

use super::files::LogFiles;
use super::walk::{Resume, Walk, verified};

/// Records of the log up to an end, those that verify.
pub(crate) struct LogSource {
    log: LogFiles,
    end: i64,
    /// The bytes read last, and their place: their records are verified when they come to be used.
    window: Mutex<(i64, Bytes)>,
}

impl LogSource {
    pub(crate) fn new(log: LogFiles, end: i64) -> Self {
        Self { log, end, window: Mutex::default() }
    }

    fn resume(&self, from: i64) -> io::Result<i64> {
        match Walk::new(&self.log, from, self.end).resume(from + 1, 0).map_err(io::Error::other)? {
            Resume::At(next) if next < self.end => Ok(next),
            _ => Ok(self.end),
        }
    }
}

impl RecordSource for LogSource {
    fn min_offset(&self) -> i64 {
        self.log.min_offset()
    }

    fn max_offset(&self) -> i64 {
        self.end
    }

    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>> {
        if offset < self.min_offset() || offset.checked_add(length as i64).is_none_or(|end| end > self.end) {
            return Ok(None);
        }
        let bytes = self.log.read(offset, length).map_err(io::Error::other)?;
        Ok((bytes.len() == length).then(|| bytes.into()))
    }

    fn window(&self, offset: i64, at_most: usize) -> io::Result<Option<Bytes>> {
        if offset < self.min_offset() || offset >= self.end {
            return Ok(None);
        }
        let there = self.log.left_in_file(offset).min((self.end - offset) as usize);
        let mut bytes = self.log.read(offset, at_most.min(there)).map_err(io::Error::other)?;
        // where a file ends too early or is missing: something to find damage in
        bytes.resize(at_most.min(there), 0);
        let window = Bytes::from(bytes);
        *self.window.lock() = (offset, window.clone());
        Ok(Some(window))
    }

    fn next_file_start(&self, offset: i64) -> i64 {
        self.log.next_start(offset)
    }

    fn damaged_until(&self, offset: i64) -> Option<i64> {
        let (at, window) = &*self.window.lock();
        let bytes = window.get(usize::try_from(offset - at).ok()?..)?;
        let Ok(Entry::Record(record)) = Entry::read(bytes) else { return None };
        if verified(&record, offset).is_ok() {
            return None;
        }
        // what cannot be read is found again by the next read
        Some(self.resume(offset).unwrap_or(offset + record.size() as i64))
    }

    fn resume_behind(&self, offset: i64) -> io::Result<Option<i64>> {
        self.resume(offset).map(Some)
    }
}
