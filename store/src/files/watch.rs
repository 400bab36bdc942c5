//! Standing between a store and its disk, in tests.
//!
//! A watcher is asked before everything that [`super`] does below its directory. It may note it, refuse it, or say that a
//! sync is done.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

/// What the store is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act<'a> {
    Allocate,
    Write,
    /// The bytes [from, to) of a file, and its length.
    Sync {
        file: &'a File,
        from: usize,
        to: usize,
    },
    SyncDirectory,
}

/// Whether the store shall do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    GoOn,
    /// Counts as done. Only syncs ask.
    Done,
}

impl Answer {
    pub(super) fn is_done(self) -> bool {
        self == Self::Done
    }
}

pub(crate) trait Watcher: Send + Sync {
    /// An error is what the store gets for its act, which is then not done.
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer>;
}

/// Lets a watcher see what happens below a directory for as long as this lives.
pub(crate) struct Watch {
    root: PathBuf,
}

impl Watch {
    pub(crate) fn new(root: &Path, watcher: Arc<dyn Watcher>) -> Self {
        let root = root.canonicalize().unwrap();
        WATCHERS.write().push((root.clone(), watcher));
        Self { root }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHERS.write().retain(|(root, _)| *root != self.root);
    }
}

/// Asks who watches the place.
pub(super) fn before(act: Act<'_>, path: Option<&Path>) -> io::Result<Answer> {
    let Some(path) = path else { return Ok(Answer::GoOn) };
    let watcher = {
        let watchers = WATCHERS.read();
        watchers.iter().find(|(root, _)| path.starts_with(root)).map(|(_, watcher)| Arc::clone(watcher))
    };
    watcher.map_or(Ok(Answer::GoOn), |watcher| watcher.before(act, path))
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
