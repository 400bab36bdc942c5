//! One consume queue.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use apogee_store::queue::{UNIT_SIZE, Unit};

use crate::error::{Error, at};

/// The files of a queue; offsets are queue offsets. Holds no file open: there may be a hundred thousand queues.
#[derive(Debug)]
pub(crate) struct QueueReader {
    directory: PathBuf,
    /// First byte and length of each, ascending.
    files: Vec<(i64, u64)>,
    units_per_file: i64,
}

impl QueueReader {
    pub(super) fn new(directory: PathBuf, files: Vec<(i64, u64)>, units_per_file: i64) -> Self {
        Self { directory, files, units_per_file }
    }

    /// What is wrong with names and lengths of the files, and which.
    pub(crate) fn faults(&self) -> Vec<String> {
        let size = self.units_per_file * UNIT_SIZE as i64;
        let mut faults = Vec::new();
        for (n, (start, length)) in self.files.iter().enumerate() {
            let path = self.path(*start);
            if *length != size as u64 {
                faults.push(format!("{}: {length} bytes, files of queues have {size}", path.display()));
            }
            if start % size != 0 {
                faults.push(format!("{}: does not start at a multiple of {size} bytes", path.display()));
            } else if n > 0 && self.files[n - 1].0 + size != *start {
                faults.push(format!("{}: a file is missing before it", path.display()));
            }
        }
        faults
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, length)| length).sum()
    }

    /// Offset of the first unit of the first file.
    pub(crate) fn first(&self) -> i64 {
        self.files.first().map_or(0, |(start, _)| start / UNIT_SIZE as i64)
    }

    /// Path of the file that holds an offset.
    pub(crate) fn path_of(&self, offset: i64) -> PathBuf {
        self.path((offset - offset % self.units_per_file) * UNIT_SIZE as i64)
    }

    /// The byte in its file where the unit at an offset starts.
    pub(crate) fn byte_of(&self, offset: i64) -> i64 {
        offset % self.units_per_file * UNIT_SIZE as i64
    }

    /// At most `count` units from an offset on: those in the same file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, offset: i64, count: i64) -> Result<Vec<Unit>, Error> {
        let start = (offset - offset % self.units_per_file) * UNIT_SIZE as i64;
        let Ok(n) = self.files.binary_search_by_key(&start, |(start, _)| *start) else { return Ok(Vec::new()) };
        let from = self.byte_of(offset) as u64;
        let there = (self.files[n].1.saturating_sub(from) / UNIT_SIZE as u64) as i64;
        let units = count.min(there).min(self.units_per_file - offset % self.units_per_file);
        if units <= 0 {
            return Ok(Vec::new());
        }
        let path = self.path(start);
        let mut bytes = vec![0; units as usize * UNIT_SIZE];
        let file = File::open(&path).map_err(at(&path))?;
        file.read_exact_at(&mut bytes, from).map_err(|source| Error::Read { path, at: from, source })?;
        Ok(bytes.as_chunks().0.iter().map(Unit::from_bytes).collect())
    }

    /// The unit at an offset.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn unit(&self, offset: i64) -> Result<Option<Unit>, Error> {
        Ok(self.read(offset, 1)?.first().copied())
    }

    /// Offset behind the last written unit: units are dense, so it is found by halving.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn max_offset(&self) -> Result<i64, Error> {
        for (start, _) in self.files.iter().rev() {
            let start = start / UNIT_SIZE as i64;
            let end = self.first_that(start, start + self.units_per_file, |unit| !unit.is_written())?;
            if end > start {
                return Ok(end);
            }
        }
        Ok(self.first())
    }

    /// First offset, before `max`, whose record lies at or behind a physical offset; `max` without one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn offset_of(&self, physical_offset: i64, max: i64) -> Result<i64, Error> {
        self.first_that(self.first(), max, |unit| unit.is_record() && unit.physical_offset >= physical_offset)
    }

    /// Every unit of the files, with its offset, in order.
    ///
    /// # Errors
    /// A file cannot be read, or what is done with the unit.
    pub(crate) fn for_each(&self, mut take: impl FnMut(i64, Unit) -> Result<(), Error>) -> Result<(), Error> {
        for (start, _) in &self.files {
            let mut offset = start / UNIT_SIZE as i64;
            loop {
                let units = self.read(offset, AT_ONCE)?;
                if units.is_empty() {
                    break;
                }
                for unit in units {
                    take(offset, unit)?;
                    offset += 1;
                }
                if offset % self.units_per_file == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The first offset in [low, high) of which something is true that stays true behind it.
    fn first_that(&self, mut low: i64, mut high: i64, holds: impl Fn(Unit) -> bool) -> Result<i64, Error> {
        while low < high {
            let middle = low + (high - low) / 2;
            // what a short file does not have is not written
            if holds(self.unit(middle)?.unwrap_or(Unit { physical_offset: 0, size: 0, tags_code: 0 })) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    fn path(&self, start: i64) -> PathBuf {
        self.directory.join(format!("{start:020}"))
    }
}

const AT_ONCE: i64 = 3000;
