//! The extension of a queue (`consumequeue_ext`), read only.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use apogee_store::queue::ExtensionUnit;

use super::files::list;
use crate::error::{Error, at};

/// What the units of a queue have addresses of.
#[derive(Debug)]
pub(crate) struct Extension {
    directory: PathBuf,
    /// Place of the first byte of each file, ascending.
    starts: Vec<i64>,
    /// The file read last.
    open: Option<(i64, File)>,
}

impl Extension {
    /// That of a queue; empty when there is none.
    ///
    /// # Errors
    /// Its directory cannot be read.
    pub(crate) fn open(root: &Path, topic: &str, queue_id: i32) -> Result<Self, Error> {
        let directory = root.join("consumequeue_ext").join(topic).join(queue_id.to_string());
        let starts = list(&directory)?.into_iter().map(|(start, _)| start).collect();
        Ok(Self { directory, starts, open: None })
    }

    /// What is at a place; `None` where no entry is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn entry(&mut self, place: i64) -> Result<Option<ExtensionUnit>, Error> {
        let behind = self.starts.partition_point(|start| *start <= place);
        let Some(&start) = behind.checked_sub(1).and_then(|n| self.starts.get(n)) else { return Ok(None) };
        let path = self.directory.join(format!("{start:020}"));
        self.read(&path, start, (place - start) as u64).map_err(at(&path))
    }

    fn read(&mut self, path: &Path, start: i64, from: u64) -> io::Result<Option<ExtensionUnit>> {
        let file = match self.open.take() {
            Some((open, file)) if open == start => file,
            _ => File::open(path)?,
        };
        let (_, file) = self.open.insert((start, file));
        let mut bytes = vec![0; 2];
        if !fill(file, &mut bytes, from)? {
            return Ok(None);
        }
        let Some(size) = ExtensionUnit::size(&bytes) else { return Ok(None) };
        bytes.resize(size, 0);
        Ok(if fill(file, &mut bytes, from)? { ExtensionUnit::decode(&bytes) } else { None })
    }
}

/// Whether the file has so many bytes there.
fn fill(file: &File, into: &mut [u8], from: u64) -> io::Result<bool> {
    match file.read_exact_at(into, from) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
