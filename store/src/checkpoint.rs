//! The file `checkpoint`: how far log, queues and index were on disk (constants.md, section 8).
//!
//! | bytes | 64-bit number |
//! |---|---|
//! | 0 | store time of the log's last synced record, ms |
//! | 8 | of the queues', ms |
//! | 16 | of the index', ms |
//! | 24 | master's flushed offset |
//! | 32 | confirmed offset |
//! | 40 | physical offset of the last record in the queues |
//! | 64 | `apogee` 0 1: the next number is valid |
//! | 72 | physical offset of a record up to and with which log and queues are synced |
//! | 80 | the same, inverted |
//!
//! The reference knows nothing from 64 on and leaves it as it is. What it then says is too little, never too much: the log only grows.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::files;

/// The numbers of the checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Store time of the log's last synced record, ms.
    pub log_timestamp: i64,
    /// Store time of the last record whose queue unit is synced, ms.
    pub queue_timestamp: i64,
    /// Store time of the last record in a synced index file, ms.
    pub index_timestamp: i64,
    /// What the master had flushed.
    pub master_flushed: i64,
    /// What replicas had confirmed.
    pub confirmed: i64,
    /// Physical offset of the last record in the queues.
    pub dispatched_record: i64,
    /// Physical offset of a record up to and with which log and queues are synced; `None` in a store that only the
    /// reference wrote.
    pub synced_record: Option<i64>,
}

/// The checkpoint file.
#[derive(Debug)]
pub struct Checkpoint {
    file: File,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    positions: Positions,
    /// They are on disk. A kill leaves a file that reads so and may not be.
    is_written: bool,
}

impl Checkpoint {
    /// Opens the file in a store's root, or makes it with zeros. A short file counts as one with zeros behind.
    ///
    /// # Errors
    /// It cannot be read or made.
    pub fn open(root: &Path) -> io::Result<Self> {
        let path = root.join("checkpoint");
        let (file, positions) = open(&path).map_err(files::named(&path))?;
        Ok(Self { file, path, state: Mutex::new(State { positions, is_written: false }) })
    }

    /// The numbers as they are now.
    pub fn positions(&self) -> Positions {
        self.state.lock().positions
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says of nothing any more that it is on disk, until queues and log are synced the next time: before files are
    /// changed in a way that only a look at the whole log would put right.
    ///
    /// # Errors
    /// It is not on disk.
    pub fn withdraw(&self) -> io::Result<()> {
        self.update(|positions| {
            *positions = Positions {
                index_timestamp: positions.index_timestamp,
                master_flushed: positions.master_flushed,
                confirmed: positions.confirmed,
                ..Positions::default()
            };
        })
    }

    /// Changes numbers and brings them to disk, unless they are there already.
    ///
    /// # Errors
    /// They are not on disk; a later write brings them.
    pub fn update(&self, change: impl FnOnce(&mut Positions)) -> io::Result<()> {
        let mut state = self.state.lock();
        let before = state.positions;
        change(&mut state.positions);
        if state.is_written && state.positions == before {
            return Ok(());
        }
        state.is_written = false;
        files::write_all_at(&self.file, &state.positions.encode(), 0)?;
        files::sync(&self.file)?;
        state.is_written = true;
        Ok(())
    }
}

impl Positions {
    /// Reads the numbers of the store in `root` and changes nothing; `None` without a checkpoint. What is short counts as
    /// one with zeros behind.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(root: &Path) -> io::Result<Option<Self>> {
        let mut bytes = match std::fs::read(root.join("checkpoint")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        bytes.resize(HEAD.max(bytes.len()), 0);
        Ok(bytes.first_chunk().map(Self::decode))
    }

    /// Store time up to which log and queues are on disk, ms.
    pub fn synced_timestamp(&self) -> i64 {
        self.log_timestamp.min(self.queue_timestamp)
    }

    fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let numbers = [
            self.log_timestamp,
            self.queue_timestamp,
            self.index_timestamp,
            self.master_flushed,
            self.confirmed,
            self.dispatched_record,
        ];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        if let Some(record) = self.synced_record {
            bytes[64..72].copy_from_slice(MARK);
            bytes[72..80].copy_from_slice(&record.to_be_bytes());
            bytes[80..88].copy_from_slice(&(!record).to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; HEAD]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            i64::from_be_bytes(number)
        };
        let synced = (bytes[64..72] == *MARK && number(72) == !number(80)).then(|| number(72));
        Self {
            log_timestamp: number(0),
            queue_timestamp: number(8),
            index_timestamp: number(16),
            master_flushed: number(24),
            confirmed: number(32),
            dispatched_record: number(40),
            synced_record: synced.filter(|record| *record >= 0),
        }
    }
}

fn open(path: &Path) -> io::Result<(File, Positions)> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() < SIZE as u64 {
        file.set_len(SIZE as u64)?;
    }
    let mut bytes = [0; HEAD];
    file.read_exact_at(&mut bytes, 0)?;
    Ok((file, Positions::decode(&bytes)))
}

const SIZE: usize = 4096;
const HEAD: usize = 88;
const MARK: &[u8; 8] = b"apogee\0\x01";

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::files::watch::{Act, Answer, Watch, Watcher};

    /// Counts syncs, and refuses them for a while.
    #[derive(Default)]
    struct Syncs {
        count: AtomicUsize,
        refused: AtomicBool,
    }

    impl Watcher for Syncs {
        fn before(&self, act: Act<'_>, _: &Path) -> io::Result<Answer> {
            if matches!(act, Act::Sync { .. }) {
                self.count.fetch_add(1, Ordering::Relaxed);
                if self.refused.load(Ordering::Relaxed) {
                    return Err(io::Error::other("refused"));
                }
            }
            Ok(Answer::GoOn)
        }
    }

    #[test]
    fn what_is_on_disk_is_not_written_again() {
        let root = tempfile::tempdir().unwrap();
        let syncs = Arc::new(Syncs::default());
        let _watch = Watch::new(root.path(), Arc::clone(&syncs) as _);
        let checkpoint = Checkpoint::open(root.path()).unwrap();
        let update =
            |time| (checkpoint.update(|p| p.log_timestamp = time).is_ok(), syncs.count.load(Ordering::Relaxed));
        // the first time it may not be on disk
        assert_eq!([0, 0, 5, 5].map(update), [(true, 1), (true, 1), (true, 2), (true, 2)]);
        syncs.refused.store(true, Ordering::Relaxed);
        assert_eq!([6, 6].map(update), [(false, 3), (false, 4)]);
        // as it was once: what the refused write left is not known
        assert_eq!(update(5), (false, 5));
        syncs.refused.store(false, Ordering::Relaxed);
        assert_eq!([5, 5].map(update), [(true, 6), (true, 6)]);
    }

    #[test]
    fn numbers_are_where_the_layout_says_and_come_back() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Positions::read(root.path()).unwrap(), None);
        let checkpoint = Checkpoint::open(root.path()).unwrap();
        assert_eq!(checkpoint.positions(), Positions::default());
        let positions = Positions {
            log_timestamp: 1,
            queue_timestamp: 2,
            index_timestamp: 3,
            master_flushed: 4,
            confirmed: 5,
            dispatched_record: 6,
            synced_record: Some(0),
        };
        checkpoint.update(|p| *p = positions).unwrap();
        let bytes = std::fs::read(checkpoint.path()).unwrap();
        assert_eq!(bytes.len(), 4096);
        for (n, number) in bytes[..48].chunks(8).enumerate() {
            assert_eq!(number, (n as i64 + 1).to_be_bytes());
        }
        assert_eq!(Checkpoint::open(root.path()).unwrap().positions(), positions);
        assert_eq!(Positions::read(root.path()).unwrap(), Some(positions));
        checkpoint.withdraw().unwrap();
        let withdrawn = Positions { index_timestamp: 3, master_flushed: 4, confirmed: 5, ..Positions::default() };
        assert_eq!(Checkpoint::open(root.path()).unwrap().positions(), withdrawn);
    }

    #[test]
    fn damage_in_our_part_makes_it_unknown() {
        let root = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::open(root.path()).unwrap();
        checkpoint.update(|p| p.synced_record = Some(77)).unwrap();
        for at in 64..88 {
            let mut bytes = std::fs::read(checkpoint.path()).unwrap();
            bytes[at] ^= 4;
            std::fs::write(checkpoint.path(), &bytes).unwrap();
            assert_eq!(Checkpoint::open(root.path()).unwrap().positions().synced_record, None, "{at}");
            bytes[at] ^= 4;
            std::fs::write(checkpoint.path(), &bytes).unwrap();
        }
        std::fs::write(checkpoint.path(), [0; 10]).unwrap();
        assert_eq!(Positions::read(root.path()).unwrap(), Some(Positions::default()));
        assert_eq!(Checkpoint::open(root.path()).unwrap().positions(), Positions::default());
    }
}
