//! Open descriptors of consume queue files, bounded over all queues.
//!
//! Ten thousand queues have ten thousand files, of which a process may hold few open. A file is opened
//! when it is needed and stays open until the bound asks for its place; files used since the last round
//! of the hand get a second chance.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

/// Names a file: serial number of the queue, first unit in the file.
pub(super) type FileKey = (u64, i64);

/// The open files.
#[derive(Debug)]
pub(super) struct Descriptors {
    capacity: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    files: HashMap<FileKey, Entry>,
    hand: VecDeque<FileKey>,
    /// How often files were given up.
    forgotten: u64,
}

#[derive(Debug)]
struct Entry {
    file: Arc<File>,
    used: bool,
}

impl Descriptors {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), open: Mutex::default() }
    }

    /// The file, opened by `open` when it is not yet. Who gets it may use it after it lost its place.
    pub(super) fn get(&self, key: FileKey, open: impl FnOnce() -> io::Result<File>) -> io::Result<Arc<File>> {
        let forgotten = {
            let mut open = self.open.lock();
            if let Some(entry) = open.files.get_mut(&key) {
                entry.used = true;
                return Ok(Arc::clone(&entry.file));
            }
            open.forgotten
        };
        // opened without the lock: other queues go on meanwhile
        let file = Arc::new(open()?);
        let mut open = self.open.lock();
        // one that was deleted meanwhile must not be taken for the next of its name
        if open.forgotten == forgotten {
            open.insert(key, &file, self.capacity);
        }
        Ok(file)
    }

    /// Gives up a file that was deleted.
    pub(super) fn forget(&self, key: FileKey) {
        let mut open = self.open.lock();
        open.forgotten += 1;
        if open.files.remove(&key).is_some() {
            open.hand.retain(|other| *other != key);
        }
    }

    #[cfg(test)]
    pub(super) fn open_files(&self) -> usize {
        self.open.lock().files.len()
    }
}

impl Open {
    fn insert(&mut self, key: FileKey, file: &Arc<File>, capacity: usize) {
        while self.files.len() >= capacity
            && let Some(old) = self.hand.pop_front()
        {
            match self.files.get_mut(&old) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.hand.push_back(old);
                }
                _ => {
                    self.files.remove(&old);
                }
            }
        }
        let entry = Entry { file: Arc::clone(file), used: false };
        if self.files.insert(key, entry).is_none() {
            self.hand.push_back(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_no_more_than_it_may() {
        let descriptors = Descriptors::new(4);
        let opened = std::cell::Cell::new(0);
        let get = |n| {
            descriptors
                .get((n, 0), || {
                    opened.set(opened.get() + 1);
                    tempfile::tempfile()
                })
                .unwrap()
        };
        for n in 0..100 {
            get(n);
            get(0); // the one in use stays
            assert!(descriptors.open_files() <= 4);
        }
        assert_eq!(opened.get(), 100);
        descriptors.forget((0, 0));
        get(0);
        assert_eq!(opened.get(), 101);
    }

    /// A flush opens a file that the dispatcher deletes at that moment: units written later must go to the new one.
    #[test]
    fn a_file_deleted_while_it_is_opened_is_not_kept() {
        let descriptors = Descriptors::new(4);
        descriptors
            .get((1, 0), || {
                descriptors.forget((1, 0));
                tempfile::tempfile()
            })
            .unwrap();
        assert_eq!(descriptors.open_files(), 0);
    }
}
