//! One consume queue.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use apogee_store::queue::{Entry, QueueKind};

use crate::error::{Error, at};

/// The files of a queue. Places count its units; in a simple queue they are queue offsets. Holds no file open: there may be
/// a hundred thousand queues.
#[derive(Debug)]
pub(crate) struct QueueReader {
    kind: QueueKind,
    directory: PathBuf,
    /// First byte and length of each, ascending.
    files: Vec<(i64, u64)>,
    units_per_file: i64,
}

impl QueueReader {
    pub(super) fn new(kind: QueueKind, directory: PathBuf, files: Vec<(i64, u64)>, units_per_file: i64) -> Self {
        Self { kind, directory, files, units_per_file }
    }

    pub(crate) fn kind(&self) -> QueueKind {
        self.kind
    }

    /// What is wrong with names and lengths of the files, and which.
    pub(crate) fn faults(&self) -> Vec<String> {
        let size = self.units_per_file * self.unit_size();
        let mut faults = Vec::new();
        for (n, (start, length)) in self.files.iter().enumerate() {
            let path = self.path(*start);
            if *length != size as u64 {
                faults.push(format!("{}: {length} bytes, files of queues have {size}", path.display()));
            }
            if start % size != 0 {
                faults.push(format!("{}: does not start at a multiple of {size} bytes", path.display()));
            } else if n > 0 && self.files[n - 1].0.saturating_add(size) != *start {
                faults.push(format!("{}: a file is missing before it", path.display()));
            }
        }
        faults
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, length)| length).sum()
    }

    /// Place of the first unit of the first file.
    pub(crate) fn first(&self) -> i64 {
        self.files.first().map_or(0, |(start, _)| start / self.unit_size())
    }

    /// Path of the file that holds a place.
    pub(crate) fn path_of(&self, place: i64) -> PathBuf {
        self.path(self.file_start(place))
    }

    /// The byte in its file where the unit at a place starts.
    pub(crate) fn byte_of(&self, place: i64) -> i64 {
        place % self.units_per_file * self.unit_size()
    }

    /// At most `count` units from a place on: those in the same file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, place: i64, count: i64) -> Result<Vec<Entry>, Error> {
        let start = self.file_start(place);
        let Ok(n) = self.files.binary_search_by_key(&start, |(start, _)| *start) else { return Ok(Vec::new()) };
        let from = self.byte_of(place) as u64;
        let there = (self.files[n].1.saturating_sub(from) / self.unit_size() as u64) as i64;
        let units = count.min(there).min(self.units_per_file - place % self.units_per_file);
        if units <= 0 {
            return Ok(Vec::new());
        }
        let path = self.path(start);
        let mut bytes = vec![0; units as usize * self.kind.unit_size()];
        let file = File::open(&path).map_err(at(&path))?;
        file.read_exact_at(&mut bytes, from).map_err(|source| Error::Read { path, at: from, source })?;
        let units = bytes.chunks_exact(self.kind.unit_size());
        Ok(units.zip(place..).filter_map(|(bytes, place)| Entry::decode(self.kind, place, bytes)).collect())
    }

    /// The unit at a place.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn entry(&self, place: i64) -> Result<Option<Entry>, Error> {
        Ok(self.read(place, 1)?.first().copied())
    }

    /// Place behind the last written unit: units are dense, so it is found by halving.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn end(&self) -> Result<i64, Error> {
        for (start, _) in self.files.iter().rev() {
            let start = start / self.unit_size();
            let end = self.first_that(start, start + self.units_per_file, |entry| {
                entry.is_none_or(|entry| !entry.unit.is_written())
            })?;
            if end > start {
                return Ok(end);
            }
        }
        Ok(self.first())
    }

    /// Queue offset of the first message at a place before `end`; at `end`, the one behind the last message.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn offset_at(&self, place: i64, end: i64) -> Result<i64, Error> {
        Ok(match self.kind {
            QueueKind::Simple => place,
            QueueKind::Batch if place < end => self.entry(place)?.map_or(0, |entry| entry.offset),
            QueueKind::Batch => self.entry(end - 1)?.map_or(0, Entry::end),
        })
    }

    /// First place, before `end`, with a message at or behind a queue offset; `end` without one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn place_of(&self, offset: i64, end: i64) -> Result<i64, Error> {
        match self.kind {
            QueueKind::Simple => Ok(offset.max(self.first()).min(end)),
            QueueKind::Batch => {
                self.first_that(self.first(), end, |entry| entry.is_some_and(|entry| entry.end() > offset))
            }
        }
    }

    /// First place, before `end`, whose record lies at or behind a physical offset; `end` without one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn place_of_physical(&self, physical_offset: i64, end: i64) -> Result<i64, Error> {
        self.first_that(self.first(), end, |entry| {
            entry.is_some_and(|entry| entry.unit.is_record() && entry.unit.physical_offset >= physical_offset)
        })
    }

    /// Every unit of the files, with its place, in order.
    ///
    /// # Errors
    /// A file cannot be read, or what is done with the unit.
    pub(crate) fn for_each(&self, mut take: impl FnMut(i64, Entry) -> Result<(), Error>) -> Result<(), Error> {
        for (start, _) in &self.files {
            let mut place = start / self.unit_size();
            loop {
                let entries = self.read(place, AT_ONCE)?;
                if entries.is_empty() {
                    break;
                }
                for entry in entries {
                    take(place, entry)?;
                    place += 1;
                }
                if place % self.units_per_file == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The first place in [low, high) of whose unit something is true that stays true behind it; what a short file does not
    /// have comes as `None`.
    fn first_that(&self, mut low: i64, mut high: i64, holds: impl Fn(Option<Entry>) -> bool) -> Result<i64, Error> {
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.entry(middle)?) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    fn unit_size(&self) -> i64 {
        self.kind.unit_size() as i64
    }

    fn file_start(&self, place: i64) -> i64 {
        (place - place % self.units_per_file).saturating_mul(self.unit_size())
    }

    fn path(&self, start: i64) -> PathBuf {
        self.directory.join(format!("{start:020}"))
    }
}

const AT_ONCE: i64 = 3000;
