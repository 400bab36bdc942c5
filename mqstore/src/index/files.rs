//! All index files.

use std::fs;
use std::io;
use std::path::PathBuf;

use apogee_store::index::sort_by_log;

use super::file::{IndexFile, Shape};
use crate::error::{Error, at};

/// The directory `index`.
#[derive(Debug)]
pub(crate) struct IndexFiles {
    directory: PathBuf,
    /// Oldest first.
    paths: Vec<PathBuf>,
    shape: Option<Shape>,
    has_items: bool,
}

impl IndexFiles {
    /// The files in a directory. Without `slots` it is found out from the first file that shows it.
    ///
    /// # Errors
    /// The directory or a file cannot be read.
    pub(crate) fn open(directory: PathBuf, slots: Option<usize>) -> Result<Self, Error> {
        let mut files = Self { directory, paths: Vec::new(), shape: None, has_items: false };
        let entries = match fs::read_dir(&files.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries.map_err(at(&files.directory))?,
        };
        for entry in entries {
            let entry = entry.map_err(at(&files.directory))?;
            let name = entry.file_name();
            // named by a time
            if name.len() == 17 && name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                files.paths.push(entry.path());
            }
        }
        files.paths.sort_unstable();
        let mut headers = Vec::with_capacity(files.paths.len());
        for path in &files.paths {
            let file = IndexFile::open(path)?;
            headers.push((file.header, path.clone()));
            files.has_items |= file.header.next > 1;
            if files.shape.is_none() {
                files.shape = match slots {
                    Some(slots) => Shape::with_slots(slots, file.length()),
                    None => file.detect()?,
                };
            }
        }
        sort_by_log(&mut headers, |(header, _)| Some(*header));
        files.paths = headers.into_iter().map(|(_, path)| path).collect();
        Ok(files)
    }

    /// The files, oldest first.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Whether there is anything in them.
    pub(crate) fn has_items(&self) -> bool {
        self.has_items
    }

    /// Slots and items of the files; `None` without files, and where it cannot be found out.
    pub(crate) fn shape(&self) -> Option<Shape> {
        self.shape
    }

    /// The shape for those who cannot go on without it.
    ///
    /// # Errors
    /// It cannot be found out.
    pub(crate) fn require_shape(&self) -> Result<Shape, Error> {
        self.shape.ok_or_else(|| {
            Error::refused(format!(
                "{}: no index file shows how many slots it has: give --index-slots (maxHashSlotNum), or mqstore rebuild",
                self.directory.display()
            ))
        })
    }
}
