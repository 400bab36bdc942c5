//! Zeros written ahead of an appender whose messages are synced.
//!
//! Space that was allocated and never written is marked so in the file system: the first sync of each part takes that mark
//! away, on disk, too (and through the journal, where there is one), which costs more than writing the data. Once zeros stand
//! there a sync is nothing but the data.
//!
//! Zeros must never come over a record. All before the granted position is the appender's; zeros are written only behind it, under
//! the lock that it is moved with.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::files;
use crate::mapping::Mapping;

/// How far the log is the appender's.
#[derive(Debug)]
pub(super) struct Granted {
    position: AtomicI64,
    moving: Mutex<()>,
}

/// A file that zeros are written to.
#[derive(Debug)]
pub(super) struct Zeros {
    /// Opened for this: the system tells each opening of a file once of what could not be written. Those who bring records to
    /// disk hear of it, too, whatever this one heard.
    file: File,
    mapping: Arc<Mapping>,
    start: i64,
}

impl Granted {
    /// Everything is the appender's.
    pub(super) fn new() -> Self {
        Self { position: AtomicI64::new(i64::MAX), moving: Mutex::default() }
    }

    /// The appender is at a position, and zeros may be written ahead of it, or nowhere. Only while it does not append.
    pub(super) fn set(&self, position: Option<i64>) {
        let _moving = self.moving.lock();
        self.position.store(position.unwrap_or(i64::MAX), Ordering::Release);
    }

    /// The appender is about to write up to `end`. Costs a load while the zeros are ahead of it.
    #[inline]
    pub(super) fn claim(&self, end: i64) {
        if end > self.position.load(Ordering::Acquire) {
            self.claim_more(end);
        }
    }

    #[cold]
    fn claim_more(&self, end: i64) {
        let _moving = self.moving.lock();
        // zeros a little further on, or both would meet again at once
        self.position.fetch_max(end.saturating_add(GAP) & !(PART - 1), Ordering::AcqRel);
    }

    /// Writes the zeros of a part that is nobody's and gives it to the appender; says which part, of those before `to`.
    fn zero_part(&self, zeros: &Zeros, to: i64) -> io::Result<Option<(i64, i64)>> {
        let _moving = self.moving.lock();
        let from = self.position.load(Ordering::Acquire).max(zeros.start);
        if from >= to {
            return Ok(None);
        }
        let end = to.min((from + PART) & !(PART - 1));
        files::write_all_at(&zeros.file, &ZEROS[..(end - from) as usize], (from - zeros.start) as u64)?;
        self.position.store(end, Ordering::Release);
        Ok(Some((from, end)))
    }
}

impl Zeros {
    /// Those of the log's file that starts at `start`.
    pub(super) fn open(path: &Path, start: i64, size: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let (mapping, _) = Mapping::new(&file, size, 0)?;
        Ok(Self { file, mapping, start })
    }

    /// Where the file starts.
    pub(super) fn start(&self) -> i64 {
        self.start
    }

    /// Writes zeros ahead of the appender as far as `to`, an offset in the file, and brings them to disk.
    pub(super) fn write(&self, granted: &Granted, to: usize) -> io::Result<()> {
        let to = self.start + to as i64;
        let mut unsynced: Option<(i64, i64)> = None;
        loop {
            let part = granted.zero_part(self, to)?;
            if let Some((from, end)) = unsynced
                && part.is_none_or(|(_, end)| end - from >= SYNCED)
            {
                // few at a time: a sync of records waits for what the disk has to do already
                self.mapping.sync((from - self.start) as usize, (end - self.start) as usize)?;
                unsynced = None;
            }
            let Some((from, end)) = part else { return Ok(()) };
            unsynced = Some((unsynced.map_or(from, |(from, _)| from), end));
        }
    }
}

/// Bytes written at once: the kernel makes a folio of them. Where it is smaller a sync has more of them to write, where it is
/// larger each append takes longer to find its place.
const PART: i64 = 64 << 10;
/// Zeros begin so far ahead of an appender that was faster.
const GAP: i64 = 4 * PART;
/// Bytes brought to disk at once.
const SYNCED: i64 = 1 << 20;
static ZEROS: [u8; PART as usize] = [0; PART as usize];

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    const SIZE: usize = 3 << 20;

    #[test]
    fn zeros_never_come_over_what_is_the_appenders() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        // what is not zeroed shows
        std::fs::write(&path, vec![7; SIZE]).unwrap();
        let start = 10 * SIZE as i64;
        let (granted, zeros) = (Granted::new(), Zeros::open(&path, start, SIZE).unwrap());
        let content = || std::fs::read(&path).unwrap();
        zeros.write(&granted, SIZE).unwrap();
        assert!(content().iter().all(|byte| *byte == 7), "nothing is asked for");
        granted.set(Some(start + 5));
        granted.claim(start + 100);
        zeros.write(&granted, SIZE / 2).unwrap();
        let appenders = GAP as usize;
        let expected = |n: usize| if (appenders..SIZE / 2).contains(&n) { 0 } else { 7 };
        assert!(content().iter().enumerate().all(|(n, byte)| *byte == expected(n)));
        // both at once, each record where the last one ended
        let record = [9; 1301];
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| zeros.write(&granted, SIZE).unwrap()));
            let mut at = 0;
            while at + record.len() <= SIZE {
                granted.claim(start + (at + record.len()) as i64);
                zeros.file.write_all_at(&record, at as u64).unwrap();
                at += record.len();
            }
        });
        assert!(content()[..SIZE / 1301 * 1301].iter().all(|byte| *byte == 9));
    }
}
