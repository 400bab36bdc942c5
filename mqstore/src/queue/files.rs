//! Which queues there are.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apogee_store::first_byte;
use apogee_store::queue::QueueKind;

use super::reader::QueueReader;
use crate::error::{Error, at};

/// Bytes of the files of simple queues, batch queues and extensions, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) simple: Option<u64>,
    pub(crate) batch: Option<u64>,
    pub(crate) extension: Option<u64>,
}

/// The directories `consumequeue`, `batchconsumequeue` and `consumequeue_ext`.
#[derive(Debug)]
pub(crate) struct QueueFiles {
    simple: Place,
    batch: Place,
    extension_size: u64,
}

/// Where queues of one kind are.
#[derive(Debug)]
struct Place {
    kind: QueueKind,
    root: PathBuf,
    units_per_file: i64,
}

impl QueueFiles {
    /// Those below a store's root. A size that is not known is the length that most files have.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn open(root: &Path, sizes: Sizes) -> Result<Self, Error> {
        let place = |kind: QueueKind, name: &str, size, default| -> Result<Place, Error> {
            let root = root.join(name);
            let size = size_of(&root, size, default)?;
            let units_per_file = size.div_ceil(kind.unit_size() as u64).max(1) as i64;
            Ok(Place { kind, root, units_per_file })
        };
        Ok(Self {
            simple: place(QueueKind::Simple, "consumequeue", sizes.simple, SIMPLE_SIZE)?,
            batch: place(QueueKind::Batch, "batchconsumequeue", sizes.batch, BATCH_SIZE)?,
            extension_size: size_of(&root.join("consumequeue_ext"), sizes.extension, EXTENSION_SIZE)?,
        })
    }

    /// Bytes of each file of a kind of queues.
    pub(crate) fn file_size(&self, kind: QueueKind) -> u64 {
        let place = self.place(kind);
        place.units_per_file as u64 * kind.unit_size() as u64
    }

    /// Bytes of each file of an extension.
    pub(crate) fn extension_size(&self) -> u64 {
        self.extension_size
    }

    /// Whether there is a directory with queues.
    pub(crate) fn exist(&self) -> bool {
        self.simple.root.is_dir() || self.batch.root.is_dir()
    }

    /// Topics that have a directory, sorted.
    pub(crate) fn topics(&self) -> Result<Vec<String>, Error> {
        let mut topics: BTreeSet<_> = directories(&self.simple.root)?.into_iter().collect();
        topics.extend(directories(&self.batch.root)?);
        Ok(topics.into_iter().collect())
    }

    /// Of which kind a topic's queues are, and their numbers, ascending; one behind another where there are both.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn ids(&self, topic: &str) -> Result<Vec<(QueueKind, i32)>, Error> {
        let mut ids = Vec::new();
        for place in [&self.simple, &self.batch] {
            let names = directories(&place.root.join(topic))?;
            let mut of_kind: Vec<i32> = names
                .iter()
                .filter_map(|name| name.parse().ok().filter(|id: &i32| *id >= 0 && id.to_string() == *name))
                .collect();
            of_kind.sort_unstable();
            ids.extend(of_kind.into_iter().map(|id| (place.kind, id)));
        }
        Ok(ids)
    }

    /// One queue, empty when it has no files.
    ///
    /// # Errors
    /// Its directory cannot be read.
    pub(crate) fn queue(&self, kind: QueueKind, topic: &str, id: i32) -> Result<QueueReader, Error> {
        let place = self.place(kind);
        let directory = place.root.join(topic).join(id.to_string());
        let files = list(&directory)?;
        Ok(QueueReader::new(kind, directory, files, place.units_per_file))
    }

    /// The queue of a topic, of whatever kind it is; empty when there is none.
    ///
    /// # Errors
    /// Its directory cannot be read.
    pub(crate) fn find(&self, topic: &str, id: i32) -> Result<QueueReader, Error> {
        let kind = self.ids(topic)?.into_iter().find(|found| found.1 == id).map_or(QueueKind::Simple, |(kind, _)| kind);
        self.queue(kind, topic, id)
    }

    /// Every queue, one behind another: topic, number, queue.
    ///
    /// # Errors
    /// A directory cannot be read, or what is done with the queue.
    pub(crate) fn for_each(
        &self,
        mut take: impl FnMut(&str, i32, QueueReader) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for topic in self.topics()? {
            for (kind, id) in self.ids(&topic)? {
                take(&topic, id, self.queue(kind, &topic, id)?)?;
            }
        }
        Ok(())
    }

    fn place(&self, kind: QueueKind) -> &Place {
        match kind {
            QueueKind::Simple => &self.simple,
            QueueKind::Batch => &self.batch,
        }
    }
}

/// The length that is given, else that which most files have, else the default.
fn size_of(root: &Path, given: Option<u64>, default: u64) -> Result<u64, Error> {
    if let Some(size) = given {
        return Ok(size);
    }
    let mut lengths: HashMap<u64, usize> = HashMap::new();
    for topic in directories(root)? {
        let topic = root.join(topic);
        for id in directories(&topic)? {
            for (_, length) in list(&topic.join(id))? {
                *lengths.entry(length).or_default() += 1;
            }
        }
    }
    let most = lengths.into_iter().filter(|(length, _)| *length > 0).max_by_key(|(length, count)| (*count, *length));
    Ok(most.map_or(default, |(length, _)| length))
}

/// First byte and length of the files of a queue, in order.
pub(super) fn list(directory: &Path) -> Result<Vec<(i64, u64)>, Error> {
    let io = at(directory);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
        Ok(entries) => entries,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(at(directory))?;
        if let Some(start) = first_byte(&entry.file_name()) {
            files.push((start, entry.metadata().map_err(at(&entry.path()))?.len()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Names of the directories in a directory, sorted; none when it does not exist.
fn directories(path: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(at(path))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(at(path))?;
        if entry.path().is_dir()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// 300,000 units.
const SIMPLE_SIZE: u64 = 6_000_000;
/// 300,000 units.
const BATCH_SIZE: u64 = 13_800_000;
const EXTENSION_SIZE: u64 = 48 << 20;
