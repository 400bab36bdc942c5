//! The files `lock` and `abort` of a store (constants.md, section 8): who has it, and whether it was closed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Holds a store for this process.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock; `None` when somebody else has it.
    ///
    /// The reference locks the first byte for its process. An open-file-description lock meets that one, and
    /// also a second store in this process.
    pub(crate) fn take(root: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(root.join("lock"))?;
        let range = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 1,
            l_pid: 0,
        };
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&range)) {
            Ok(_) => {}
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        file.write_all_at(b"lock", 0)?;
        Ok(Some(Self { _file: file }))
    }
}

/// The mark of a store that is not closed.
#[derive(Debug)]
pub(crate) struct AbortMark {
    path: PathBuf,
}

impl AbortMark {
    pub(crate) fn new(root: &Path) -> Self {
        Self { path: root.join("abort") }
    }

    /// Whether the last owner did not close the store.
    pub(crate) fn is_set(&self) -> io::Result<bool> {
        self.path.try_exists()
    }

    /// Sets the mark, on disk when this returns.
    pub(crate) fn set(&self) -> io::Result<()> {
        let file = File::create(&self.path)?;
        file.write_all_at(std::process::id().to_string().as_bytes(), 0)?;
        file.sync_all()?;
        self.sync_directory()
    }

    /// Removes the mark: the store is closed.
    pub(crate) fn clear(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        self.sync_directory()
    }

    fn sync_directory(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(root) => File::open(root)?.sync_all(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let first = StoreLock::take(root.path()).unwrap().unwrap();
        assert!(StoreLock::take(root.path()).unwrap().is_none());
        assert_eq!(fs::read(root.path().join("lock")).unwrap(), b"lock");
        drop(first);
        assert!(StoreLock::take(root.path()).unwrap().is_some());
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
