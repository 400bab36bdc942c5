//! What replication needs of a store: bytes of the log as they are stored, out and in.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::Store;
use crate::log::{RawError, Stretch};
use crate::queue::{Life, Queue};
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

    /// Queues that have passed the queue offset of their last record: that of a topic which was deleted and created anew, or a
    /// damaged one. The master knows.
    pub fn doubtful_queues(&self) -> Vec<Arc<Queue>> {
        let mut queues = self.queues.holding();
        queues.retain(|queue| queue.life().is_some_and(|life| life.held.is_some()));
        queues
    }

    /// Topics that were created anew, as the log shows, since this was asked for, with the physical offset of a record of the new
    /// life.
    pub fn take_remade_topics(&self) -> HashMap<Arc<str>, i64> {
        self.queues.take_remade()
    }

    /// Notes once more what [`Store::take_remade_topics`] gave.
    pub fn note_remade_topic(&self, topic: &Arc<str>, position: i64) {
        self.queues.note_remade(topic, position);
    }

    /// The queues of a topic.
    pub fn queues_of(&self, topic: &str) -> Vec<Arc<Queue>> {
        self.queues.queues(topic)
    }

    /// Lets a queue begin at 0 again, unless it is no longer as it was: its topic was created anew.
    ///
    /// # Errors
    /// Files cannot be written or removed.
    pub fn begin_anew(&self, queue: &Queue, as_it_was: Life) -> io::Result<()> {
        // A store that is being closed has its queues on disk already.
        let threads = self.threads.lock();
        if threads.is_some() && queue.begin_anew(as_it_was)? {
            // What is not written down when the process dies is found out again.
            self.known_ends.lock().note(&self.queues);
        }
        Ok(())
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
