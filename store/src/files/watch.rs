//! Standing between a store and its disk, in tests: this crate's, and others' with the feature `watch`.
//!
//! A watcher is asked before everything that a store does below its directory. It may note it, refuse it, say that a sync is
//! done, or hold it up.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, RwLock};

/// What the store is about to do.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Bytes of a file whose reading may wait for the disk.
    Read,
    /// Bytes of a file that have to be in memory: a watcher that answers `WouldBlock` makes the disk slow.
    ReadAtOnce,
    /// A file goes.
    Remove,
    /// Space for a file.
    Allocate,
    /// Bytes of a file.
    Write,
    /// The bytes [from, to) of a file, and its length.
    Sync {
        /// The file.
        file: &'a File,
        /// First byte.
        from: usize,
        /// One past the last byte.
        to: usize,
    },
    /// The names in a directory.
    SyncDirectory,
}

/// Whether the store shall do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It shall.
    GoOn,
    /// Counts as done. Only syncs ask.
    Done,
}

impl Answer {
    pub(super) fn is_done(self) -> bool {
        self == Self::Done
    }
}

/// Who is asked.
pub trait Watcher: Send + Sync {
    /// Lets an act be done, on the thread that does it.
    ///
    /// # Errors
    /// What the store gets for its act, which is then not done.
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer>;

    /// Per cent of a directory's disk that are in use; `None`: as many as there are.
    fn used_percent(&self, directory: &Path) -> Option<i32> {
        let _ = directory;
        None
    }

    /// Nothing more is watched.
    fn end(&self) {}
}

/// Lets a watcher see what happens below a directory for as long as this lives.
pub struct Watch {
    root: PathBuf,
}

impl Watch {
    /// # Panics
    /// There is no such directory.
    #[must_use]
    pub fn new(root: &Path, watcher: Arc<dyn Watcher>) -> Self {
        let root = root.canonicalize().expect("a directory that is watched is there");
        WATCHERS.write().push((root.clone(), watcher));
        Self { root }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watchers = WATCHERS.write();
        let ended: Vec<_> = watchers.extract_if(.., |(root, _)| *root == self.root).collect();
        drop(watchers);
        for (_, watcher) in ended {
            watcher.end();
        }
    }
}

/// Holds up the acts that are chosen, as a disk does that hangs, until it is told to let go.
pub struct Holding {
    chosen: fn(Act<'_>, &Path) -> bool,
    state: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    is_on: bool,
    count: usize,
}

impl Holding {
    /// Nothing is held up yet.
    pub fn new(chosen: fn(Act<'_>, &Path) -> bool) -> Arc<Self> {
        Arc::new(Self { chosen, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Begins to hold up, or lets all go on.
    pub fn set(&self, is_on: bool) {
        self.state.lock().is_on = is_on;
        self.changed.notify_all();
    }

    /// How many acts are held up now.
    pub fn count(&self) -> usize {
        self.state.lock().count
    }
}

impl Watcher for Holding {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if (self.chosen)(act, path) {
            let mut state = self.state.lock();
            state.count += 1;
            while state.is_on {
                self.changed.wait(&mut state);
            }
            state.count -= 1;
        }
        Ok(Answer::GoOn)
    }

    /// A test that fails must not wait for ever.
    fn end(&self) {
        self.set(false);
    }
}

/// Asks who watches the place.
pub(crate) fn before(act: Act<'_>, path: Option<&Path>) -> io::Result<Answer> {
    let Some(path) = path else { return Ok(Answer::GoOn) };
    watcher(path).map_or(Ok(Answer::GoOn), |watcher| watcher.before(act, path))
}

/// What a watcher says of the room there is.
pub(crate) fn used_percent(directory: &Path) -> Option<i32> {
    watcher(directory)?.used_percent(directory)
}

fn watcher(path: &Path) -> Option<Arc<dyn Watcher>> {
    let watchers = WATCHERS.read();
    watchers.iter().find(|(root, _)| path.starts_with(root)).map(|(_, watcher)| Arc::clone(watcher))
}

/// Where an open file is, or was before it was removed; `None` while nobody watches.
pub(super) fn path_of(file: &File) -> Option<PathBuf> {
    if WATCHERS.read().is_empty() {
        return None;
    }
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Directories and who watches them: the store opens its files by name only, so there is no other way to it.
static WATCHERS: RwLock<Vec<(PathBuf, Arc<dyn Watcher>)>> = RwLock::new(Vec::new());
