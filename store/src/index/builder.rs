//! The thread that builds the index.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::error;

use super::reader::IndexReader;
use super::table::{IndexTable, Resume};
use super::writer::{IndexWriter, keys};
use crate::dispatch::{Dispatch, Feed};
use crate::read::{RecordFields, RecordSource, record_at};
use crate::stop::Stop;

/// Builds the index from the log, by a walk of its own: nobody who sends or consumes waits for it.
///
/// It looks at the log some times a second, when much has come, and when somebody queries. Dropping it finishes what is in the log.
pub struct IndexBuilder {
    index: Arc<IndexTable>,
    walk: Arc<Dispatch>,
    stop: Arc<Stop>,
    /// Ends with whether everything was written.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl IndexBuilder {
    /// Starts the thread; `clean`: whoever wrote the index before ended in order. `finished` is told the end time (ms) of each file
    /// that is full and synced: the checkpoint's to keep. How far a longer walk has come is told after each `tell_every`.
    ///
    /// # Errors
    /// A file cannot be read, or the system has no thread to give.
    pub fn start(
        index: Arc<IndexTable>,
        log: Arc<dyn RecordSource>,
        clean: bool,
        tell_every: Duration,
        finished: impl FnMut(i64) + Send + 'static,
    ) -> io::Result<Self> {
        let resume = index.resume(log.min_offset())?;
        let writer = IndexWriter::new(Arc::clone(&index), resume, finished);
        // What 4.x wrote has no entries for tags and stays as it is.
        let of_4x = clean && lacks_tag_alone(&*log, resume)?;
        let writer = if of_4x { writer.with_tags_from(log.max_offset()) } else { writer };
        let walk = Dispatch::without_queues(log, resume.position).with_consumer(Box::new(writer));
        let walk = Arc::new(walk);
        let stop = Arc::new(Stop::default());
        let thread = {
            let (index, walk, stop) = (Arc::clone(&index), Arc::clone(&walk), Arc::clone(&stop));
            thread::Builder::new().name("index".to_owned()).spawn(move || run(&index, &walk, &stop, tell_every))?
        };
        Ok(Self { index, walk, stop, thread: Some(thread) })
    }

    /// Takes what appends tell from now on, instead of reading it.
    pub(crate) fn listen(&self, feed: Arc<Feed>) {
        self.walk.listen(feed);
    }

    /// Wakes the thread.
    pub(crate) fn waker(&self) -> Arc<Stop> {
        Arc::clone(&self.stop)
    }

    /// What answers queries.
    pub fn reader(&self) -> IndexReader {
        IndexReader { index: Arc::clone(&self.index), walk: Arc::clone(&self.walk) }
    }

    /// The files.
    pub fn table(&self) -> &Arc<IndexTable> {
        &self.index
    }

    /// Bytes of the log that are not indexed.
    pub fn behind_bytes(&self) -> i64 {
        self.walk.behind_bytes()
    }

    /// Indexes what is in the log, writes it and ends the thread.
    ///
    /// # Errors
    /// Something of it is not on disk.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.stop.say();
        // the panic itself was reported by the panic hook
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the index thread panicked")))
    }
}

impl Drop for IndexBuilder {
    fn drop(&mut self) {
        // the thread has said what failed
        let _ = self.end();
    }
}

fn run(index: &IndexTable, walk: &Dispatch, stop: &Stop, tell_every: Duration) -> io::Result<()> {
    let mut flushed = Instant::now();
    let mut flushed_at = walk.position();
    let mut failed = false;
    loop {
        let stopped = stop.wait(LOOK);
        let mut result = walk.catch_up_telling("indexing the commit log", tell_every).map_err(io::Error::other);
        if stopped {
            result = result.and(index.finish());
        } else if flushed.elapsed() >= FLUSH && flushed_at != walk.position() {
            flushed = Instant::now();
            let position = walk.position();
            let wrote = index.flush();
            if wrote.is_ok() {
                flushed_at = position;
            }
            result = result.and(wrote);
        }
        if let Err(error) = &result
            && !failed
        {
            error!(%error, "the index is not built; it is tried again");
        }
        failed = result.is_err();
        if stopped {
            return result;
        }
    }
}

/// Whether all keys of the record where building goes on are there but its tag, which comes last.
fn lacks_tag_alone(log: &dyn RecordSource, resume: Resume) -> io::Result<bool> {
    if resume.keys == 0 {
        return Ok(false);
    }
    let record = record_at(log, resume.position)?;
    let Some(fields) = record.as_deref().and_then(RecordFields::of) else { return Ok(false) };
    Ok(fields.properties.get_str("TAGS").is_some() && keys(&fields).count() == resume.keys + 1)
}

const LOOK: Duration = Duration::from_millis(200);
const FLUSH: Duration = Duration::from_secs(10);
