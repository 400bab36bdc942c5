//! The files of the log.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apogee_store::first_byte;
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::error::{Error, at};

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct LogFile {
    /// Physical offset of its first byte.
    pub(crate) start: i64,
    pub(crate) path: PathBuf,
    /// Bytes it has.
    pub(crate) length: u64,
}

/// All files, in one or several directories, in order.
#[derive(Debug)]
pub(crate) struct LogFiles {
    files: Vec<LogFile>,
    file_size: usize,
    /// The last one read: a log of a thousand files must not need a thousand descriptors.
    open: Mutex<Option<(i64, Arc<File>)>>,
}

impl LogFiles {
    /// Finds the files in the directories. Without `file_size` it is the distance between two files, or the length of the
    /// only one.
    ///
    /// # Errors
    /// A directory cannot be read, a file is there twice, or names and size do not go together.
    pub(crate) fn open(directories: &[PathBuf], file_size: Option<usize>) -> Result<Self, Error> {
        let mut files = Vec::new();
        for directory in directories {
            list(directory, &mut files).map_err(at(directory))?;
        }
        files.sort_by_key(|file| file.start);
        let file_size = file_size.unwrap_or_else(|| detected_size(&files));
        if let Some(pair) = files.windows(2).find(|pair| pair[0].start == pair[1].start) {
            return Err(Error::refused(format!(
                "{} is also {}: move one of them away",
                pair[0].path.display(),
                pair[1].path.display()
            )));
        }
        if let Some(file) = files.iter().find(|file| file_size == 0 || file.start % file_size as i64 != 0) {
            return Err(Error::refused(format!(
                "{} does not start at a multiple of {file_size} bytes: give --log-file-size (mappedFileSizeCommitLog)",
                file.path.display()
            )));
        }
        Ok(Self { files, file_size, open: Mutex::default() })
    }

    /// Bytes of each file.
    pub(crate) fn file_size(&self) -> usize {
        self.file_size
    }

    /// The files, oldest first.
    pub(crate) fn list(&self) -> &[LogFile] {
        &self.files
    }

    /// Physical offset of the first byte, 0 without files.
    pub(crate) fn min_offset(&self) -> i64 {
        self.files.first().map_or(0, |file| file.start)
    }

    /// Physical offset behind the last file.
    pub(crate) fn end_of_files(&self) -> i64 {
        self.files.last().map_or(0, |file| file.start + self.file_size as i64)
    }

    /// Physical offset of the file behind the one that holds an offset.
    pub(crate) fn next_start(&self, offset: i64) -> i64 {
        let size = self.file_size.max(1) as i64;
        offset - offset.rem_euclid(size) + size
    }

    /// Bytes from an offset to the end of its file.
    pub(crate) fn left_in_file(&self, offset: i64) -> usize {
        (self.next_start(offset) - offset) as usize
    }

    /// The file that holds an offset.
    pub(crate) fn find(&self, offset: i64) -> Option<&LogFile> {
        let start = self.next_start(offset) - self.file_size as i64;
        self.files.binary_search_by_key(&start, |file| file.start).ok().map(|at| &self.files[at])
    }

    /// The first file that starts behind an offset.
    pub(crate) fn find_behind(&self, offset: i64) -> Option<&LogFile> {
        self.files.get(self.files.partition_point(|file| file.start <= offset))
    }

    /// The bytes from an offset on, `length` of them where its file has them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, offset: i64, length: usize) -> Result<Vec<u8>, Error> {
        let Some(found) = self.find(offset) else { return Ok(Vec::new()) };
        let from = (offset - found.start) as u64;
        let there = found.length.min(self.file_size as u64).saturating_sub(from);
        let mut bytes = vec![0; length.min(usize::try_from(there).unwrap_or(usize::MAX))];
        let file = self.file(found)?;
        file.read_exact_at(&mut bytes, from).map_err(|source| Error::Read {
            path: found.path.clone(),
            at: from,
            source,
        })?;
        Ok(bytes)
    }

    /// The first offset from `offset` on, in its file, where something may be written: passes over what the file
    /// system knows to be zeros.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn next_data(&self, offset: i64) -> Result<Option<i64>, Error> {
        let Some(found) = self.find(offset) else { return Ok(None) };
        let file = self.file(found)?;
        match rustix::fs::seek(&*file, rustix::fs::SeekFrom::Data((offset - found.start) as u64)) {
            Ok(data) => Ok(Some(found.start + data as i64).filter(|data| *data < self.next_start(offset))),
            Err(Errno::NXIO) => Ok(None),
            // a file system without such knowledge
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(error) => Err(at(&found.path)(error.into())),
        }
    }

    fn file(&self, found: &LogFile) -> Result<Arc<File>, Error> {
        let mut open = self.open.lock();
        match &*open {
            Some((start, file)) if *start == found.start => Ok(Arc::clone(file)),
            _ => {
                let file = Arc::new(File::open(&found.path).map_err(at(&found.path))?);
                *open = Some((found.start, Arc::clone(&file)));
                Ok(file)
            }
        }
    }
}

/// The files of a directory that are named as the log's.
fn list(directory: &Path, into: &mut Vec<LogFile>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if let Some(start) = first_byte(&entry.file_name())
            && let metadata = entry.metadata()?
            && metadata.is_file()
        {
            into.push(LogFile { start, path: entry.path(), length: metadata.len() });
        }
    }
    Ok(())
}

fn detected_size(files: &[LogFile]) -> usize {
    let distances = files.windows(2).map(|pair| (pair[1].start - pair[0].start) as usize).filter(|size| *size > 0);
    distances.min().or_else(|| files.first().map(|file| file.length as usize)).unwrap_or(0)
}
