//! Appending what a master sends: bytes of its log at their own offsets.

use apogee_remoting::message::record::BLANK_HEAD;
use thiserror::Error;

use super::CommitLog;
use super::error::AppendError;

/// Why bytes of a master's log are not appended; none of them is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RawError {
    /// The log takes nothing now.
    #[error(transparent)]
    Refused(#[from] AppendError),
    /// They belong elsewhere.
    #[error("the bytes are those at {offset}, and this log ends at {end}")]
    Elsewhere {
        /// Physical offset of the first of them.
        offset: i64,
        /// Physical offset of the log's end.
        end: i64,
    },
    /// They do not fit a file of this log.
    #[error(
        "the bytes at {offset} do not fit files of {file_size} bytes: mappedFileSizeCommitLog must be the master's"
    )]
    FileSize {
        /// Physical offset of the first of them.
        offset: i64,
        /// Bytes of a file of this log.
        file_size: usize,
    },
}

impl CommitLog {
    /// Whether nothing was ever appended.
    pub(crate) fn has_no_file(&self) -> bool {
        self.segments.list().is_empty()
    }

    /// Appends bytes that stand at `offset` in the master's log and do not reach beyond their file. An empty log begins with
    /// any file. `timestamp` is the store time of a record at or before them, ms.
    ///
    /// A log that refuses messages takes them all the same.
    ///
    /// # Errors
    /// Nothing was appended.
    pub(crate) fn append_raw(&self, offset: i64, bytes: &[u8], timestamp: i64) -> Result<(), RawError> {
        let file_size = self.segments.file_size();
        let wrong_size = || RawError::FileSize { offset, file_size };
        let mut appender = self.appender.lock();
        self.gate.check_raw()?;
        if self.has_no_file() {
            if offset % file_size as i64 != 0 {
                return Err(wrong_size());
            }
            appender.position = offset;
        }
        if offset != appender.position {
            return Err(RawError::Elsewhere { offset, end: appender.position });
        }
        if bytes.len() as i64 > self.segments.next_start(offset) - offset {
            return Err(wrong_size());
        }
        if appender.room() == 0 {
            self.roll(&mut appender)?;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            // One by one, so that a kill leaves no part of a record that looks like a whole one. Where they are staged they are written
            // together, and a kill leaves zeros behind the cut.
            let (entry, behind) = rest.split_at(entry_size(rest));
            self.copy(&mut appender, entry);
            rest = behind;
        }
        let timestamp = timestamp.max(appender.last_timestamp);
        self.publish(appender, timestamp)?;
        self.tell_of_growth();
        Ok(())
    }
}

/// Bytes of the entry in front; all of them where none is.
fn entry_size(bytes: &[u8]) -> usize {
    let size = bytes.first_chunk().map_or(0, |size| u32::from_be_bytes(*size) as usize);
    if (BLANK_HEAD..=bytes.len()).contains(&size) { size } else { bytes.len() }
}
