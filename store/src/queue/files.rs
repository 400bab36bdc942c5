//! The files of one consume queue, or of its extension: names, reading, writing, syncing.
//!
//! Places are in units from the first one the queue ever had.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::Layout;
use super::shared::Shared;
use crate::files::{
    first_byte, named, open_at_once, read_at_once, read_exact_at, remove, sync, sync_directory, write_all_at,
};

/// Where a queue's files are; what they hold is the queue's to know.
#[derive(Debug)]
pub(super) struct QueueFiles {
    directory: PathBuf,
    layout: Layout,
    shared: Arc<Shared>,
    /// Names this queue among the open files.
    serial: u64,
    /// A file was made whose name may not be on disk.
    has_new: AtomicBool,
}

impl QueueFiles {
    pub(super) fn new(directory: PathBuf, layout: Layout, shared: Arc<Shared>) -> Self {
        let serial = shared.next_serial();
        Self { directory, layout, shared, serial, has_new: AtomicBool::new(false) }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// First unit of the file that holds `unit`.
    pub(super) fn file_start(&self, unit: i64) -> i64 {
        unit - unit % self.layout.units_per_file
    }

    /// Path of the file that starts at unit `start`.
    pub(super) fn path(&self, start: i64) -> PathBuf {
        self.directory.join(format!("{:020}", start * self.layout.unit_size as i64))
    }

    /// The first units of the files in the directory, ascending; names that are none are passed over.
    ///
    /// # Errors
    /// The directory cannot be read, or a file is none of this size's.
    pub(super) fn list(&self) -> io::Result<Vec<(i64, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let Some(offset) = first_byte(&entry.file_name()) else { continue };
            let length = entry.metadata()?.len();
            let size = self.layout.file_size();
            if !(offset as u64).is_multiple_of(size) || length > size {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "{} ({length} bytes) is no consume queue file of {size} bytes: check {}",
                        entry.path().display(),
                        self.layout.key()
                    ),
                ));
            }
            files.push((offset / self.layout.unit_size as i64, length));
        }
        files.sort_unstable();
        Ok(files)
    }

    /// Reads units from `from` on, up to the end of their file; returns how many bytes. `WouldBlock` when it may not wait for
    /// the disk and would.
    pub(super) fn read(&self, from: i64, into: &mut [u8], may_wait: bool) -> io::Result<usize> {
        let start = self.file_start(from);
        let room = (start + self.layout.units_per_file - from) as usize * self.layout.unit_size;
        let length = into.len().min(room);
        let (into, at) = (&mut into[..length], ((from - start) as usize * self.layout.unit_size) as u64);
        if may_wait {
            let file = self.open(start, false)?;
            read_exact_at(&file, into, at)?;
        } else {
            let key = (self.serial, start);
            let path = || self.path(start);
            let file = self.shared.descriptors().get(key, || open_at_once(&path()).map_err(named(&path())))?;
            read_at_once(&file, into, at)?;
        }
        Ok(length)
    }

    /// Writes units from `at` on, up to the end of their file; returns how many units. `create`: the file may be new.
    pub(super) fn write(&self, at: i64, units: &[u8], create: bool) -> io::Result<i64> {
        let start = self.file_start(at);
        let room = (start + self.layout.units_per_file - at) as usize * self.layout.unit_size;
        let length = units.len().min(room);
        let file = self.open(start, create)?;
        write_all_at(&file, &units[..length], ((at - start) as usize * self.layout.unit_size) as u64)?;
        Ok((length / self.layout.unit_size) as i64)
    }

    /// Zeros everything in the file from `unit` on, so that nothing old shows up behind the end.
    pub(super) fn clear_from(&self, unit: i64) -> io::Result<()> {
        let start = self.file_start(unit);
        let file = self.open(start, false)?;
        file.set_len(((unit - start) as usize * self.layout.unit_size) as u64)?;
        file.set_len(self.layout.file_size())
    }

    /// Syncs the files that hold the units [from, to), and the names of new ones.
    pub(super) fn sync(&self, from: i64, to: i64) -> io::Result<()> {
        self.sync_files(from, to)?;
        self.directories_of_new().try_for_each(sync_names)
    }

    /// Syncs the files that hold the units [from, to). Their names may not be on disk: [`QueueFiles::directories_of_new`].
    pub(super) fn sync_files(&self, from: i64, to: i64) -> io::Result<()> {
        let mut start = self.file_start(from);
        while start < to {
            match self.open(start, false) {
                Ok(file) => sync(&file)?,
                // expired meanwhile
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            start += self.layout.units_per_file;
        }
        Ok(())
    }

    /// The directories that have to be synced for the names of files made since the last call: queue, topic, all topics.
    pub(super) fn directories_of_new(&self) -> impl Iterator<Item = &Path> {
        let directories = if self.has_new.swap(false, Ordering::AcqRel) { 3 } else { 0 };
        self.directory.ancestors().take(directories)
    }

    /// Removes a file.
    pub(super) fn remove(&self, start: i64) -> io::Result<()> {
        let removed = remove(&self.path(start));
        // afterwards: nobody can open it any more
        self.shared.descriptors().forget((self.serial, start));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn open(&self, start: i64, create: bool) -> io::Result<Arc<File>> {
        self.shared.descriptors().get((self.serial, start), || {
            let path = self.path(start);
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            if !create {
                return options.open(&path).map_err(named(&path));
            }
            fs::create_dir_all(&self.directory).map_err(named(&self.directory))?;
            let file = options.create(true).truncate(false).open(&path).map_err(named(&path))?;
            file.set_len(self.layout.file_size()).map_err(named(&path))?;
            // last: a sync that sees it finds the name
            self.has_new.store(true, Ordering::Release);
            Ok(file)
        })
    }
}

/// Brings the names in a directory of queues to disk.
pub(super) fn sync_names(directory: &Path) -> io::Result<()> {
    match sync_directory(directory) {
        // deleted meanwhile
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}
