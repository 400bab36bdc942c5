//! The store as a whole: what a broker holds.

mod expire;
mod hooks;
mod key_query;
mod light;
mod open;
mod read;
mod replicate;
mod synced;

use std::io;
use std::path::Path;
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::Draft;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use smallvec::SmallVec;

pub use expire::{Expired, ExpiryRound};
pub use hooks::Hooks;
pub use key_query::{KeyQuery, KeyQueryResult};
pub use open::OpenError;
pub use read::Records;

use crate::checkpoint::Checkpoint;
use crate::disk::Space;
use crate::dispatch::{Dispatch, Dispatcher, Marks, QueueFlusher};
use crate::index::{IndexBuilder, IndexReader};
use crate::log::{AppendError, Appended, Batch, Changeable, CommitLog, Gathered, NeverReached};
use crate::marks::{AbortMark, StoreLock};
use crate::queue::{KnownEnds, Queue, QueueTable};
use crate::read::{ReadLimits, RecordSource};
use light::LightQueues;

/// An open store. It belongs to this process alone until it is closed.
pub struct Store {
    log: Arc<CommitLog>,
    queues: Arc<QueueTable>,
    dispatch: Arc<Dispatch>,
    /// None when messages go to no light queues (enableLmq).
    light: Option<LightQueues>,
    /// None when no index is built, or none is to be asked.
    index: Option<IndexReader>,
    limits: ArcSwap<ReadLimits>,
    space: Space,
    abort: AbortMark,
    checkpoint: Arc<Checkpoint>,
    known_ends: Arc<Mutex<KnownEnds>>,
    /// Minimum of the log up to which queues and index have been cleared of old files. Held while files expire.
    cleared: Mutex<i64>,
    /// The threads; none once the store is closed.
    threads: Mutex<Option<Threads>>,
    _lock: StoreLock,
}

struct Threads {
    dispatcher: Dispatcher,
    queue_flusher: QueueFlusher,
    index: Option<IndexBuilder>,
}

impl Store {
    /// Appends a message to the log. It can be read by its queue as soon as it is dispatched, and survives a power
    /// loss when [`Store::flushed`] says so.
    pub fn append(&self, draft: &Draft<'_>) -> Result<Appended, AppendError> {
        self.append_marked(draft, &Marks::of(Properties::new(draft.properties)))
    }

    /// The same for one who knows the message's marks.
    pub fn append_marked(&self, draft: &Draft<'_>, marks: &Marks<'_>) -> Result<Appended, AppendError> {
        self.append_to(self.queue(draft.topic, draft.queue_id)?, draft, marks, false)
    }

    /// The same for one who waits for [`Store::flushed`] before anybody is told of the message: it may be readable, and survive a
    /// kill, only then.
    pub fn append_awaited(&self, draft: &Draft<'_>, marks: &Marks<'_>) -> Result<Appended, AppendError> {
        self.append_to(self.queue(draft.topic, draft.queue_id)?, draft, marks, true)
    }

    /// [`Store::append_marked`], or [`Store::append_awaited`] where it `is_awaited`, for one who also has the message's queue, and has
    /// just seen that it [is not gone](Queue::is_gone).
    pub fn append_to(
        &self,
        queue: Arc<Queue>,
        draft: &Draft<'_>,
        marks: &Marks<'_>,
        is_awaited: bool,
    ) -> Result<Appended, AppendError> {
        match self.light.as_ref().map(|light| light.of(draft)).transpose()? {
            Some(light) if !light.is_empty() => self.log.append_to_light_queues(draft, &queue, &light),
            _ if is_awaited => self.log.append_awaited(draft, marks, queue),
            _ => self.log.append(draft, marks, queue),
        }
    }

    /// Whether messages can be gathered: none may go to queues that its properties name.
    pub fn gathers(&self) -> bool {
        self.light.is_none()
    }

    /// Encodes a message for a queue, which has just been seen to be not gone, behind those that are gathered.
    ///
    /// # Errors
    /// It cannot be stored, and is not among them.
    pub fn gather(
        &self,
        gathered: &mut Gathered,
        draft: &Draft<'_>,
        marks: &Marks<'_>,
        queue: Arc<Queue>,
    ) -> Result<(), AppendError> {
        self.log.gather(gathered, draft, marks, queue)
    }

    /// Appends what was gathered, in its order and each message as if it came alone, and says of one after the other where it is.
    pub fn append_gathered(&self, gathered: &mut Gathered, stored: impl FnMut(Result<Appended, AppendError>)) {
        self.log.append_gathered(gathered, stored);
    }

    /// Appends `count` messages as one record to a topic with batch queues; takes the offset of the first.
    pub fn append_inner_batch(&self, draft: &Draft<'_>, count: i16) -> Result<Appended, AppendError> {
        let queue = self.queue(draft.topic, draft.queue_id)?;
        self.log.append_inner_batch(draft, count, &queue)
    }

    /// Appends messages of one queue next to one another, all or none.
    pub fn append_all<'a>(
        &self,
        topic: &str,
        queue_id: i32,
        drafts: impl Iterator<Item = Draft<'a>>,
    ) -> Result<Batch, AppendError> {
        let queue = &self.queue(topic, queue_id)?;
        self.log.append_all(drafts.map(|draft| (draft, queue)))
    }

    /// Appends messages, each to the queue that it names, next to one another. Gives the places of those that are stored, the
    /// first ones, and why the next one is not.
    pub fn append_each<'a>(&self, drafts: impl Iterator<Item = Draft<'a>> + Clone) -> (Batch, Option<AppendError>) {
        if self.light.is_none()
            && let Ok(stored) = self.append_together(drafts.clone())
        {
            return (stored, None);
        }
        let mut stored = Batch::new();
        for draft in drafts {
            match self.append(&draft) {
                Ok(appended) => stored.push(appended),
                Err(error) => return (stored, Some(error)),
            }
        }
        (stored, None)
    }

    /// All or none of them.
    fn append_together<'a>(&self, drafts: impl Iterator<Item = Draft<'a>> + Clone) -> Result<Batch, AppendError> {
        // mostly of few queues, whose names are compared sooner than looked up
        let mut queues = SmallVec::<[Arc<Queue>; 8]>::new();
        let mut places = SmallVec::<[usize; 64]>::new();
        for Draft { topic, queue_id, .. } in drafts.clone() {
            let is_its = |queue: &Arc<Queue>| queue.queue_id() == queue_id && **queue.topic() == *topic;
            let place = queues.iter().position(is_its);
            places.push(place.unwrap_or(queues.len()));
            if place.is_none() {
                queues.push(self.queue(topic, queue_id)?);
            }
        }
        // drafts that live no longer than the queues
        self.log.append_all(drafts.zip(&places).map(|(draft, place)| (Draft { ..draft }, &queues[*place])))
    }

    /// Ends when everything before a physical offset is durable.
    pub async fn flushed(&self, position: i64) -> Result<(), NeverReached> {
        self.log.wait_flushed(position).await
    }

    /// Physical offset up to which everything is durable.
    pub fn flushed_offset(&self) -> i64 {
        self.log.flushed()
    }

    /// Physical offset of the first record there is.
    pub fn min_physical_offset(&self) -> i64 {
        self.log.min_offset()
    }

    /// Physical offset behind the last record that can be read.
    pub fn max_physical_offset(&self) -> i64 {
        self.log.max_offset()
    }

    /// Bytes of the log that cannot be read by queue yet (dispatchBehindBytes).
    pub fn dispatch_behind_bytes(&self) -> i64 {
        self.dispatch.behind_bytes()
    }

    /// Removes the queues of a topic; one of the same name begins at 0. Returns whether there were any.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn delete_topic(&self, topic: &str) -> io::Result<bool> {
        let mut known_ends = self.known_ends.lock();
        // the end as it is now, not as it was before the wait: what was stored meanwhile goes, too, also what is still to be written
        self.delete_queues(topic, self.log.end(), &mut known_ends)
    }

    /// The same for a topic that was deleted where the log comes from: a record from the physical offset `log_end` on is of
    /// another one of the same name, whose queues stay if there are any.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn delete_topic_before(&self, topic: &str, log_end: i64) -> io::Result<bool> {
        let mut known_ends = self.known_ends.lock();
        if self.queues.queues(topic).iter().any(|queue| queue.max_physical_offset() > log_end) {
            return Ok(false);
        }
        self.delete_queues(topic, log_end, &mut known_ends)
    }

    /// Removes the queues of a topic. `known_ends` is held until they are gone: nobody writes down in between that they are
    /// there.
    fn delete_queues(&self, topic: &str, log_end: i64, known_ends: &mut KnownEnds) -> io::Result<bool> {
        if self.queues.queues(topic).is_empty() {
            return Ok(false);
        }
        // on disk before anything is gone: no start makes the queues again from the log
        known_ends.reached(self.dispatch.progress(), None);
        known_ends.note_deleted(&self.queues, topic, log_end)?;
        self.queues.delete_topic(topic, log_end)
    }

    /// Whether messages are taken now.
    ///
    /// # Errors
    /// They are not, with the reason that an append would give.
    pub fn check_writable(&self) -> Result<(), AppendError> {
        self.log.check_writable()
    }

    /// Whether the disk failed: no message is taken until the broker is restarted.
    pub fn is_broken(&self) -> bool {
        self.log.is_broken()
    }

    /// Refuses messages for a reason (this is a slave, an administrator wants it so), or takes them again.
    pub fn set_refused(&self, reason: Option<&'static str>) {
        self.log.set_refused(reason);
    }

    /// Takes over keys of a changed configuration: how logs and queues are flushed, the limits of a message and of a read,
    /// diskSpaceWarningLevelRatio, diskSpaceCleanForciblyRatio for new files, dataReadAheadEnable. What expiry goes by is
    /// given to each [`Store::expire`]. Other keys need a restart, as in the reference.
    pub fn change(&self, config: &MessageStoreConfig) {
        self.log.change(Changeable::from_config(config));
        if let Some(threads) = &*self.threads.lock() {
            threads.queue_flusher.change(open::flush_intervals(config));
        }
        self.limits.store(Arc::new(open::read_limits(config)));
        self.space.set_warning_level(config.disk_space_warning_level_ratio);
        self.log.directories().set_full_above(config.disk_space_clean_forcibly_ratio);
        self.log.set_read_ahead(config.data_read_ahead_enable);
        self.check_space();
    }

    /// Looks how full the disk is: past the warning level messages are refused, below it taken again.
    pub fn check_space(&self) {
        self.space.check(self.log.gate());
    }

    /// Share of the disk that is used, 0 to 1; -1 when it cannot be told.
    pub fn used_space(&self) -> f64 {
        self.space.used()
    }

    /// Share of the disk that is used, for each of the log's directories that take new files; -1 when it cannot be told.
    pub fn used_space_by_directory(&self) -> impl Iterator<Item = (&Path, f64)> {
        self.space.used_by_directory()
    }

    /// Per cent of the store's fullest disk that are used, for [`ExpiryRound::used_percent`].
    pub fn used_percent(&self) -> Option<i32> {
        self.space.most_used_percent()
    }

    /// Bytes of the commit log's disk, and how many of them are free.
    pub fn disk_capacity(&self) -> (u64, u64) {
        self.space.capacity()
    }

    /// Takes no more messages, writes everything down, and marks the store as cleanly closed.
    ///
    /// # Errors
    /// Something could not be written: the next start recovers as after a kill.
    pub fn close(&self) -> io::Result<()> {
        let Some(threads) = self.threads.lock().take() else { return Ok(()) };
        let synced = self.log.close();
        // Each writes what the one before left to it.
        threads.dispatcher.stop();
        let queues = threads.queue_flusher.stop();
        let mut is_noted = false;
        let reached = self.dispatch.progress();
        if queues.is_ok() {
            let mut known_ends = self.known_ends.lock();
            known_ends.reached(reached, Some(reached).filter(|_| synced));
            is_noted = known_ends.note(&self.queues);
        }
        let index = threads.index.map_or(Ok(()), IndexBuilder::stop);
        if !synced {
            return Err(io::Error::other("the commit log could not be synced"));
        }
        queues.and(index)?;
        if self.dispatch.behind_bytes() > 0 {
            return Err(io::Error::other("not every message could be put into its queue"));
        }
        if !self.queues.holding().is_empty() {
            tracing::info!("it is not clear yet where some messages belong: the next start looks at them again");
            return Ok(());
        }
        if is_noted && reached.store_timestamp > 0 {
            self.checkpoint.update(|positions| positions.synced_record = Some(reached.last_record))?;
        }
        self.abort.clear()
    }

    /// The queue of a topic, made when it is not there yet. Who sends to it often may keep it.
    ///
    /// # Errors
    /// No queue can have this name.
    pub fn queue(&self, topic: &str, queue_id: i32) -> Result<Arc<Queue>, AppendError> {
        find_queue(&self.queues, topic, queue_id)
    }
}

fn find_queue(queues: &QueueTable, topic: &str, queue_id: i32) -> Result<Arc<Queue>, AppendError> {
    queues.get_or_create(topic, queue_id).map_err(|_| AppendError::Queue { topic: topic.to_owned(), queue_id })
}

impl Drop for Store {
    /// Without [`Store::close`] the threads end and nothing is marked: the next start recovers.
    fn drop(&mut self) {
        if let Some(threads) = self.threads.lock().take() {
            self.log.close();
            drop(threads);
        }
    }
}
