//! Opening a store, and recovering it where the last process left it unclean.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use apogee_config::{BrokerRole, MessageStoreConfig};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thiserror::Error;

use super::light::LightQueues;
use super::synced::Synced;
use super::{Hooks, Store, Threads};
use crate::checkpoint::Checkpoint;
use crate::disk::{self, Space};
use crate::dispatch::{DelayLevels, Dispatch, DispatchError, Dispatcher, Feed, FlushIntervals, QueueFlusher, Waker};
use crate::files;
use crate::index::{IndexBuilder, IndexTable};
use crate::log::{CommitLog, LogOptions, RecoverError, RecoverFrom};
use crate::marks::{AbortMark, StoreLock};
use crate::queue::{Known, KnownEnds, Loaded, QueueTable};
use crate::read::{ReadLimits, RecordSource, record_at};

/// How often a long start tells how far it has come.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Descriptors of consume-queue files that are open at a time where the process may have few.
const LEAST_QUEUE_DESCRIPTORS: usize = 512;

/// As many queues have their files open where it may have very many.
const MOST_QUEUE_DESCRIPTORS: usize = 100_000;

/// Why a store could not be opened. One line that names the file and what to do.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another process works on the store.
    #[error("{}: the store is locked by another process", .0.display())]
    Locked(PathBuf),
    /// A file or directory cannot be read or written, or is not as it has to be.
    #[error("cannot open the store in {}: {source}", root.display())]
    Io {
        /// storePathRootDir.
        root: PathBuf,
        /// What went wrong, with the file's name.
        source: io::Error,
    },
    /// The commit log.
    #[error(transparent)]
    Log(#[from] RecoverError),
    /// A configured value has no meaning.
    #[error("{key}={value}: {reason}")]
    Setting {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Records cannot be put into their queues.
    #[error("cannot rebuild the consume queues: {0}")]
    Dispatch(#[from] DispatchError),
}

impl Store {
    /// Opens the store, and recovers what an unclean stop left behind. The listener of `hooks` is told of every message
    /// that can be read from now on.
    pub fn open(config: &MessageStoreConfig, hooks: impl Into<Hooks>) -> Result<Arc<Self>, OpenError> {
        Self::open_telling(config, hooks, TELL_EVERY)
    }

    /// The same; where something of it takes longer than `tell_every`, the log tells after each such time how far it has
    /// come, and how long it will still take. Otherwise it does after each second.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_telling(
        config: &MessageStoreConfig,
        hooks: impl Into<Hooks>,
        tell_every: Duration,
    ) -> Result<Arc<Self>, OpenError> {
        let hooks = hooks.into();
        let root = PathBuf::from(&config.store_path_root_dir);
        let io = |source| OpenError::Io { root: root.clone(), source };
        let delays = DelayLevels::parse(&config.message_delay_level).map_err(|error| OpenError::Setting {
            key: "messageDelayLevel",
            value: config.message_delay_level.clone(),
            reason: error.to_string(),
        })?;
        let started = Instant::now();
        files::create_directories(&root).map_err(io)?;
        let lock = StoreLock::take(&root).map_err(io)?.ok_or_else(|| OpenError::Locked(root.clone()))?;
        let abort = AbortMark::new(&root);
        let clean = !abort.is_set().map_err(io)?;
        let checkpoint = Arc::new(Checkpoint::open(&root).map_err(io)?);
        let known = RecoverFrom::checkpoint(&checkpoint.positions(), clean, tell_every);
        let waker = Waker::default();
        let (log, checked_from) = CommitLog::recover(LogOptions::from_config(config), known, waker.clone())?;
        let (min, end) = (log.min_offset(), log.max_offset());

        let (mut known_ends, mut once) = KnownEnds::open(&root).map_err(io)?;
        let named = |error| io(files::named(&root.join("lock"))(error));
        let only_ours = lock.claimed().map_err(named)? == Some(once.claim);
        if !only_ours {
            known_ends.claimed(lock.claim().map_err(named)?);
        }
        let same_until = once.limit_to(&*log).map_err(io)?;
        // Before anything is derived or appended: from here on a stop is an unclean one.
        let repair = Repair::new(&checkpoint, known_ends, once, same_until, only_ours);
        let opened = abort.set().map_err(io).and_then(|()| {
            let (derived, index) = thread::scope(|scope| {
                // neither needs the other
                let index = scope.spawn(|| open_index(config, &log, clean));
                let derived = Derived::complete(config, &log, &delays, known, checked_from, &hooks, &repair);
                (derived, index.join())
            });
            let derived = derived?;
            let panicked = |_| Err(io::Error::other("opening the index panicked"));
            let index = index.unwrap_or_else(panicked).map_err(io)?;
            let dispatch = Arc::new(derived.dispatch.with_listener(Arc::clone(&hooks.listener)));
            let queues = derived.queues;
            let ends = Arc::clone(&repair.known_ends);
            let thorough = flush_intervals(config).thorough;
            let synced = Synced::new(Arc::clone(&log), Arc::clone(&queues), Arc::clone(&checkpoint), ends, thorough);
            // first: what fails here is to leave everything as it was, and the flush writes
            let index =
                index.map(|index| start_index(index, &log, &checkpoint, clean, tell_every)).transpose().map_err(io)?;
            feed(config, &log, &dispatch, index.as_ref());
            let threads = start_threads(config, &queues, &dispatch, synced, waker, index).map_err(io)?;
            Ok((queues, dispatch, threads))
        });
        let (queues, dispatch, threads) = opened.inspect_err(|_| {
            log.close();
            if clean && !repair.has_changed() {
                // As it was found. The error that ends the start tells more than one of this.
                let _ = abort.clear();
            }
        })?;
        let Repair { known_ends, .. } = repair;
        let space = Space::new(log.directories().writable(), &root, config.disk_space_warning_level_ratio);
        space.check(log.gate());
        log.set_read_ahead(config.data_read_ahead_enable);
        tracing::info!(root = %root.display(), clean, min, end, ms = started.elapsed().as_millis() as u64, "store open");
        let limits = ArcSwap::from_pointee(read_limits(config));
        let index = threads.index.as_ref().filter(|_| config.index_file_read_enable).map(IndexBuilder::reader);
        let threads = Mutex::new(Some(threads));
        // The last process may have ended between the log's files and the others: the first round looks at all.
        let cleared = Mutex::new(-1);
        Ok(Arc::new(Self {
            log,
            light: LightQueues::from_config(config, &queues),
            queues,
            dispatch,
            index,
            limits,
            space,
            abort,
            checkpoint,
            known_ends,
            cleared,
            threads,
            _lock: lock,
        }))
    }
}

/// What a start does to the queues.
struct Repair<'a> {
    checkpoint: &'a Checkpoint,
    known_ends: Arc<Mutex<KnownEnds>>,
    /// What they said at the last look.
    once: Known,
    /// Physical offset up to which the log is the same as at that time.
    same_until: i64,
    /// Nobody has had the store since who wrote them down.
    only_ours: bool,
    withdrawn: Mutex<bool>,
    /// Units were or are about to be written or removed.
    changed: AtomicBool,
}

impl<'a> Repair<'a> {
    fn new(checkpoint: &'a Checkpoint, known_ends: KnownEnds, once: Known, same_until: i64, only_ours: bool) -> Self {
        let known_ends = Arc::new(Mutex::new(known_ends));
        let (withdrawn, changed) = (Mutex::new(false), AtomicBool::new(false));
        Self { checkpoint, known_ends, once, same_until, only_ours, withdrawn, changed }
    }

    /// Before units go that were on disk: the checkpoint must no longer say so, or a start after a kill would not
    /// make them again.
    fn begin(&self, deleted: Vec<(String, i64)>) -> io::Result<()> {
        self.set_changed();
        let mut withdrawn = self.withdrawn.lock();
        if !*withdrawn {
            self.checkpoint.withdraw()?;
            // afterwards: the start that follows a kill does it all again without it
            self.known_ends.lock().forget(deleted)?;
            *withdrawn = true;
        }
        Ok(())
    }

    fn set_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether the queues are no longer as the last process left them.
    fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }
}

/// What is made from the log, complete up to its end.
struct Derived {
    queues: Arc<QueueTable>,
    dispatch: Dispatch,
}

impl Derived {
    /// Finds out what the queues hold and makes what is missing.
    fn complete(
        config: &MessageStoreConfig,
        log: &Arc<CommitLog>,
        delays: &DelayLevels,
        known: RecoverFrom,
        checked_from: i64,
        hooks: &Hooks,
        repair: &Repair<'_>,
    ) -> Result<Self, OpenError> {
        let root = PathBuf::from(&config.store_path_root_dir);
        let io = |source| OpenError::Io { root: root.clone(), source };
        let (min, end) = (log.min_offset(), log.max_offset());
        let queue_file = u64::from(config.mapped_file_size_consume_queue.unsigned_abs());
        let queue_root = root.join("consumequeue");
        // Operators remove the folder to have the queues built anew. An empty one is that of a store whose topics were
        // all deleted: they must not come back.
        let is_built_anew = !queue_root.exists();
        if is_built_anew && min < end {
            repair.begin(repair.once.deleted.clone()).map_err(io)?;
        }
        files::create_directories(&queue_root).map_err(io)?;
        let batch_file = u64::from(config.mapper_file_size_batch_consume_queue.unsigned_abs());
        let extension_file = u64::from(config.mapped_file_size_consume_queue_ext.unsigned_abs());
        let queues = QueueTable::new(queue_root, queue_file, queue_descriptors())
            .with_batches(root.join("batchconsumequeue"), batch_file, Arc::clone(&hooks.queue_kinds))
            .with_extensions(root.join("consumequeue_ext"), extension_file, config.enable_consume_queue_ext);
        let queues = Arc::new(queues);
        queues.set_deleted(repair.once.deleted.iter().cloned());
        let dispatched = behind(log, known.dispatched_record).map_err(io)?;
        let loaded = Loaded {
            log_min: min,
            log_end: end,
            clean: known.clean,
            ours: repair.same_until,
            checked_from,
            checked_behind: behind(log, Some(checked_from)).map_err(io)?,
            dispatched,
            known_ends: if is_built_anew { &[] } else { &repair.once.ends },
            same_topics: repair.only_ours || repair.once.version == hooks.queue_kinds.version(),
            records: &**log,
            before_repair: &|| repair.begin(queues.deleted()),
            tell_every: known.tell_every,
        };
        let missing_from = queues.recover(loaded).map_err(io)?;
        let from = match (missing_from, known.clean) {
            _ if is_built_anew => min,
            (Some(missing), true) => missing,
            (Some(missing), false) => missing.min(checked_from),
            (None, _) => checked_from,
        };
        if from < end {
            // units are written, and an end before the last one is no longer a clean one
            repair.set_changed();
        }
        let dispatched_before = match known.clean {
            _ if is_built_anew => 0,
            true => dispatched,
            false => checked_from,
        };
        let walk = |from| {
            Dispatch::new(Arc::clone(log) as Arc<dyn RecordSource>, Arc::clone(&queues), from)
                .with_delays(delays.clone())
                .with_light_queues(config.enable_multi_dispatch)
                .with_known_before(dispatched_before)
                .with_whole_before(if is_built_anew { 0 } else { repair.once.listed_before })
                .with_bit_maps(hooks.bit_maps.clone())
        };
        // Nobody waits for old messages, so the listener comes after them.
        let begin = || repair.begin(queues.deleted());
        let check =
            |from| if from < checked_from { log.check_again(from, checked_from, known.tell_every) } else { Ok(()) };
        let dispatch = dispatch_from(from.max(min), min, check, walk, begin, known.tell_every, &io)?;
        let is_slave = config.broker_role == BrokerRole::Slave;
        queues.settle(is_slave).map_err(io)?;
        if is_slave {
            queues.note_former(end);
        }
        queues.correct_min_offsets(min).map_err(io)?;
        queues.reset_next_offsets();
        Ok(Self { queues, dispatch })
    }
}

/// Dispatches everything from a place on; from further back, once and then from the log's minimum, when a queue turns
/// out to miss units of records before that place. What is dispatched was checked: units are taken for those of good records.
fn dispatch_from(
    mut from: i64,
    min: i64,
    check: impl Fn(i64) -> io::Result<()>,
    walk: impl Fn(i64) -> Dispatch,
    begin_repair: impl Fn() -> io::Result<()>,
    tell_every: Duration,
    io: &impl Fn(io::Error) -> OpenError,
) -> Result<Dispatch, OpenError> {
    let mut is_second = false;
    loop {
        check(from).map_err(io)?;
        let dispatch = if from > min { walk(from).refusing_gaps() } else { walk(from) };
        match dispatch.catch_up_telling("putting messages into consume queues", tell_every) {
            Err(DispatchError::UnitsMissing { behind, .. }) => {
                begin_repair().map_err(io)?;
                from = if is_second { min } else { behind.max(min) };
                is_second = true;
                tracing::warn!(from, "consume queues miss units and are completed from the commit log");
            }
            done => {
                done?;
                return Ok(dispatch.accepting_gaps());
            }
        }
    }
}

/// The place behind the record at `offset`; 0 where no such record is known. What is before the last one that was dispatched
/// before a clean stop, and in no queue, belongs to a topic that was deleted, and must not come back.
fn behind(log: &CommitLog, offset: Option<i64>) -> io::Result<i64> {
    let Some(offset) = offset else { return Ok(0) };
    Ok(record_at(log, offset)?.map_or(0, |record| offset + record.len() as i64))
}

/// Lets appends tell those who make queues and index what they know.
fn feed(config: &MessageStoreConfig, log: &CommitLog, dispatch: &Dispatch, index: Option<&IndexBuilder>) {
    let feed = Arc::new(Feed::new(config.enable_multi_dispatch, index.map(IndexBuilder::waker)));
    dispatch.listen(Arc::clone(&feed));
    if let Some(index) = index {
        index.listen(Arc::clone(&feed));
    }
    log.feed(feed);
}

fn start_threads(
    config: &MessageStoreConfig,
    queues: &Arc<QueueTable>,
    dispatch: &Arc<Dispatch>,
    synced: Synced,
    waker: Waker,
    index: Option<IndexBuilder>,
) -> io::Result<Threads> {
    let intervals = flush_intervals(config);
    let queue_flusher = QueueFlusher::start(Arc::clone(queues), Arc::clone(dispatch), intervals, move |progress| {
        synced.queues_reached(progress);
    })?;
    Ok(Threads { dispatcher: Dispatcher::start(Arc::clone(dispatch), waker)?, queue_flusher, index })
}

/// How many files of consume queues stay open: half of what the process may have. The flush comes by all queues that got
/// messages, and opening a file costs it several times what writing does.
fn queue_descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let half = limit.map_or(usize::MAX, |limit| limit as usize / 2);
    half.clamp(LEAST_QUEUE_DESCRIPTORS, MOST_QUEUE_DESCRIPTORS)
}

pub(super) fn flush_intervals(config: &MessageStoreConfig) -> FlushIntervals {
    let millis = |value: i32| Duration::from_millis(value.max(1) as u64);
    FlushIntervals {
        interval: millis(config.flush_interval_consume_queue),
        least_pages: config.flush_consume_queue_least_pages.max(0) as u64,
        thorough: millis(config.flush_consume_queue_thorough_interval),
    }
}

/// The index, where one is to be built.
fn open_index(config: &MessageStoreConfig, log: &CommitLog, clean: bool) -> io::Result<Option<IndexTable>> {
    if !config.message_index_enable || !config.index_file_write_enable {
        return Ok(None);
    }
    let directory = PathBuf::from(&config.store_path_root_dir).join("index");
    let (slots, items) = (config.max_hash_slot_num.max(1) as usize, config.max_index_num.max(1) as usize);
    IndexTable::open(directory, slots, items, log, clean).map(Some)
}

fn start_index(
    index: IndexTable,
    log: &Arc<CommitLog>,
    checkpoint: &Arc<Checkpoint>,
    clean: bool,
    tell_every: Duration,
) -> io::Result<IndexBuilder> {
    let checkpoint = Arc::clone(checkpoint);
    let log = Arc::clone(log) as Arc<dyn RecordSource>;
    IndexBuilder::start(Arc::new(index), log, clean, tell_every, move |end_time| {
        let updated =
            checkpoint.update(|positions| positions.index_timestamp = positions.index_timestamp.max(end_time));
        if let Err(error) = updated {
            tracing::warn!(%error, "the checkpoint is not written; the next recovery takes longer");
        }
    })
}

pub(super) fn read_limits(config: &MessageStoreConfig) -> ReadLimits {
    let size = |value: i32| value.max(0) as usize;
    let mut ratio = i64::from(config.access_message_in_memory_max_ratio.clamp(0, 100));
    if config.broker_role == BrokerRole::Slave {
        ratio = (ratio - 10).max(0);
    }
    ReadLimits {
        count_in_memory: size(config.max_transfer_count_on_message_in_memory),
        bytes_in_memory: size(config.max_transfer_bytes_on_message_in_memory),
        count_on_disk: size(config.max_transfer_count_on_message_in_disk),
        bytes_on_disk: size(config.max_transfer_bytes_on_message_in_disk),
        filter_bytes: size(config.max_filter_message_size),
        memory_distance: disk::memory_limit() / 100 * ratio,
        correct_next_offset: config.broker_role != BrokerRole::Slave || config.offset_check_in_slave,
    }
}
