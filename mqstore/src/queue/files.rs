//! Which queues there are.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apogee_store::queue::UNIT_SIZE;

use super::reader::QueueReader;
use crate::error::{Error, at};
use crate::log::numbered;

/// The directory `consumequeue`.
#[derive(Debug)]
pub(crate) struct QueueFiles {
    root: PathBuf,
    units_per_file: i64,
}

impl QueueFiles {
    /// Those below a store's root. Without `file_size` it is the length that most files have.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn open(root: &Path, file_size: Option<u64>) -> Result<Self, Error> {
        let mut files = Self { root: root.join("consumequeue"), units_per_file: 0 };
        let size = match file_size {
            Some(size) => size,
            None => files.detected_size()?,
        };
        files.units_per_file = size.div_ceil(UNIT_SIZE as u64).max(1) as i64;
        Ok(files)
    }

    /// Bytes of each file.
    pub(crate) fn file_size(&self) -> u64 {
        self.units_per_file as u64 * UNIT_SIZE as u64
    }

    /// Whether the directory is there.
    pub(crate) fn exist(&self) -> bool {
        self.root.is_dir()
    }

    /// Topics that have a directory, sorted.
    pub(crate) fn topics(&self) -> Result<Vec<String>, Error> {
        directories(&self.root)
    }

    /// Numbers of a topic's queues, ascending.
    pub(crate) fn ids(&self, topic: &str) -> Result<Vec<i32>, Error> {
        let names = directories(&self.root.join(topic))?;
        let mut ids: Vec<i32> = names
            .iter()
            .filter_map(|name| name.parse().ok().filter(|id: &i32| *id >= 0 && id.to_string() == *name))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// One queue, empty when it has no files.
    ///
    /// # Errors
    /// Its directory cannot be read.
    pub(crate) fn queue(&self, topic: &str, id: i32) -> Result<QueueReader, Error> {
        let directory = self.root.join(topic).join(id.to_string());
        let files = list(&directory)?;
        Ok(QueueReader::new(directory, files, self.units_per_file))
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
            for id in self.ids(&topic)? {
                take(&topic, id, self.queue(&topic, id)?)?;
            }
        }
        Ok(())
    }

    fn detected_size(&self) -> Result<u64, Error> {
        let mut lengths: HashMap<u64, usize> = HashMap::new();
        for topic in self.topics()? {
            for id in self.ids(&topic)? {
                for (_, length) in list(&self.root.join(&topic).join(id.to_string()))? {
                    *lengths.entry(length).or_default() += 1;
                }
            }
        }
        let most =
            lengths.into_iter().filter(|(length, _)| *length > 0).max_by_key(|(length, count)| (*count, *length));
        Ok(most.map_or(DEFAULT_SIZE, |(length, _)| length))
    }
}

/// First byte and length of the files of a queue, in order.
fn list(directory: &Path) -> Result<Vec<(i64, u64)>, Error> {
    let io = at(directory);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
        Ok(entries) => entries,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(at(directory))?;
        if let Some(start) = entry.file_name().to_str().and_then(numbered) {
            files.push((start, entry.metadata().map_err(at(&entry.path()))?.len()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Names of the directories in a directory, sorted; none when it does not exist.
pub(crate) fn directories(path: &Path) -> Result<Vec<String>, Error> {
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
const DEFAULT_SIZE: u64 = 6_000_000;
