//! Files mapped into memory: the one file of this repository with `unsafe` in it.
//!
//! A mapping has one [`Writer`] that fills it from a position on, and any number of readers. Bytes below the published
//! position never change again, so readers share them without a copy; bytes above belong to the writer alone.
//!
//! What the types cannot promise: the file is not changed or cut short by others. The store's lock keeps
//! other brokers away, a file is mapped for writing once at a time, and its space is allocated before.
#![allow(unsafe_code, reason = "raw mapped memory is shared between the writer and its readers")]

use std::fs::File;
use std::io;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use bytes::Bytes;
use memmap2::{Advice, MmapOptions, MmapRaw};

use crate::files;

/// A whole file in memory, readable up to its published position.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapRaw,
    published: AtomicUsize,
}

/// Fills a mapping. There is one for each mapping, so what lies above the published position is its own.
#[derive(Debug)]
pub(crate) struct Writer {
    mapping: Arc<Mapping>,
    /// Where the next byte goes; at or above the published position.
    position: usize,
}

/// Room in a mapping that a writer left.
#[derive(Debug)]
pub(crate) struct Reserved {
    mapping: Arc<Mapping>,
    from: usize,
    to: usize,
}

impl Mapping {
    /// Maps a file of exactly `length` bytes. The first `published` can be read, the rest is the writer's.
    ///
    /// # Errors
    /// The file has another length (reading behind the end of a file would kill the process), or it cannot be mapped.
    pub(crate) fn new(file: &File, length: usize, published: usize) -> io::Result<(Arc<Self>, Writer)> {
        let found = file.metadata()?.len();
        if found != length as u64 || published > length {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the file has {found} bytes where {length} are expected"),
            ));
        }
        let map = MmapOptions::new().len(length).map_raw(file)?;
        let mapping = Arc::new(Self { map, published: AtomicUsize::new(published) });
        let writer = Writer { mapping: Arc::clone(&mapping), position: published };
        Ok((mapping, writer))
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// How many bytes can be read.
    pub(crate) fn published(&self) -> usize {
        self.published.load(Ordering::Acquire)
    }

    /// The bytes [at, at + length) without a copy; they keep the mapping alive, also when the file is deleted. `None`
    /// when not all of them are published.
    pub(crate) fn slice(self: &Arc<Self>, at: usize, length: usize) -> Option<Bytes> {
        let end = at.checked_add(length)?;
        if end > self.published() {
            return None;
        }
        Some(Bytes::from_owner(Published { mapping: Arc::clone(self), at, length }))
    }

    /// All published bytes from `at` on.
    pub(crate) fn published_from(&self, at: usize) -> Option<&[u8]> {
        let length = self.published().checked_sub(at)?;
        // SAFETY: [at, at + length) lies below the published position, so within the mapping, which lives as long as `self`.
        // The acquire load of that position orders the writer's copy before this, and nothing writes below it.
        Some(unsafe { slice::from_raw_parts(self.map.as_mut_ptr().add(at).cast_const(), length) })
    }

    /// Writes the bytes [from, to) to disk and waits for it.
    ///
    /// # Errors
    /// The disk refused: the bytes count as lost, as a second attempt may succeed without writing them.
    pub(crate) fn sync(&self, from: usize, to: usize) -> io::Result<()> {
        self.map.flush_range(from, to - from)
    }

    /// Tells the kernel whether to read ahead of what is read in [from, to): not where readers jump.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn set_read_ahead(&self, from: usize, to: usize, read_ahead: bool) -> io::Result<()> {
        self.map.advise_range(if read_ahead { Advice::Normal } else { Advice::Random }, from, to - from)
    }

    /// Whether the kernel has all of [at, at + length) in memory, so that reading it does not wait for the disk.
    pub(crate) fn is_resident(&self, at: usize, length: usize) -> bool {
        let page = rustix::param::page_size();
        let end = at.saturating_add(length).min(self.len());
        let mut states = [0_u8; PAGES];
        let mut from = at - at % page;
        while from < end {
            let to = end.min(from + PAGES * page);
            // SAFETY: [from, to) lies within the mapping, which lives as long as `self`, `from` is a multiple of the page
            // size as the mapping's address is, and `states` has a byte for each of its pages. Only `states` is written.
            let asked =
                unsafe { libc::mincore(self.map.as_mut_ptr().add(from).cast(), to - from, states.as_mut_ptr()) };
            if asked != 0 || states[..(to - from).div_ceil(page)].iter().any(|state| state & 1 == 0) {
                return false;
            }
            from = to;
        }
        true
    }

    /// Makes the pages of [from, to) present and writable, so that writing them does not fault. Contents stay.
    ///
    /// Few at a time: the kernel holds the lock of this process's memory meanwhile. Another thread whose heap grows waits
    /// for that, and behind it every thread that touches a new page, however long the kernel has to look for free memory.
    ///
    /// # Errors
    /// The kernel is older than 5.14, or has no memory or disk space to give.
    pub(crate) fn populate(&self, from: usize, to: usize) -> io::Result<()> {
        let mut steps = (from..to).step_by(STEP);
        steps.try_for_each(|at| self.map.advise_range(Advice::PopulateWrite, at, STEP.min(to - at)))
    }
}

impl Writer {
    /// The mapping this writes.
    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Where the next byte goes.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    pub(crate) fn room(&self) -> usize {
        self.mapping.len() - self.position
    }

    /// Copies a record to the position and moves it. It is not readable before [`Writer::publish`].
    ///
    /// Its size and magic come last: of a record during whose copy the process is killed, recovery finds nothing.
    ///
    /// # Panics
    /// There is no room for it.
    pub(crate) fn write(&mut self, record: &[u8]) {
        assert!(record.len() <= self.room(), "a record was given to a file without room for it");
        let (head, rest) = record.split_at(record.len().min(HEAD));
        self.copy(self.position + head.len(), rest);
        fence(Ordering::Release);
        self.copy(self.position, head);
        self.position += record.len();
    }

    /// Leaves room for a record that comes by a system call, by way of [`Writer::reserved`]: nothing is published before that.
    ///
    /// # Panics
    /// There is no room for it.
    pub(crate) fn reserve(&mut self, length: usize) {
        assert!(length <= self.room(), "a record was given to a file without room for it");
        self.position += length;
    }

    /// The room of the last `length` bytes before the position.
    pub(crate) fn reserved(&self, length: usize) -> Reserved {
        Reserved { mapping: Arc::clone(&self.mapping), from: self.position - length, to: self.position }
    }

    fn copy(&mut self, at: usize, bytes: &[u8]) {
        assert!(at >= self.position && at + bytes.len() <= self.mapping.len(), "bytes are copied into the file only");
        // SAFETY: [at, at + len) lies within the mapping (checked above), which lives as long as `self`. It
        // lies above the published position, below which all readers' slices are, and this is the only writer.
        // `bytes` cannot overlap it, as no reference to unpublished bytes is ever given out.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.mapping.map.as_mut_ptr().add(at), bytes.len());
        }
    }

    /// Leaves the rest of the file as it is: zeros.
    pub(crate) fn skip_rest(&mut self) {
        self.position = self.mapping.len();
    }

    /// Lets readers see everything written so far.
    pub(crate) fn publish(&mut self) {
        self.mapping.published.store(self.position, Ordering::Release);
    }
}

impl Reserved {
    /// Writes the bytes by a system call to the file that is mapped, and lets readers see them: the kernel has those of both in
    /// the same memory.
    ///
    /// A kill may cut it at a page: behind the cut there are zeros.
    ///
    /// # Errors
    /// The file cannot be written. A part of the bytes may stand there, which nobody sees.
    ///
    /// # Panics
    /// They are not as many as there is room for, or what is before them has not been filled.
    pub(crate) fn fill(self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let Self { mapping, from, to } = self;
        assert!(bytes.len() == to - from && mapping.published() == from, "rooms are filled in their order");
        files::write_all_at(file, bytes, from as u64)?;
        mapping.published.store(to, Ordering::Release);
        Ok(())
    }
}

/// Published bytes of a mapping that stays as long as they are used.
struct Published {
    mapping: Arc<Mapping>,
    at: usize,
    length: usize,
}

impl AsRef<[u8]> for Published {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `Mapping::slice` checked that [at, at + length) lies below the published position, so within the
        // mapping, which `self` keeps alive. The acquire load of that position orders the writer's copy before this. Nothing
        // writes below it: `Writer::position` starts at it, never goes below it, and there is one writer.
        unsafe { slice::from_raw_parts(self.mapping.map.as_mut_ptr().add(self.at).cast_const(), self.length) }
    }
}

/// Bytes made present at a time.
const STEP: usize = 256 << 10;
/// Pages that the kernel is asked about at a time: a pull reads fewer.
const PAGES: usize = 128;
/// Bytes of a record's size and magic.
const HEAD: usize = 8;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::thread;

    use super::*;

    fn file(length: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        file
    }

    #[test]
    fn only_published_bytes_are_read() {
        let file = file(100);
        let (mapping, mut writer) = Mapping::new(&file, 100, 0).unwrap();
        writer.write(b"hello");
        assert!(mapping.slice(0, 5).is_none());
        writer.publish();
        let bytes = mapping.slice(1, 4).unwrap();
        assert!(mapping.slice(1, 5).is_none() && mapping.slice(usize::MAX, 2).is_none());
        assert_eq!(mapping.published_from(2), Some(&b"llo"[..]));
        assert_eq!((mapping.published_from(5), mapping.published_from(6)), (Some(&b""[..]), None));
        assert_eq!((writer.position(), writer.room()), (5, 95));
        mapping.sync(0, 5).unwrap();
        drop((mapping, writer, file));
        assert_eq!(bytes, "ello");
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn what_was_just_written_is_resident() {
        let length = 3 * PAGES * rustix::param::page_size() - 5;
        let file = file(length as u64);
        let (mapping, mut writer) = Mapping::new(&file, length, 0).unwrap();
        writer.write(&vec![1; length]);
        writer.publish();
        for (at, size) in [(0, length), (1, 1), (4095, 2), (length - 1, 1), (length, 0)] {
            assert!(mapping.is_resident(at, size), "{at} {size}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "writes the file beside its mapping")]
    fn what_is_written_by_file_is_in_the_mapping() {
        let length = 40_000;
        let file = file(length as u64);
        let (mapping, mut writer) = Mapping::new(&file, length, 0).unwrap();
        let mut expected = Vec::new();
        // within a page, to its end, over it, over several; the last ones together
        let sizes = [1000, 3096, 4092, 700, 9000, 3, 5000];
        for (n, size) in sizes.into_iter().enumerate() {
            expected.extend(vec![n as u8 + 1; size]);
            writer.reserve(size);
            if n < 5 {
                writer.reserved(size).fill(&file, &expected[expected.len() - size..]).unwrap();
            }
        }
        assert_eq!((mapping.published(), writer.position()), (expected.len() - 5003, expected.len()));
        writer.reserved(5003).fill(&file, &expected[expected.len() - 5003..]).unwrap();
        assert_eq!((mapping.published(), &*mapping.slice(0, expected.len()).unwrap()), (expected.len(), &*expected));
    }

    #[test]
    #[should_panic(expected = "in their order")]
    fn room_behind_room_that_is_empty_is_not_filled() {
        let file = file(100);
        let (_, mut writer) = Mapping::new(&file, 100, 0).unwrap();
        writer.reserve(10);
        let _ = writer.reserved(5).fill(&file, b"later");
    }

    #[test]
    fn a_file_of_another_length_is_refused() {
        for length in [0, 99, 101] {
            let refused = Mapping::new(&file(length), 100, 0).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        }
    }

    /// What the file holds at any moment is what a kill at that moment leaves.
    #[test]
    #[cfg_attr(miri, ignore = "reads the file beside its mapping")]
    fn a_record_shows_its_head_when_the_rest_is_there() {
        const RECORD: usize = 1 << 20;
        let file = file(32 * RECORD as u64);
        let (_mapping, mut writer) = Mapping::new(&file, 32 * RECORD, 0).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let at = |place| {
                    let mut seen = [0; HEAD];
                    file.read_exact_at(&mut seen, place as u64).unwrap();
                    seen
                };
                for record in (0..32).map(|n| n * RECORD) {
                    while at(record) == [0; HEAD] {}
                    // the end first: it would be copied last
                    for place in [RECORD - HEAD, RECORD / 2, HEAD, 0] {
                        assert_eq!(at(record + place), [7; HEAD], "{record} {place}");
                    }
                }
            });
            let record = vec![7; RECORD];
            while writer.room() > 0 {
                writer.write(&record);
            }
        });
    }

    #[test]
    #[should_panic(expected = "without room")]
    fn nothing_is_written_behind_the_end() {
        let (_, mut writer) = Mapping::new(&file(4096), 4096, 4090).unwrap();
        writer.write(&[1; 7]);
    }

    #[test]
    fn readers_on_other_threads_see_whole_writes() {
        let file = file(1 << 16);
        let (mapping, mut writer) = Mapping::new(&file, 1 << 16, 0).unwrap();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while mapping.published() < 1 << 16 {
                        let published = mapping.published();
                        let bytes = mapping.slice(0, published).unwrap();
                        assert_eq!(published % 16, 0);
                        assert!(bytes.iter().all(|byte| *byte == 7));
                    }
                });
            }
            while writer.room() > 0 {
                writer.write(&[7; 16]);
                writer.publish();
            }
        });
    }
}
