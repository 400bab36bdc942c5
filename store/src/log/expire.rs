//! Deleting the oldest file.

use std::io;
use std::time::SystemTime;

use tracing::info;

use super::CommitLog;
use crate::files::named;

impl CommitLog {
    /// Deletes the first file if all of it lies before `end` and is on disk, and if it was last written at or before
    /// `written_by`, where that is given. The last file stays. Who reads the file goes on reading. Says whether it went.
    ///
    /// One caller at a time.
    ///
    /// # Errors
    /// The file cannot be looked at or removed; it stays in the log.
    pub(crate) fn delete_first(&self, end: i64, written_by: Option<SystemTime>) -> io::Result<bool> {
        let list = self.segments.list();
        let [first, _, ..] = &list[..] else { return Ok(false) };
        if first.end() > end.min(self.flushed()) {
            return Ok(false);
        }
        if let Some(written_by) = written_by
            && first.modified().map_err(named(first.path()))? > written_by
        {
            return Ok(false);
        }
        // a file that cannot be removed is not forgotten either: the next start would find it
        first.delete().map_err(named(first.path()))?;
        let appender = self.appender.lock();
        self.segments.forget_first();
        drop(appender);
        info!(path = %first.path().display(), min = self.segments.min_offset(), "an old file of the log is deleted");
        Ok(true)
    }
}
