//! Where the parts of a store are and how large its files are: from the command line, the broker's configuration file, or
//! the files themselves.

use std::path::{Path, PathBuf};

use apogee_config::{BrokerSettings, MessageStoreConfig};
use apogee_store::StoreLock;
use apogee_store::dispatch::DelayLevels;
use apogee_store::light::is_light;
use apogee_store::queue::{Known, KnownEnds};
use jiff::Timestamp;

use crate::arguments::StoreOptions;
use crate::delays;
use crate::error::{Error, at};
use crate::expected::Rules;
use crate::index::{IndexFiles, Shape};
use crate::log::{LogFiles, LogSource};
use crate::queue::{QueueFiles, Sizes};
use crate::topics::Topics;

/// A store directory.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    pub(crate) log_directories: Vec<PathBuf>,
    /// The configuration the tool works with: that of the file, or defaults.
    pub(crate) config: MessageStoreConfig,
    /// Whether `config` was read from a file: its sizes then count more than what the files look like.
    configured: bool,
    options: StoreOptions,
}

impl Layout {
    /// The store in `root`.
    ///
    /// # Errors
    /// There is no such directory, it holds no store, or the configuration cannot be read.
    pub(crate) fn new(root: &Path, options: &StoreOptions) -> Result<Self, Error> {
        if !root.is_dir() {
            return Err(Error::refused(format!(
                "{}: no such directory: storePathRootDir is expected, the one with commitlog in it",
                root.display()
            )));
        }
        let config = match &options.config {
            Some(file) => BrokerSettings::load(Some(file), None)?.settings.store,
            None => MessageStoreConfig::default(),
        };
        let log_directories = if options.commit_log.is_empty() {
            log_directories(root, &config, options.config.is_some())
        } else {
            options.commit_log.clone()
        };
        let holds = |name: &str| root.join(name).exists();
        if !log_directories.iter().any(|directory| directory.is_dir())
            && (!options.commit_log.is_empty() || !["consumequeue", "checkpoint", "lock"].into_iter().any(holds))
        {
            let named: Vec<_> = log_directories.iter().map(|directory| directory.display().to_string()).collect();
            return Err(Error::refused(format!(
                "{}: no store: there is no {}: storePathRootDir is expected, the one with commitlog in it, and --commit-log or -c \
                 where that lies elsewhere",
                root.display(),
                named.join(" and no ")
            )));
        }
        let configured = options.config.is_some();
        Ok(Self { root: root.to_owned(), log_directories, config, configured, options: options.clone() })
    }

    /// Holds the store for reading.
    ///
    /// # Errors
    /// A broker has it.
    pub(crate) fn lock_to_read(&self) -> Result<Option<StoreLock>, Error> {
        match StoreLock::share(&self.root) {
            Ok(None) => Err(Error::Locked(self.root.clone())),
            Ok(lock) => Ok(lock),
            // no broker ever had it, or nobody can lock here
            Err(_) => Ok(None),
        }
    }

    /// Holds the store for this process alone.
    ///
    /// # Errors
    /// Somebody else has it, or the lock file cannot be written.
    pub(crate) fn lock_to_write(&self) -> Result<StoreLock, Error> {
        let lock = StoreLock::take(&self.root).map_err(at(&self.root.join("lock")))?;
        lock.ok_or_else(|| Error::Locked(self.root.clone()))
    }

    /// Whether the last stop was unclean.
    pub(crate) fn is_unclean(&self) -> bool {
        self.root.join("abort").exists()
    }

    /// The files of the log.
    ///
    /// # Errors
    /// A directory cannot be read, or the size cannot be told.
    pub(crate) fn log(&self) -> Result<LogFiles, Error> {
        let size = self.configured.then(|| usize::try_from(self.config.mapped_file_size_commit_log).unwrap_or(0));
        LogFiles::open(&self.log_directories, self.options.log_file_size.or(size))
    }

    /// The consume queues.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn queues(&self) -> Result<QueueFiles, Error> {
        let configured = |size: i32| self.configured.then(|| u64::from(size.unsigned_abs()));
        let (options, config) = (&self.options, &self.config);
        let sizes = Sizes {
            simple: options.queue_file_size.or(configured(config.mapped_file_size_consume_queue)),
            batch: options.batch_queue_file_size.or(configured(config.mapper_file_size_batch_consume_queue)),
            extension: options.extension_file_size.or(configured(config.mapped_file_size_consume_queue_ext)),
        };
        QueueFiles::open(&self.root, sizes)
    }

    /// The index files.
    ///
    /// # Errors
    /// The directory cannot be read, or it cannot be told how many slots the files have.
    pub(crate) fn index(&self) -> Result<IndexFiles, Error> {
        let slots = self.configured.then(|| self.config.max_hash_slot_num.max(1) as usize);
        IndexFiles::open(self.root.join("index"), self.options.index_slots.or(slots))
    }

    /// Slots and items of new index files: as those there are, else as configured.
    pub(crate) fn index_shape(&self) -> Result<Shape, Error> {
        let shape = self.index()?.shape();
        Ok(shape.unwrap_or(Shape {
            slots: self.options.index_slots.unwrap_or(self.config.max_hash_slot_num.max(1) as usize),
            items: self.config.max_index_num.max(2) as usize,
        }))
    }

    /// Delays of the levels: as configured, else as messages were delayed.
    ///
    /// # Errors
    /// messageDelayLevel, or a file, cannot be read.
    pub(crate) fn delays(&self, queues: &QueueFiles) -> Result<DelayLevels, Error> {
        if !self.configured {
            return delays::detected(self, queues);
        }
        DelayLevels::parse(&self.config.message_delay_level).map_err(|error| Error::refused(error.to_string()))
    }

    /// How queues are made.
    ///
    /// # Errors
    /// messageDelayLevel or a directory cannot be read.
    pub(crate) fn rules(&self, queues: &QueueFiles) -> Result<Rules, Error> {
        let deleted = self.known_ends()?.map(|(_, known)| known.deleted).unwrap_or_default();
        Ok(Rules {
            delays: self.delays(queues)?,
            topics: Topics::of(&self.root, queues)?,
            light_queues: self.has_light_queues(queues)?,
            deleted: deleted.into_iter().collect(),
        })
    }

    /// The file `queueEnds` and what it says of this log; `None` without one.
    ///
    /// # Errors
    /// It or the log cannot be read.
    pub(crate) fn known_ends(&self) -> Result<Option<(KnownEnds, Known)>, Error> {
        let path = self.root.join("queueEnds");
        if !path.exists() {
            return Ok(None);
        }
        let log = self.log()?;
        let end = log.end_of_files();
        let known = KnownEnds::open(&self.root).and_then(|(file, mut known)| {
            known.limit_to(&LogSource::new(log, end))?;
            Ok((file, known))
        });
        known.map(Some).map_err(at(&path))
    }

    /// Whether units have entries in extensions: configured so, or there are such files.
    pub(crate) fn has_extensions(&self) -> bool {
        self.config.enable_consume_queue_ext || self.root.join("consumequeue_ext").is_dir()
    }

    /// Whether messages are also in the light queues they name: configured so, or there are such queues.
    pub(crate) fn has_light_queues(&self, queues: &QueueFiles) -> Result<bool, Error> {
        Ok(self.config.enable_multi_dispatch || queues.topics()?.iter().any(|topic| is_light(topic)))
    }
}

/// storePathCommitLog of the configuration. What lies below the configured root is looked for below `root`: a copied store
/// must not lead back to the original.
fn log_directories(root: &Path, config: &MessageStoreConfig, configured: bool) -> Vec<PathBuf> {
    let named = config.commit_log_path();
    let directories: Vec<_> = named
        .split(',')
        .map(str::trim)
        .filter(|directory| configured && !directory.is_empty())
        .map(|directory| match Path::new(directory).strip_prefix(&config.store_path_root_dir) {
            Ok(below) => root.join(below),
            Err(_) => PathBuf::from(directory),
        })
        .collect();
    if directories.is_empty() { vec![root.join("commitlog")] } else { directories }
}

/// A time as people write it, in ms since 1970.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    text.parse::<Timestamp>()
        .map(Timestamp::as_millisecond)
        .map_err(|_| "a time is ms since 1970, or written as 2026-01-31T18:00:00Z".to_owned())
}

/// A time in ms as people read it.
pub(crate) fn show_time(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) if ms > 0 => format!("{time:.3}"),
        _ => "-".to_owned(),
    }
}
