//! The files of the log, in order and without holes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use thiserror::Error;
use tracing::{info, warn};

use super::directories::Directories;
use super::segment::{Segment, file_name};
use crate::files::{create_directories, first_byte};

/// The log's files, in one or several directories.
#[derive(Debug)]
pub(crate) struct Segments {
    directories: Directories,
    file_size: usize,
    list: ArcSwap<Vec<Arc<Segment>>>,
    /// Whether the kernel reads ahead of what is read (dataReadAheadEnable).
    read_ahead: AtomicBool,
}

/// Why the files of a log cannot be used.
#[derive(Debug, Error)]
pub enum SegmentsError {
    /// A file is not of the configured size.
    #[error("{} has {found} bytes, files of this log have {expected}: check mappedFileSizeCommitLog", path.display())]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The configured one.
        expected: usize,
    },
    /// A file's name is no multiple of the size.
    #[error("{} does not start at a multiple of {expected} bytes: check mappedFileSizeCommitLog", path.display())]
    WrongStart {
        /// The file.
        path: PathBuf,
        /// The configured size.
        expected: usize,
    },
    /// A file between two others is gone.
    #[error("file {missing} is missing from the log before {}: restore it, or move the files before it away", next.display())]
    Hole {
        /// Name of the missing file.
        missing: String,
        /// The first file behind the hole.
        next: PathBuf,
    },
    /// The same file lies in two directories.
    #[error("{} is in another directory of the log, too: move one of them away", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// A directory or file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Segments {
    /// Opens the files found in the directories. Those for new files are made when they are missing. Nothing is mapped
    /// yet.
    ///
    /// # Errors
    /// A file is missing or of another size; nothing was changed but an empty last file, which a stop in
    /// the middle of its creation left.
    pub(crate) fn open(directories: Directories, file_size: usize) -> Result<Self, SegmentsError> {
        let mut found = Vec::new();
        for directory in directories.writable() {
            create_directories(directory).and_then(|()| list(directory, &mut found)).map_err(io_at(directory))?;
        }
        // one that was retired may be gone while it is still named
        for directory in directories.read_only().iter().filter(|directory| directory.exists()) {
            list(directory, &mut found).map_err(io_at(directory))?;
        }
        found.sort();
        while let Some((_, path)) = found.pop_if(|(_, path)| is_unfinished(path, file_size)) {
            info!(path = %path.display(), "a file whose creation was interrupted is removed");
            fs::remove_file(&path).map_err(io_at(&path))?;
        }
        let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(found.len());
        for (start, path) in found {
            let length = fs::metadata(&path).map_err(io_at(&path))?.len();
            if length != file_size as u64 {
                return Err(SegmentsError::WrongSize { path, found: length, expected: file_size });
            }
            if start % file_size as i64 != 0 {
                return Err(SegmentsError::WrongStart { path, expected: file_size });
            }
            match segments.last() {
                Some(last) if last.start() == start => return Err(SegmentsError::Twice { path }),
                Some(last) if last.end() != start => {
                    return Err(SegmentsError::Hole { missing: file_name(last.end()), next: path });
                }
                _ => {}
            }
            let segment = Segment::open(path.clone(), start, file_size).map_err(io_at(&path))?;
            segments.push(Arc::new(segment));
        }
        Ok(Self { directories, file_size, list: ArcSwap::from_pointee(segments), read_ahead: AtomicBool::new(true) })
    }

    /// Whether the kernel reads ahead of what is read.
    pub(super) fn reads_ahead(&self) -> bool {
        self.read_ahead.load(Ordering::Acquire)
    }

    /// Tells the kernel for all files whether to read ahead of what is read. It does so at first.
    pub(super) fn set_read_ahead(&self, read_ahead: bool) {
        if self.read_ahead.swap(read_ahead, Ordering::AcqRel) != read_ahead {
            self.list().iter().for_each(|segment| segment.set_read_ahead(read_ahead));
        }
    }

    /// Bytes of each file.
    pub(crate) fn file_size(&self) -> usize {
        self.file_size
    }

    /// Directory of the file to be made that starts at an offset.
    pub(super) fn directory_of_new(&self, start: i64) -> &Path {
        self.directories.of_new_file((start / self.file_size as i64) as usize)
    }

    /// All directories.
    pub(crate) fn directories(&self) -> &Directories {
        &self.directories
    }

    /// The files, oldest first.
    pub(crate) fn list(&self) -> Guard<Arc<Vec<Arc<Segment>>>> {
        self.list.load()
    }

    /// Physical offset of the first byte, 0 without files.
    pub(crate) fn min_offset(&self) -> i64 {
        self.list.load().first().map_or(0, |first| first.start())
    }

    /// Physical offset of the file behind the one that holds an offset.
    pub(crate) fn next_start(&self, offset: i64) -> i64 {
        let size = self.file_size as i64;
        offset - offset.rem_euclid(size) + size
    }

    /// The file that holds an offset.
    pub(crate) fn find(&self, offset: i64) -> Option<Arc<Segment>> {
        let list = self.list.load();
        let at = usize::try_from(offset - list.first()?.start()).ok()? / self.file_size;
        list.get(at).cloned()
    }

    /// The file that holds an offset, mapped when it is among the newest.
    pub(crate) fn find_to_read(&self, offset: i64) -> io::Result<Option<Arc<Segment>>> {
        let list = self.list.load();
        let Some(first) = list.first() else { return Ok(None) };
        let Ok(distance) = usize::try_from(offset - first.start()) else { return Ok(None) };
        let at = distance / self.file_size;
        let Some(segment) = list.get(at) else { return Ok(None) };
        // the last one is mapped by its writer
        if !segment.is_mapped() && at + 1 < list.len() && at + MAPPED >= list.len() {
            segment.map_for_reading()?;
            if !self.reads_ahead() {
                segment.set_read_ahead(false);
            }
        }
        Ok(Some(Arc::clone(segment)))
    }

    /// Has the bytes read that are mapped from an offset on to the end of its file or of what is written; `None` where
    /// there are none.
    pub(super) fn read_mapped<T>(&self, offset: i64, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let list = self.list.load();
        let distance = usize::try_from(offset - list.first()?.start()).ok()?;
        list.get(distance / self.file_size)?.read_mapped(distance % self.file_size, read)
    }

    /// Adds the next file. Of the older ones, only the newest stay mapped. Only the log's appender calls it.
    pub(super) fn push(&self, segment: Segment) -> Arc<Segment> {
        if !self.reads_ahead() {
            segment.set_read_ahead(false);
        }
        let mut list = Vec::clone(&self.list.load());
        let segment = Arc::new(segment);
        list.push(Arc::clone(&segment));
        for old in list.iter().rev().skip(MAPPED) {
            old.unmap();
        }
        self.list.store(Arc::new(list));
        segment
    }

    /// Forgets the first file. Only with the appender's lock held, which keeps others from changing the list.
    pub(super) fn forget_first(&self) {
        let mut list = Vec::clone(&self.list.load());
        list.remove(0);
        self.list.store(Arc::new(list));
    }

    /// Deletes the files that start at or behind `end`. Not while the log is written.
    pub(super) fn delete_from(&self, end: i64) -> Result<(), SegmentsError> {
        let mut list = Vec::clone(&self.list.load());
        while let Some(last) = list.pop_if(|last| last.start() >= end) {
            warn!(path = %last.path().display(), end, "a file behind the end of the log is deleted");
            last.delete().map_err(io_at(last.path()))?;
            self.list.store(Arc::new(list.clone()));
        }
        Ok(())
    }
}

/// The files of a directory that are named as the log's.
fn list(directory: &Path, into: &mut Vec<(i64, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if let Some(start) = first_byte(&entry.file_name())
            && !entry.file_type()?.is_dir()
        {
            into.push((start, entry.path()));
        }
    }
    Ok(())
}

/// Whether a file has no content and not its full size.
fn is_unfinished(path: &Path, file_size: usize) -> bool {
    let Ok(length) = fs::metadata(path).map(|metadata| metadata.len()) else {
        return false;
    };
    length == 0
        || length < file_size as u64 && fs::read(path).is_ok_and(|content| content.iter().all(|byte| *byte == 0))
}

pub(super) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SegmentsError {
    |source| SegmentsError::Io { path: path.to_owned(), source }
}

/// How many of the newest files are mapped.
const MAPPED: usize = 4;

#[cfg(test)]
mod tests {
    use apogee_config::MessageStoreConfig;

    use super::*;

    const SIZE: usize = 8192;

    fn put(directory: &Path, start: i64, length: usize) {
        fs::write(directory.join(file_name(start)), vec![1; length]).unwrap();
    }

    fn only(directory: &Path) -> Directories {
        let path = Some(directory.to_str().unwrap().to_owned());
        Directories::from_config(&MessageStoreConfig { store_path_commit_log: path, ..Default::default() })
    }

    #[test]
    fn files_are_found_by_offset() {
        let directory = tempfile::tempdir().unwrap();
        for n in [3, 1, 2] {
            put(directory.path(), n * 8192, SIZE);
        }
        fs::write(directory.path().join("notes"), "").unwrap();
        let segments = Segments::open(only(directory.path()), SIZE).unwrap();
        assert_eq!(segments.min_offset(), 8192);
        for (offset, start) in
            [(8191, None), (8192, Some(8192)), (24575, Some(16384)), (32767, Some(24576)), (32768, None)]
        {
            assert_eq!(segments.find(offset).map(|found| found.start()), start, "{offset}");
            assert_eq!(segments.find_to_read(offset).unwrap().map(|found| found.start()), start, "{offset}");
        }
        assert!(segments.find(i64::MIN / 2).is_none());
    }

    #[test]
    fn holes_and_sizes_are_refused() {
        let open = |files: &[(i64, usize)]| {
            let directory = tempfile::tempdir().unwrap();
            for (start, length) in files {
                put(directory.path(), *start, *length);
            }
            Segments::open(only(directory.path()), SIZE)
        };
        assert!(matches!(open(&[(0, SIZE), (16384, SIZE)]), Err(SegmentsError::Hole { missing, .. })
            if missing == "00000000000000008192"));
        assert!(matches!(open(&[(0, SIZE - 1)]), Err(SegmentsError::WrongSize { found: 8191, .. })));
        assert!(matches!(open(&[(100, SIZE)]), Err(SegmentsError::WrongStart { .. })));
        assert_eq!(open(&[(0, SIZE), (8192, 0)]).unwrap().list().len(), 1);
    }

    #[test]
    fn files_of_all_directories_are_one_log() {
        let [a, b, old] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let name = |directory: &tempfile::TempDir| directory.path().to_str().unwrap().to_owned();
        let directories = Directories::from_config(&MessageStoreConfig {
            store_path_commit_log: Some(format!("{},{}", name(&a), name(&b))),
            read_only_commit_log_store_paths: Some(name(&old)),
            ..Default::default()
        });
        put(old.path(), 0, SIZE);
        put(a.path(), 8192, SIZE);
        put(b.path(), 16384, SIZE);
        assert_eq!(Segments::open(directories.clone(), SIZE).unwrap().list().len(), 3);
        put(b.path(), 0, SIZE);
        assert!(matches!(Segments::open(directories, SIZE), Err(SegmentsError::Twice { .. })));
    }
}
