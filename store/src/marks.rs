//! The files `lock` and `abort` of a store (constants.md, section 8): who has it, and whether it was closed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::files::{self, sync_directory};

/// Holds a store for this process.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

impl StoreLock {
    /// Takes the lock; `None` when somebody else has it.
    ///
    /// The reference locks the first byte for its process. An open-file-description lock meets that one, and
    /// also a second store in this process.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub fn take(root: &Path) -> io::Result<Option<Self>> {
        let path = root.join("lock");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(files::named(&path))?;
        Ok(lock(&file, libc::F_WRLCK)?.then_some(Self { file }))
    }

    /// Writes the file, as the reference does at each start: who had the store before can tell that it went to another. Who
    /// gets it back from itself leaves the file as it is, so that no start that came to nothing is taken for somebody else's.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn claim(&self) -> io::Result<()> {
        self.file.write_all_at(b"lock", 0)
    }

    /// When the store last went to another, ns since 1970.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub fn taken_at(&self) -> io::Result<i64> {
        let metadata = self.file.metadata()?;
        Ok(metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()))
    }

    /// Holds the store for reading, together with others who read; nothing is written. `None` when a broker has it.
    ///
    /// # Errors
    /// There is no lock file ([`io::ErrorKind::NotFound`]: no broker ever had the store), or its file system has no locks.
    pub fn share(root: &Path) -> io::Result<Option<Self>> {
        let file = File::open(root.join("lock"))?;
        Ok(lock(&file, libc::F_RDLCK)?.then_some(Self { file }))
    }
}

/// Locks the first byte of a file, unless somebody else has it.
fn lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    let range = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&range)) {
        Ok(_) => Ok(true),
        Err(nix::Error::EAGAIN | nix::Error::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The mark of a store that is not closed.
#[derive(Debug)]
pub struct AbortMark {
    path: PathBuf,
}

impl AbortMark {
    /// That of the store in a directory (storePathRootDir).
    pub fn new(root: &Path) -> Self {
        Self { path: root.join("abort") }
    }

    /// Whether the last owner did not close the store.
    pub fn is_set(&self) -> io::Result<bool> {
        self.path.try_exists()
    }

    /// Sets the mark, on disk when this returns.
    pub fn set(&self) -> io::Result<()> {
        let written = File::create(&self.path).and_then(|file| {
            files::write_all_at(&file, std::process::id().to_string().as_bytes(), 0)?;
            files::sync(&file)
        });
        written.map_err(files::named(&self.path))?;
        self.sync_directory()
    }

    /// Removes the mark: the store is closed.
    pub fn clear(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        self.sync_directory()
    }

    fn sync_directory(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(root) => sync_directory(root),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_second_owner_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let first = StoreLock::take(root.path()).unwrap().unwrap();
        assert!(StoreLock::take(root.path()).unwrap().is_none());
        assert!(StoreLock::share(root.path()).unwrap().is_none());
        drop(first);
        let readers = [(); 2].map(|()| StoreLock::share(root.path()).unwrap().unwrap());
        assert!(StoreLock::take(root.path()).unwrap().is_none());
        drop(readers);
        assert!(StoreLock::take(root.path()).unwrap().is_some());
    }

    #[test]
    fn a_claim_alone_changes_the_time() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let first = StoreLock::take(root.path()).unwrap().unwrap();
        first.claim().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"lock");
        let long_ago = UNIX_EPOCH + Duration::from_nanos(1_000_000_007);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        drop(first);
        let second = StoreLock::take(root.path()).unwrap().unwrap();
        assert_eq!(second.taken_at().unwrap(), 1_000_000_007);
        second.claim().unwrap();
        assert!(second.taken_at().unwrap() > 1_000_000_007);
    }

    #[test]
    fn the_mark_tells_the_process() {
        let root = tempfile::tempdir().unwrap();
        let mark = AbortMark::new(root.path());
        assert!(!mark.is_set().unwrap());
        mark.set().unwrap();
        assert!(mark.is_set().unwrap());
        assert_eq!(fs::read_to_string(root.path().join("abort")).unwrap(), std::process::id().to_string());
        mark.clear().unwrap();
        assert!(!mark.is_set().unwrap());
    }
}
