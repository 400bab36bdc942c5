//! All consume queues of a store, by topic and queue number.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use super::ends::KnownEnd;
use super::extension::Extension;
use super::files::{QueueFiles, sync_names};
use super::layout::{Layout, QueueKind, QueueKinds};
use super::queue::{Flushed, Queue};
use super::shared::Shared;
use crate::NameMap;
use crate::light::is_light;

/// The consume queues, each made when it is first asked for to be written.
pub struct QueueTable {
    simple: Place,
    /// Where the store has no batch queues, none.
    batch: Option<Place>,
    extensions: Option<Place>,
    /// Whether new units get an extension.
    extends: bool,
    kinds: Arc<dyn QueueKinds>,
    shared: Arc<Shared>,
    /// A topic's queues, ascending by number.
    topics: NameMap<Vec<Arc<Queue>>>,
    /// Number of light queues among them.
    light: AtomicUsize,
    leaving: Leaving,
}

/// Topics whose files are being removed. A new queue would put its own in their place, so it is not made before.
#[derive(Default)]
struct Leaving {
    topics: Mutex<BTreeSet<String>>,
    left: Condvar,
}

impl Leaving {
    fn contains(&self, topic: &str) -> bool {
        self.topics.lock().contains(topic)
    }

    /// Waits until the files of a topic are gone, or cannot be removed.
    fn wait(&self, topic: &str) {
        let mut topics = self.topics.lock();
        while topics.contains(topic) {
            self.left.wait(&mut topics);
        }
    }

    /// The topic leaves as long as this is held.
    fn begin<'a>(&'a self, topic: &'a str) -> impl Drop + 'a {
        self.topics.lock().insert(topic.to_owned());
        Left { leaving: self, topic }
    }
}

struct Left<'a> {
    leaving: &'a Leaving,
    topic: &'a str,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.leaving.topics.lock().remove(self.topic);
        self.leaving.left.notify_all();
    }
}

impl QueueTable {
    /// An empty table over the directory `consumequeue`, with files of `file_size` bytes
    /// (mappedFileSizeConsumeQueue) of which at most `descriptors` are open at a time.
    pub fn new(root: PathBuf, file_size: u64, descriptors: usize) -> Self {
        Self {
            simple: Place { root, layout: Layout::of(QueueKind::Simple, file_size) },
            batch: None,
            extensions: None,
            extends: false,
            kinds: Arc::new(|_: &str| None),
            shared: Arc::new(Shared::new(descriptors)),
            topics: NameMap::default(),
            light: AtomicUsize::new(0),
            leaving: Leaving::default(),
        }
    }

    /// With batch queues below the directory `batchconsumequeue`, in files of `file_size` bytes
    /// (mapperFileSizeBatchConsumeQueue), for the topics of which `kinds` says so; a topic it does not know keeps
    /// the kind of queue that it has on disk.
    pub fn with_batches(mut self, root: PathBuf, file_size: u64, kinds: Arc<dyn QueueKinds>) -> Self {
        self.batch = Some(Place { root, layout: Layout::of(QueueKind::Batch, file_size) });
        self.kinds = kinds;
        self
    }

    /// With extensions of simple queues below the directory `consumequeue_ext`, in files of `file_size` bytes
    /// (mappedFileSizeConsumeQueueExt). They are read where they are there; `is_written`: new units get an entry
    /// (enableConsumeQueueExt).
    pub fn with_extensions(mut self, root: PathBuf, file_size: u64, is_written: bool) -> Self {
        self.extensions =
            (is_written || root.exists()).then(|| Place { root, layout: Layout::of_extension(file_size) });
        self.extends = is_written;
        self
    }

    /// The queue, when it is known.
    pub fn get(&self, topic: &str, queue_id: i32) -> Option<Arc<Queue>> {
        find(&self.topics.get(topic)?, queue_id).ok().map(|(_, queue)| queue)
    }

    /// The queue, made when it is not there yet; its files come with the first unit.
    ///
    /// # Errors
    /// The topic is no name a directory can have, or the number is negative.
    pub fn get_or_create(&self, topic: &str, queue_id: i32) -> io::Result<Arc<Queue>> {
        if let Some(queue) = self.get(topic, queue_id) {
            return Ok(queue);
        }
        if !is_topic_name(topic) || queue_id < 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("no consume queue can be named `{}`, {queue_id}", topic.escape_debug()),
            ));
        }
        Ok(self.find_or_make(topic, queue_id, self.kinds.queue_kind(topic).unwrap_or_default()))
    }

    fn find_or_make(&self, topic: &str, queue_id: i32, kind: QueueKind) -> Arc<Queue> {
        loop {
            let mut queues = self.topics.entry(Arc::from(topic)).or_default();
            let name = Arc::clone(queues.key());
            match find(&queues, queue_id) {
                Ok((_, queue)) => return queue,
                // looked at while the topic cannot leave the table: one that is there leaves with its files, or not at all
                Err(_) if self.leaving.contains(topic) => {
                    drop(queues);
                    self.leaving.wait(topic);
                }
                Err(at) => {
                    // one topic, one kind: what is there counts more than what is said
                    let kind = queues.first().map_or(kind, |queue| queue.kind());
                    let is_light = is_light(&name);
                    let queue = Arc::new(self.make(name, queue_id, kind));
                    self.light.fetch_add(usize::from(is_light), Ordering::Relaxed);
                    queues.insert(at, Arc::clone(&queue));
                    return queue;
                }
            }
        }
    }

    fn make(&self, topic: Arc<str>, queue_id: i32, kind: QueueKind) -> Queue {
        let files = |place: &Place| {
            let directory = place.root.join(&*topic).join(queue_id.to_string());
            QueueFiles::new(directory, place.layout, Arc::clone(&self.shared))
        };
        if kind == QueueKind::Batch
            && let Some(place) = &self.batch
        {
            let files = files(place);
            return Queue::new(topic, queue_id, kind, files, None);
        }
        let extension = self.extensions.as_ref().map(files);
        // the reference has none for light queues
        let extends = self.extends && !is_light(&topic);
        let extension = extension.filter(|files| extends || files.directory().exists());
        let extension = extension.map(|files| Extension::new(files, extends));
        let files = files(&self.simple);
        Queue::new(topic, queue_id, QueueKind::Simple, files, extension)
    }

    /// The minimum of a topic's queue that has no messages yet, whether or not it is known.
    pub fn min_of_empty(&self, topic: &str) -> i64 {
        self.kinds.queue_kind(topic).unwrap_or_default().min_of_empty()
    }

    /// The queues of a topic, ascending by number.
    pub fn queues(&self, topic: &str) -> Vec<Arc<Queue>> {
        self.topics.get(topic).map(|queues| queues.clone()).unwrap_or_default()
    }

    /// Names of all topics that have queues.
    pub fn topics(&self) -> Vec<Arc<str>> {
        self.topics.iter().map(|entry| Arc::clone(entry.key())).collect()
    }

    /// Number of light queues.
    pub fn light_queues(&self) -> usize {
        self.light.load(Ordering::Relaxed)
    }

    /// All queues.
    pub fn all(&self) -> Vec<Arc<Queue>> {
        self.topics.iter().flat_map(|entry| entry.value().clone()).collect()
    }

    /// Removes a topic's queues from table and disk. `log_end`: records before it never come back into a queue of
    /// this name, so that a topic of the same name starts at 0. Returns whether there were any.
    ///
    /// # Errors
    /// A file cannot be removed; the queues are gone from the table all the same.
    pub fn delete_topic(&self, topic: &str, log_end: i64) -> io::Result<bool> {
        if !self.topics.contains_key(topic) {
            return Ok(false);
        }
        // first this: no record that is still to be dispatched may make the queue again
        self.set_deleted([(topic.to_owned(), log_end)]);
        let _leaving = self.leaving.begin(topic);
        // told while nobody can look for them: who finds one that is not gone could have found it in the table, too
        let leave = |_: &Arc<str>, queues: &Vec<Arc<Queue>>| {
            for queue in queues {
                queue.set_gone();
            }
            true
        };
        let Some((_, queues)) = self.topics.remove_if(topic, leave) else {
            return Ok(false);
        };
        if is_light(topic) {
            self.light.fetch_sub(queues.len(), Ordering::Relaxed);
        }
        let mut result = Ok(());
        for queue in &queues {
            result = result.and(queue.delete());
        }
        result?;
        for place in [Some(&self.simple), self.batch.as_ref(), self.extensions.as_ref()].into_iter().flatten() {
            match fs::remove_dir(place.root.join(topic)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(true)
    }

    /// Takes over which topics were deleted, with the end of the log at that time.
    pub fn set_deleted(&self, deleted: impl IntoIterator<Item = (String, i64)>) {
        for (topic, log_end) in deleted {
            self.shared.set_former(&topic, log_end);
        }
    }

    /// What all its queues share.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The topics that were deleted, with the end of the log at that time, and those that were created anew, with the end of a
    /// queue of their former life.
    pub fn deleted(&self) -> Vec<(String, i64)> {
        self.shared.former()
    }

    /// Whether a record of this topic at this place is of a topic deleted later.
    pub fn is_of_deleted(&self, topic: &str, physical_offset: i64) -> bool {
        self.shared.former_end(topic).is_some_and(|end| physical_offset < end)
    }

    /// Decides about units that are held: the log is dispatched to its end, and no other will follow to tell what they mean.
    /// Where several queues of a topic go back, it was created anew; where one does, a number in its last record is damaged, or,
    /// with a master, `has_master`, that one will tell.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn settle(&self, has_master: bool) -> io::Result<()> {
        for topic in self.topics() {
            let queues = self.queues(&topic);
            let begins_anew = queues.iter().filter(|queue| queue.may_begin_anew()).count() > 1;
            let begins_anew = Some(begins_anew).filter(|anew| *anew || !has_master);
            queues.iter().try_for_each(|queue| queue.settle(begins_anew))?;
        }
        Ok(())
    }

    /// Queues that hold a unit.
    pub fn holding(&self) -> Vec<Arc<Queue>> {
        self.shared.holding(|| {
            let mut holding = self.all();
            holding.retain(|queue| queue.holds());
            holding
        })
    }

    /// Topics that were created anew, as their queues show, since this was asked for; each with the physical offset of a record
    /// of the new life.
    pub fn take_remade(&self) -> HashMap<Arc<str>, i64> {
        self.shared.take_remade()
    }

    /// Notes once more what [`QueueTable::take_remade`] gave.
    pub fn note_remade(&self, topic: &Arc<str>, position: i64) {
        self.shared.note_remade(topic, position);
    }

    /// Notes topics that have queues and had some before: the last process may have ended before it knew which of them are of the
    /// former life. `log_end`: that of a log that is dispatched to its end.
    pub fn note_former(&self, log_end: i64) {
        for (topic, _) in self.deleted() {
            if let Some(topic) = self.topics.get(&*topic).map(|queues| Arc::clone(queues.key())) {
                self.shared.note_remade(&topic, log_end - 1);
            }
        }
    }

    /// Lets appends go on from what is dispatched: after recovery, before the first append.
    pub fn reset_next_offsets(&self) {
        for entry in &self.topics {
            for queue in entry.value() {
                queue.set_next_offset(queue.max_offset());
            }
        }
    }

    /// Sets the minimum of every queue to its first record that the log still has.
    ///
    /// # Errors
    /// Units cannot be read.
    pub fn correct_min_offsets(&self, log_min: i64) -> io::Result<()> {
        self.all().iter().try_for_each(|queue| queue.correct_min_offset(log_min))
    }

    /// Removes queue files whose records all lie before the log's minimum and corrects the minimum of every queue. Deleted
    /// topics of which the log has nothing any more are forgotten. Returns how many files went.
    ///
    /// # Errors
    /// A file cannot be read or removed; the other queues were cleaned.
    pub fn delete_expired(&self, log_min: i64) -> io::Result<usize> {
        self.shared.forget_former(log_min);
        let (mut removed, mut failed) = (0, None);
        for queue in self.all() {
            match queue.delete_expired(log_min) {
                Ok(files) => removed += files,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(removed), Err)
    }

    /// Writes and syncs queues that changed: those with at least `least_pages` pages of 4 KiB
    /// (flushConsumeQueueLeastPages), all with 0. Returns whether everything dispatched before the call is synced now.
    ///
    /// # Errors
    /// Writing or syncing failed; the other queues were flushed. After a failed sync the answer is never
    /// again that all is synced, because the kernel forgets what it could not write.
    pub fn flush(&self, least_pages: u64) -> io::Result<bool> {
        let mut all = true;
        let mut result = Ok(());
        // each directory once, however many queues are new in it
        let (mut directories, mut new) = (BTreeSet::new(), Vec::new());
        for (topic, queue_id) in self.shared.take_dirty() {
            let Some(queue) = self.get(&topic, queue_id) else {
                continue;
            };
            match queue.flush(least_pages) {
                Ok(Flushed::Nothing) => {}
                Ok(Flushed::Synced(synced)) => {
                    let mut theirs = queue.directories_of_new().map(Path::to_owned).peekable();
                    if theirs.peek().is_none() {
                        queue.note_synced(synced);
                    } else {
                        directories.extend(theirs);
                        new.push((queue, synced));
                    }
                }
                Ok(Flushed::TooFew) => {
                    queue.mark_dirty();
                    all = false;
                }
                Err(error) => {
                    queue.mark_dirty();
                    result = Err(error);
                }
            }
        }
        match directories.iter().try_for_each(|directory| sync_names(directory)) {
            Ok(()) => {
                for (queue, synced) in new {
                    queue.note_synced(synced);
                }
            }
            Err(error) => {
                self.shared.set_sync_failed();
                for (queue, _) in &new {
                    queue.mark_dirty();
                }
                result = Err(error);
            }
        }
        result?;
        Ok(all && !self.shared.sync_failed())
    }

    /// How far each queue is on disk, as far as it has units there.
    pub(super) fn durable_ends(&self) -> Vec<KnownEnd> {
        let mut ends = Vec::new();
        for entry in &self.topics {
            for queue in entry.value() {
                let (max, max_physical) = queue.durable_end();
                if max_physical >= 0 {
                    ends.push(KnownEnd {
                        topic: entry.key().to_string(),
                        queue_id: queue.queue_id(),
                        max,
                        max_physical,
                    });
                }
            }
        }
        ends
    }

    /// Which state of the topics this is.
    pub(super) fn version(&self) -> (i64, i64) {
        self.kinds.version()
    }

    /// Whether there is such a topic, as far as anybody says.
    pub fn is_known(&self, topic: &str) -> bool {
        self.kinds.is_known(topic)
    }

    /// Makes a queue of the table for each directory found.
    pub(super) fn discover(&self) -> io::Result<Vec<Arc<Queue>>> {
        let mut found = Vec::new();
        self.discover_kind(QueueKind::Simple, &self.simple, &mut found)?;
        if let Some(batch) = &self.batch {
            self.discover_kind(QueueKind::Batch, batch, &mut found)?;
        }
        Ok(found)
    }

    fn discover_kind(&self, kind: QueueKind, place: &Place, found: &mut Vec<Arc<Queue>>) -> io::Result<()> {
        for topic in directories(&place.root)?.into_iter().filter(|topic| is_topic_name(topic)) {
            let directory = place.root.join(&topic);
            for queue in directories(&directory)? {
                // `007` and `+7` are no names of queue 7
                let id = queue.parse::<i32>().ok().filter(|id| id.to_string() == queue && *id >= 0);
                let Some(queue_id) = id else { continue };
                let queue = self.find_or_make(&topic, queue_id, kind);
                let expected = self.kinds.queue_kind(&topic).unwrap_or(queue.kind());
                if expected != kind {
                    let message = format!(
                        "{} holds queues of type {}, but topic {topic} is of type {}: put its queue.type right, or remove \
                         consumequeue and batchconsumequeue, which are then made again from the commit log",
                        directory.display(),
                        kind.name(),
                        expected.name()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                found.push(queue);
            }
        }
        Ok(())
    }
}

/// Where files of one sort are.
#[derive(Debug)]
struct Place {
    root: PathBuf,
    layout: Layout,
}

/// Names of the directories in a directory, none when it does not exist.
fn directories(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    Ok(names)
}

fn find(queues: &[Arc<Queue>], queue_id: i32) -> Result<(usize, Arc<Queue>), usize> {
    // numbers mostly are 0, 1, 2, …
    let guess = queue_id as usize;
    if let Some(queue) = queues.get(guess)
        && queue.queue_id() == queue_id
    {
        return Ok((guess, Arc::clone(queue)));
    }
    queues.binary_search_by_key(&queue_id, |queue| queue.queue_id()).map(|at| (at, Arc::clone(&queues[at])))
}

/// Whether a queue can have this topic. Topics come out of records: one must not lead out of the queues' directory. What
/// recovery does not take for a record's topic is never stored either.
pub(crate) fn is_topic_name(topic: &str) -> bool {
    !topic.is_empty()
        && topic.len() <= 255
        && topic != "."
        && topic != ".."
        && !topic.bytes().any(|byte| byte <= b' ' || byte == b'/' || byte == 0x7F)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
