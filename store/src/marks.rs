//! The files `lock` and `abort` of a store (constants.md, section 8): who has it, and whether it was closed.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
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
        Ok(set_lock(&file, libc::F_WRLCK)?.then(|| Self { file }))
    }

    /// Writes a number of its own into the file, and gives it. The reference writes `lock` over it at each start, so who had
    /// the store before can tell that it went to another, and a copy says the same. Who gets it back from itself leaves the
    /// file as it is: no start that came to nothing is taken for somebody else's.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn claim(&self) -> io::Result<u64> {
        let claim = RandomState::new().hash_one(()) | OURS;
        self.file.write_all_at(&claim.to_be_bytes(), 0)?;
        Ok(claim)
    }

    /// The number of who claimed the store last; `None` when that was the reference, or nobody.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn claimed(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; 8];
        match self.file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|()| Some(u64::from_be_bytes(bytes)).filter(|claim| claim & OURS != 0)),
        }
    }

    /// Holds the store for reading, together with others who read; nothing is written. `None` when a broker has it.
    ///
    /// # Errors
    /// There is no lock file ([`io::ErrorKind::NotFound`]: no broker ever had the store), or its file system has no locks.
    pub fn share(root: &Path) -> io::Result<Option<Self>> {
        let file = File::open(root.join("lock"))?;
        Ok(set_lock(&file, libc::F_RDLCK)?.then(|| Self { file }))
    }
}

impl Drop for StoreLock {
    /// Closing the file alone would leave the lock with a program that is being started meanwhile: until it runs, it has the
    /// files of who starts it.
    fn drop(&mut self) {
        // Should it fail, the lock goes with the last copy of the file.
        let _ = set_lock(&self.file, libc::F_UNLCK);
    }
}

/// A bit of every number of a claim, and not of `lock`.
const OURS: u64 = 1 << 63;

/// Sets the lock that this open file has on its first byte, or takes it away (`F_UNLCK`). Says whether nobody else had it.
fn set_lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
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

    /// Sets the mark, on disk when this returns. On a full disk it is empty: it stands for the same, and who has a store may
    /// read it.
    pub fn set(&self) -> io::Result<()> {
        let written = File::create(&self.path).and_then(|file| {
            match files::write_all_at(&file, std::process::id().to_string().as_bytes(), 0) {
                Err(error) if files::is_full_disk(&error) => {}
                written => written?,
            }
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

    /// A program that is being started has the owner's files, too.
    #[test]
    fn a_lock_ends_with_its_owner_though_the_file_is_open() {
        let root = tempfile::tempdir().unwrap();
        for hold in [StoreLock::take, StoreLock::share] {
            let owner = hold(root.path()).unwrap().unwrap();
            let _inherited = owner.file.try_clone().unwrap();
            drop(owner);
            assert!(StoreLock::take(root.path()).unwrap().is_some());
        }
    }

    #[test]
    fn a_claim_lasts_until_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let take = || StoreLock::take(root.path()).unwrap().unwrap();
        assert_eq!(take().claimed().unwrap(), None);
        let first = take().claim().unwrap();
        // as a copy that keeps no times
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        assert_eq!(take().claimed().unwrap(), Some(first));
        assert_ne!(take().claim().unwrap(), first);
        // the reference
        File::options().write(true).open(&path).unwrap().write_all_at(b"lock", 0).unwrap();
        assert_eq!(take().claimed().unwrap(), None);
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
