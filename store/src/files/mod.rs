//! What the store asks of files that a disk may refuse: space, writing, syncing.
//!
//! Everything goes through here, so that tests can stand between the store and its disk (`watch.rs`).

#[cfg(any(test, feature = "watch"))]
pub mod watch;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, ResolveFlags, fallocate, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::mapping::Mapping;

/// Adds the name of the file to what the system said.
pub(crate) fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The place of the first byte of a file of the log or of a queue, which its name says in 20 digits. Names beyond half of the
/// range are none, so that no sum with sizes leaves it.
pub fn first_byte(name: &OsStr) -> Option<i64> {
    let name = name.to_str().filter(|name| name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit()))?;
    name.parse().ok().filter(|start| *start <= i64::MAX / 2)
}

/// Whether there is no room, for anybody or for who runs this.
pub(crate) fn is_full_disk(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Writes bytes at a place of a file.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::Write, watch::path_of(file).as_deref())?;
    file.write_all_at(bytes, at)
}

/// Fills a buffer from a place of a file. It may wait for the disk.
pub(crate) fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::Read, watch::path_of(file).as_deref())?;
    file.read_exact_at(into, at)
}

/// The same where the kernel has all of it in memory; `WouldBlock` where the disk would be waited for. A file system that
/// cannot tell is read.
pub(crate) fn read_at_once(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::ReadAtOnce, watch::path_of(file).as_deref())?;
    match preadv2(file, &mut [IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT) {
        Ok(read) if read == into.len() => Ok(()),
        Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => file.read_exact_at(into, at),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file to read and write it where the kernel knows it without the disk; `WouldBlock` where it does not.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::ReadAtOnce, Some(path))?;
    match openat2(CWD, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::CACHED) {
        Ok(file) => Ok(file.into()),
        Err(Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        // a kernel that cannot tell, or that says better what is wrong
        Err(_) => OpenOptions::new().read(true).write(true).open(path),
    }
}

/// Brings a file to disk: its content and its length.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    if watch::before(watch::Act::Sync { file, from: 0, to: usize::MAX }, watch::path_of(file).as_deref())?.is_done() {
        return Ok(());
    }
    file.sync_data()
}

/// Brings the bytes [from, to) of a mapped file to disk. `file` is the one that is mapped.
pub(crate) fn sync_mapped(file: &File, mapping: &Mapping, from: usize, to: usize) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    if watch::before(watch::Act::Sync { file, from, to }, watch::path_of(file).as_deref())?.is_done() {
        return Ok(());
    }
    #[cfg(not(any(test, feature = "watch")))]
    let _ = file;
    mapping.sync(from, to)
}

/// Removes a file from its directory.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::Remove, Some(path))?;
    fs::remove_file(path)
}

/// Brings the names in a directory to disk: those that were added and those that went.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    if watch::before(watch::Act::SyncDirectory, Some(path))?.is_done() {
        return Ok(());
    }
    File::open(path)?.sync_all()
}

/// Makes a directory and those it is in, where they are missing; their names are on disk when this returns.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_directories(parent)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.and_then(|()| sync_directory(parent.unwrap_or(Path::new(".")))),
    }
}

/// Allocates space without changing what is there; the file reaches at least to the end of the range. Nobody else writes it
/// meanwhile.
pub(crate) fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate_watched(file, offset, length) {
        // without the call only written space is allocated
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::OPNOTSUPP | Errno::NOSYS)) => {
            let end = file.metadata()?.len();
            let there = end.clamp(offset, offset + length);
            write_holes(file, offset, there)?;
            write_zeros(file, there, offset + length - there)
        }
        allocated => allocated,
    }
}

fn fallocate_watched(file: &File, offset: u64, length: u64) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::Allocate, watch::path_of(file).as_deref())?;
    Ok(fallocate(file, FallocateFlags::empty(), offset, length)?)
}

/// Writes zeros where zeros stand in [from, to): there may be holes. What is something else has its space already.
fn write_holes(file: &File, from: u64, to: u64) -> io::Result<()> {
    let mut bytes = vec![0; PART];
    let mut at = from;
    while at < to {
        let part = &mut bytes[..PART.min((to - at) as usize)];
        file.read_exact_at(part, at)?;
        // most of a file is one hole
        let step = if is_zero(part) { PART } else { SECTOR };
        for (n, bytes) in part.chunks(step).enumerate().filter(|(_, bytes)| is_zero(bytes)) {
            file.write_all_at(bytes, at + (n * step) as u64)?;
        }
        at += part.len() as u64;
    }
    Ok(())
}

/// Zeros a range of a file, its space allocated.
pub(crate) fn zero(file: &File, offset: u64, length: u64) -> io::Result<()> {
    #[cfg(any(test, feature = "watch"))]
    watch::before(watch::Act::Write, watch::path_of(file).as_deref())?;
    match fallocate(file, FallocateFlags::ZERO_RANGE, offset, length) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, offset, length),
        Err(error) => Err(error.into()),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn write_zeros(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let zeros = vec![0; PART];
    let mut written = 0;
    while written < length {
        let part = zeros.len().min((length - written) as usize);
        file.write_all_at(&zeros[..part], offset + written)?;
        written += part as u64;
    }
    Ok(())
}

/// Bytes read or written at once.
const PART: usize = 1 << 20;
/// No file system has smaller holes, bytes.
const SECTOR: usize = 512;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    use super::*;
    use watch::{Act, Answer, Watch, Watcher};

    /// A file system that cannot allocate.
    struct Plain;

    impl Watcher for Plain {
        fn before(&self, act: Act<'_>, _: &Path) -> io::Result<Answer> {
            if matches!(act, Act::Allocate) { Err(Errno::OPNOTSUPP.into()) } else { Ok(Answer::GoOn) }
        }
    }

    /// Writing into a hole of a full disk that is mapped would kill the process.
    #[test]
    fn a_file_has_no_holes_where_the_file_system_cannot_allocate() {
        let root = tempfile::tempdir().unwrap();
        let _watch = Watch::new(root.path(), Arc::new(Plain));
        let length = 3 * PART as u64;
        for (name, there) in [("new", 0), ("short", length / 2 + 100), ("sparse", length)] {
            let path = root.path().join(name);
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
            file.set_len(there).unwrap();
            let mut content = vec![0; length as usize];
            for at in [9000, PART - 3].into_iter().filter(|at| (*at as u64) < there) {
                content[at..at + 5].copy_from_slice(b"there");
                file.write_all_at(b"there", at as u64).unwrap();
            }
            for from in [9000, 0] {
                allocate(&file, from, length - from).unwrap();
                assert!(file.metadata().unwrap().blocks() * 512 >= length - from, "{name} from {from}");
            }
            assert_eq!(fs::read(&path).unwrap(), content, "{name}");
        }
    }

    #[test]
    fn directories_are_made_where_they_are_missing() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        for _ in 0..2 {
            create_directories(&deep).unwrap();
            assert!(deep.is_dir());
        }
        fs::write(root.path().join("file"), "").unwrap();
        for refused in ["file", "file/a"] {
            assert!(create_directories(&root.path().join(refused)).is_err(), "{refused}");
        }
    }
}
