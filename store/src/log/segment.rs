//! One file of the log.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;
use tracing::warn;

use crate::files::{self, allocate, sync_directory};
use crate::mapping::{Mapping, Writer};

/// A file of the log: named by the physical offset of its first byte, of a fixed size, and mapped while it is written or
/// among the newest.
#[derive(Debug)]
pub(crate) struct Segment {
    start: i64,
    size: usize,
    path: PathBuf,
    file: File,
    mapping: ArcSwapOption<Mapping>,
}

impl Segment {
    /// Makes a new file with all its space allocated, on disk when this returns.
    ///
    /// # Errors
    /// The file exists, or there is no room for it ([`io::ErrorKind::StorageFull`]); nothing is left behind.
    pub(super) fn create(directory: &Path, start: i64, size: usize) -> io::Result<(Self, Writer)> {
        let path = directory.join(file_name(start));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let made = allocate(&file, 0, size as u64)
            .and_then(|()| files::sync(&file))
            .and_then(|()| sync_directory(directory))
            .and_then(|()| Mapping::new(&file, size, 0));
        match made {
            Ok((mapping, writer)) => {
                let mapping = ArcSwapOption::from(Some(mapping));
                Ok((Self { start, size, path, file, mapping }, writer))
            }
            Err(error) => {
                // the first error tells more than one of removing
                let _ = std::fs::remove_file(&path);
                Err(error)
            }
        }
    }

    pub(super) fn open(path: PathBuf, start: i64, size: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self { start, size, path, file, mapping: ArcSwapOption::empty() })
    }

    /// Physical offset of the first byte.
    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    /// Physical offset behind the last byte.
    pub(crate) fn end(&self) -> i64 {
        self.start + self.size as i64
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Maps the file for writing from `published` on, its space allocated.
    pub(super) fn map_for_writing(&self, published: usize) -> io::Result<Writer> {
        // the reference's files are sparse: writing into a hole of a full disk would kill the process
        allocate(&self.file, published as u64, (self.size - published) as u64)?;
        let (mapping, writer) = Mapping::new(&self.file, self.size, published)?;
        self.mapping.store(Some(mapping));
        Ok(writer)
    }

    /// Maps the file for reading all of it, when it is not mapped.
    pub(super) fn map_for_reading(&self) -> io::Result<()> {
        if self.mapping.load().is_none() {
            let (mapping, _) = Mapping::new(&self.file, self.size, self.size)?;
            self.mapping.store(Some(mapping));
        }
        Ok(())
    }

    /// Tells the kernel whether to read ahead of what is read, in the mapping as well as by file. A file mapped later is to
    /// be told of again.
    pub(super) fn set_read_ahead(&self, read_ahead: bool) {
        let advice = if read_ahead { Advice::Normal } else { Advice::Random };
        let told = match &*self.mapping.load() {
            Some(mapping) => mapping.set_read_ahead(0, mapping.len(), read_ahead),
            None => Ok(()),
        };
        // It is an advice: what is read stays the same.
        if let Err(error) = told.and_then(|()| Ok(fadvise(&self.file, 0, None, advice)?)) {
            warn!(path = %self.path.display(), %error, "the way that the file is read ahead is not changed");
        }
    }

    /// Gives up the mapping; bytes given out keep it alive.
    pub(super) fn unmap(&self) {
        self.mapping.store(None);
    }

    /// The bytes [at, at + length) of the file.
    pub(super) fn slice(&self, at: usize, length: usize) -> io::Result<Option<Bytes>> {
        if at + length > self.size {
            return Ok(None);
        }
        if let Some(mapping) = &*self.mapping.load() {
            return Ok(mapping.slice(at, length));
        }
        self.read(at, length, true).map(Some)
    }

    /// The bytes [at, at + there) of the file where it is mapped, else `at_most` of them.
    pub(super) fn window(&self, at: usize, there: usize, at_most: usize) -> io::Result<Option<Bytes>> {
        match &*self.mapping.load() {
            Some(mapping) => Ok(mapping.slice(at, there)),
            None => self.read(at, there.min(at_most), true).map(Some),
        }
    }

    /// Has the bytes read that are mapped and published from `at` on; `None` where there are none.
    pub(super) fn read_mapped<T>(&self, at: usize, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mapping = self.mapping.load();
        let bytes = mapping.as_ref()?.published_from(at)?;
        (!bytes.is_empty()).then(|| read(bytes))
    }

    /// Whether the bytes [at, at + length) are mapped and in memory.
    pub(super) fn is_resident(&self, at: usize, length: usize) -> bool {
        #[cfg(any(test, feature = "watch"))]
        if files::watch::before(files::watch::Act::ReadAtOnce, Some(&self.path)).is_err() {
            return false;
        }
        self.mapping.load().as_ref().is_some_and(|mapping| mapping.is_resident(at, length))
    }

    /// The bytes [at, at + length) of the file, in memory of their own: where the disk has an error it is one, which bytes of
    /// a mapping cannot say. `WouldBlock` when it may not wait for the disk and would.
    pub(super) fn read(&self, at: usize, length: usize, may_wait: bool) -> io::Result<Bytes> {
        let mut bytes = vec![0; length];
        if may_wait {
            files::read_exact_at(&self.file, &mut bytes, at as u64)?;
        } else {
            files::read_at_once(&self.file, &mut bytes, at as u64)?;
        }
        Ok(Bytes::from(bytes))
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.mapping.load().is_some()
    }

    pub(super) fn read_exact(&self, at: usize, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at as u64)
    }

    /// Writes the bytes [from, to) of the file to disk and waits for it.
    pub(super) fn sync(&self, from: usize, to: usize) -> io::Result<()> {
        match &*self.mapping.load() {
            Some(mapping) => files::sync_mapped(&self.file, mapping, from, to),
            None => files::sync(&self.file),
        }
    }

    /// Where data may stand from `at` on, passing over what the file system knows to be zeros.
    pub(super) fn next_data(&self, at: usize) -> io::Result<Option<usize>> {
        match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(at as u64)) {
            Ok(found) => Ok(usize::try_from(found).ok().filter(|found| *found < self.size)),
            Err(Errno::NXIO) => Ok(None),
            // a file system without such knowledge
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok((at < self.size).then_some(at)),
            Err(error) => Err(error.into()),
        }
    }

    /// Zeros everything from `at` on, on disk when this returns. The file must not be mapped.
    pub(super) fn clear_from(&self, at: usize) -> io::Result<()> {
        if at >= self.size {
            return Ok(());
        }
        files::zero(&self.file, at as u64, (self.size - at) as u64)?;
        files::sync(&self.file)
    }

    /// When the file was last written, as its file system says.
    pub(super) fn modified(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Removes the file from its directory, on disk when this returns: came it back without its neighbours, the log
    /// would have a hole. Those who read it go on reading.
    pub(super) fn delete(&self) -> io::Result<()> {
        match files::remove(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.path.parent().map_or(Ok(()), sync_directory),
        }
    }
}

/// Name of the file that starts at a physical offset.
pub(super) fn file_name(start: i64) -> String {
    format!("{start:020}")
}
