//! What replication needs of a store: bytes of the log as they are stored, out and in.

use std::io;

use bytes::Bytes;

use super::Store;
use crate::log::{RawError, Stretch};
use crate::read::RecordSource;
use crate::read::record::At;

impl Store {
    /// Bytes of a file of the log (mappedFileSizeCommitLog).
    pub fn log_file_size(&self) -> i64 {
        self.log.file_size() as i64
    }

    /// At most so many bytes of the log from a physical offset on, all of one file; `None` at its end.
    ///
    /// # Errors
    /// The file is no longer there ([`io::ErrorKind::NotFound`]), or cannot be mapped.
    pub fn log_stretch(&self, offset: i64, at_most: usize) -> io::Result<Option<Stretch>> {
        self.log.stretch(offset, at_most)
    }

    /// Ends when the log reaches beyond a physical offset.
    pub async fn log_grown(&self, position: i64) {
        self.log.grown(position).await;
    }

    /// What this store takes for flushed at its master, a physical offset; 0 when not known.
    pub fn master_flushed(&self) -> i64 {
        self.checkpoint.positions().master_flushed
    }

    /// Keeps what was flushed at the master, a physical offset.
    ///
    /// # Errors
    /// The checkpoint cannot be written.
    pub fn set_master_flushed(&self, offset: i64) -> io::Result<()> {
        self.checkpoint.update(|positions| positions.master_flushed = offset)
    }

    /// Appends bytes that stand at `offset` in the log of this store's master and do not reach beyond their file. An
    /// empty store begins with any file.
    ///
    /// # Errors
    /// Nothing was appended.
    pub fn append_raw(&self, offset: i64, bytes: &[u8]) -> Result<(), RawError> {
        if self.log.has_no_file() {
            // There will be nothing before it to dispatch.
            self.dispatch.reset(offset);
        }
        self.log.append_raw(offset, bytes, self.dispatch.progress().store_timestamp)
    }

    /// The last whole record of the log with its physical offset; `None` in an empty log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn last_record(&self) -> io::Result<Option<(i64, Bytes)>> {
        // The dispatcher is on its way to the end.
        let mut at = self.dispatch.progress().last_record.max(self.log.min_offset());
        let mut last = None;
        while let Some(window) = self.log.window(at, usize::MAX)? {
            let start = at;
            let mut rest = &window[..];
            loop {
                match At::look(rest) {
                    At::Record(record) if record.physical_offset == at => {
                        let size = record.size as usize;
                        let begin = (at - start) as usize;
                        last = Some((at, window.slice(begin..begin + size)));
                        at += size as i64;
                        rest = &rest[size..];
                    }
                    At::Blank => {
                        at = self.log.next_file_start(at);
                        break;
                    }
                    // the end, or what cannot be compared
                    _ => return Ok(last),
                }
            }
        }
        Ok(last)
    }
}
