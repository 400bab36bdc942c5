//! Making consume queues and index from the log, by the store's own dispatcher and index builder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apogee_store::dispatch::{Dispatch, RecordConsumer};
use apogee_store::index::{IndexBuilder, IndexTable};
use apogee_store::queue::{QueueTable, Unit};
use apogee_store::read::{RecordFields, RecordSource};
use apogee_store::{BitMaps, QueueKind};

use crate::error::{Error, at};
use crate::expected::Rules;
use crate::index::Shape;
use crate::layout::Layout;
use crate::log::{LogFiles, LogSource};
use crate::progress::Progress;
use crate::queue::{Extension, QueueFiles};

/// The directories that are made from the log, in the order in which new ones have to come into a store.
///
/// Units of `consumequeue` have addresses in `consumequeue_ext`, which is therefore exchanged while there are none.
pub(crate) const DERIVED: [&str; 4] = ["consumequeue_ext", QUEUES, "batchconsumequeue", "index"];
pub(crate) const QUEUES: &str = "consumequeue";

/// What queues and index are to look like: as those of a store.
pub(crate) struct Derive {
    root: PathBuf,
    queues: Arc<QueueFiles>,
    rules: Rules,
    shape: Shape,
    indexed: bool,
    extended: bool,
}

/// What was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) queues: usize,
    pub(crate) units: i64,
}

impl Derive {
    /// As in this store.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn like(layout: &Layout) -> Result<Self, Error> {
        let queues = layout.queues()?;
        Ok(Self {
            root: layout.root.clone(),
            rules: layout.rules(&queues)?,
            shape: layout.index_shape()?,
            indexed: layout.config.message_index_enable,
            extended: layout.has_extensions(),
            queues: Arc::new(queues),
        })
    }

    /// Makes them, each where `place` says for its name in [`DERIVED`]; on disk when this returns.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn make(self, log: LogFiles, end: i64, place: impl Fn(&str) -> PathBuf) -> Result<Made, Error> {
        let [extension_root, queue_root, batch_root, index_root] = DERIVED.map(&place);
        let (from, source) = (log.min_offset(), Arc::new(LogSource::new(log, end)));
        fs::create_dir_all(&queue_root).map_err(at(&queue_root))?;
        let size = |kind| self.queues.file_size(kind);
        let queues = QueueTable::new(queue_root.clone(), size(QueueKind::Simple), DESCRIPTORS)
            .with_batches(batch_root, size(QueueKind::Batch), Arc::new(self.rules.topics.clone()))
            .with_extensions(extension_root, self.queues.extension_size(), self.extended);
        let queues = Arc::new(queues);
        queues.set_deleted(self.rules.deleted.clone());
        let log = Arc::clone(&source) as Arc<dyn RecordSource>;
        let shown = Shown(Progress::new("queues", from, end));
        let bits = FormerBits { root: self.root.clone(), queues: Arc::clone(&self.queues) };
        let bits = self.extended.then(|| Arc::new(bits) as Arc<dyn BitMaps>);
        Dispatch::new(Arc::clone(&log), Arc::clone(&queues), from)
            .with_delays(self.rules.delays.clone())
            .with_light_queues(self.rules.light_queues)
            .with_known_before(end)
            .with_bit_maps(bits)
            .with_consumer(Box::new(shown))
            .catch_up()?;
        queues.settle(false).map_err(at(&queue_root))?;
        queues.flush(0).map_err(at(&queue_root))?;
        if self.indexed {
            fs::create_dir_all(&index_root).map_err(at(&index_root))?;
            let table = IndexTable::open(index_root.clone(), self.shape.slots, self.shape.items, &*source, true);
            let table = Arc::new(table.map_err(at(&index_root))?);
            let builder = IndexBuilder::start(table, log, false, Duration::MAX, |_| {}).map_err(at(&index_root))?;
            builder.stop().map_err(at(&index_root))?;
        }
        let kept = self.keep_expired(&queues, from, place)?;
        sync(&queue_root)?;
        let queues = queues.all();
        let units = queues.iter().map(|queue| queue.iter_from(queue.min_offset()).count() as i64);
        Ok(Made { queues: queues.len() + kept, units: units.sum() })
    }

    /// Queues of which the log has no record any more are kept as they are: they alone know the offset of their next
    /// message.
    fn keep_expired(&self, made: &QueueTable, log_min: i64, place: impl Fn(&str) -> PathBuf) -> Result<usize, Error> {
        let mut kept = 0;
        self.queues.for_each(|topic, id, queue| {
            let last = queue.entry(queue.end()? - 1)?;
            let is_expired = last.is_some_and(|last| last.unit.end() <= log_min);
            if !is_expired || made.get(topic, id).is_some() || self.rules.topics.kind(topic) != queue.kind() {
                return Ok(());
            }
            kept += 1;
            let names = match queue.kind() {
                QueueKind::Simple => &DERIVED[..2],
                QueueKind::Batch => &DERIVED[2..3],
            };
            let below = Path::new(topic).join(id.to_string());
            for name in names {
                let (from, to) = (self.root.join(name).join(&below), place(name).join(&below));
                if from.is_dir() {
                    fs::create_dir_all(&to).map_err(at(&to))?;
                    copy_all(&from, &to)?;
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }
}

/// Brings everything below a directory to disk, with all else of its file system.
///
/// # Errors
/// The disk refused.
pub(crate) fn sync(directory: &Path) -> Result<(), Error> {
    let file = File::open(directory).map_err(at(directory))?;
    rustix::fs::syncfs(&file).map_err(|error| at(directory)(error.into()))
}

/// Copies what is in a directory into another.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Copies a file, or a directory with all that is in it.
///
/// # Errors
/// As [`copy_all`].
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(at(from));
    }
    fs::create_dir(to).map_err(at(to))?;
    copy_all(from, to)
}

/// The bit maps of the queues that are there: which filters a message passed was known when it was stored.
struct FormerBits {
    root: PathBuf,
    queues: Arc<QueueFiles>,
}

impl FormerBits {
    fn find(&self, record: &RecordFields<'_>) -> Result<Option<Vec<u8>>, Error> {
        let queue = self.queues.queue(QueueKind::Simple, record.topic, record.queue_id)?;
        let unit = queue.entry(record.queue_offset)?.map(|entry| entry.unit);
        let unit = unit.filter(|unit| (unit.physical_offset, unit.size) == (record.physical_offset, record.size));
        let Some(place) = unit.and_then(Unit::extension_address) else { return Ok(None) };
        let entry = Extension::open(&self.root, record.topic, record.queue_id)?.entry(place)?;
        Ok(entry.filter(|entry| entry.store_timestamp == record.store_timestamp).map(|entry| entry.bit_map))
    }
}

impl BitMaps for FormerBits {
    fn bit_map(&self, record: &RecordFields<'_>) -> Option<Vec<u8>> {
        // without one, the filter looks at the message itself
        self.find(record).unwrap_or_default()
    }
}

/// Shows how far the walk came.
struct Shown(Progress);

impl RecordConsumer for Shown {
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()> {
        self.0.at(record.physical_offset);
        Ok(())
    }
}

/// Files of queues that are open at a time.
const DESCRIPTORS: usize = 512;
