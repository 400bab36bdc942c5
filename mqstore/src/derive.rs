//! Making consume queues and index from the log, by the store's own dispatcher and index builder.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use apogee_store::dispatch::{DelayLevels, Dispatch, RecordConsumer};
use apogee_store::index::{IndexBuilder, IndexTable};
use apogee_store::queue::QueueTable;
use apogee_store::read::{RecordFields, RecordSource};

use crate::error::{Error, at};
use crate::index::Shape;
use crate::layout::Layout;
use crate::log::{LogFiles, LogSource};
use crate::progress::Progress;
use crate::queue::QueueFiles;
use crate::verify::{batch_topics_of, topics_of};

/// What queues and index are to look like: as those of a store.
pub(crate) struct Derive {
    queue_file_size: u64,
    shape: Shape,
    delays: DelayLevels,
    light_queues: bool,
    indexed: bool,
    wanted: Wanted,
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
            queue_file_size: queues.file_size(),
            shape: layout.index_shape()?,
            delays: layout.delays()?,
            light_queues: layout.has_light_queues(&queues)?,
            indexed: layout.config.message_index_enable,
            wanted: Wanted::of(layout, &queues)?,
        })
    }

    /// Makes both in empty directories, on disk when this returns.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn make(self, log: LogFiles, end: i64, queue_root: &Path, index_root: &Path) -> Result<Made, Error> {
        let (from, source) = (log.min_offset(), Arc::new(LogSource::new(log, end)));
        fs::create_dir_all(queue_root).map_err(at(queue_root))?;
        let queues = Arc::new(QueueTable::new(queue_root.to_owned(), self.queue_file_size, DESCRIPTORS));
        let log = Arc::clone(&source) as Arc<dyn RecordSource>;
        let shown = Shown(Progress::new("queues", from, end));
        Dispatch::new(Arc::clone(&log), Arc::clone(&queues), from)
            .with_delays(self.delays)
            .with_light_queues(self.light_queues)
            .with_consumer(Box::new(shown))
            .catch_up()?;
        queues.settle().map_err(at(queue_root))?;
        for topic in queues.topics() {
            if !self.wanted.wants(&topic) {
                queues.delete_topic(&topic, end).map_err(at(queue_root))?;
            }
        }
        queues.flush(0).map_err(at(queue_root))?;
        if self.indexed {
            fs::create_dir_all(index_root).map_err(at(index_root))?;
            let table = IndexTable::open(index_root.to_owned(), self.shape.slots, self.shape.items, &*source, true);
            let table = Arc::new(table.map_err(at(index_root))?);
            let builder = IndexBuilder::start(table, log, |_| {}).map_err(at(index_root))?;
            builder.stop().map_err(at(index_root))?;
        }
        sync(queue_root)?;
        let queues = queues.all();
        Ok(Made {
            queues: queues.len(),
            units: queues.iter().map(|queue| queue.max_offset() - queue.min_offset()).sum(),
        })
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

/// Which topics get queues: the log still has records of topics that were deleted.
struct Wanted {
    /// `None`: all, because nothing tells what was deleted.
    topics: Option<Vec<String>>,
    /// Those whose records are in batch queues, which are left as they are.
    batch: Vec<String>,
}

impl Wanted {
    fn of(layout: &Layout, queues: &QueueFiles) -> Result<Self, Error> {
        let mut topics = topics_of(&layout.root).filter(|_| queues.exist());
        if let Some(topics) = &mut topics {
            topics.extend(queues.topics()?);
        }
        Ok(Self { topics, batch: batch_topics_of(&layout.root)? })
    }

    fn wants(&self, topic: &str) -> bool {
        let is = |name: &String| name == topic;
        // light topics are in no table
        let known = |topics: &Vec<String>| topic.starts_with("%LMQ%") || topics.iter().any(is);
        !self.batch.iter().any(is) && self.topics.as_ref().is_none_or(known)
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
