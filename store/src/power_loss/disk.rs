//! A disk that loses its power.
//!
//! It notes what was synced. From that and what the files hold now it makes a state that the disk may be in when the
//! power comes back: of every file, what was synced is there, and of the rest each sector is there or not; so is
//! each name that was added or removed since its directory was synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::files::watch::{Act, Answer, Watcher};

/// What a disk writes whole or not at all, bytes.
const SECTOR: usize = 512;

pub(super) struct Disk {
    root: PathBuf,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    files: BTreeMap<u64, Durable>,
    names: BTreeMap<PathBuf, Node>,
    /// Syncs until the power goes by itself, and what is then left.
    countdown: Option<usize>,
    left: Option<TempDir>,
}

/// A file as it is on disk.
struct Durable {
    /// Kept open, so that its number is not given to another file, and it can be read when its name is gone.
    live: File,
    content: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Directory,
    File(u64),
}

impl Disk {
    /// Everything below `root` is on disk as it is.
    pub(super) fn new(root: &Path, seed: u64) -> Self {
        let state = State {
            rng: Rng::with_seed(seed),
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            countdown: None,
            left: None,
        };
        let disk = Self { root: root.canonicalize().unwrap(), state: Mutex::new(state) };
        let mut state = disk.state.lock();
        state.names = state.look(&disk.root);
        for durable in state.files.values_mut() {
            durable.content = read(&durable.live);
        }
        drop(state);
        disk
    }

    /// Lets the power go at a sync to come, before it is done.
    pub(super) fn lose_power_in(&self, syncs: usize) {
        self.state.lock().countdown = Some(syncs);
    }

    /// What the power left when it went by itself, if it did.
    pub(super) fn taken(&self) -> Option<TempDir> {
        let mut state = self.state.lock();
        state.countdown = None;
        state.left.take()
    }

    /// What the disk may hold if the power goes now.
    pub(super) fn lose_power(&self) -> TempDir {
        self.state.lock().lose_power(&self.root)
    }

    /// Some of what was not synced comes to disk by itself.
    pub(super) fn write_back(&self) {
        let mut state = self.state.lock();
        state.look(&self.root);
        let State { rng, files, .. } = &mut *state;
        for durable in files.values_mut() {
            let content = merge(rng, &durable.content, &read(&durable.live));
            durable.content = content;
        }
    }
}

impl Watcher for Disk {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if !matches!(act, Act::Sync { .. } | Act::SyncDirectory) {
            return Ok(Answer::GoOn);
        }
        let mut state = self.state.lock();
        match state.countdown {
            Some(0) => {
                state.countdown = None;
                state.left = Some(state.lose_power(&self.root));
            }
            Some(left) => state.countdown = Some(left - 1),
            None => {}
        }
        match act {
            Act::Sync { file, from, to } => state.sync(file, from, to),
            Act::SyncDirectory if !state.sync_directory(&self.root, path) => return Ok(Answer::GoOn),
            _ => {}
        }
        Ok(Answer::Done)
    }
}

impl State {
    fn sync(&mut self, file: &File, from: usize, to: usize) {
        let durable = self.file(file);
        let live = read(&durable.live);
        durable.content.resize(live.len(), 0);
        let (from, to) = (from.min(live.len()), to.min(live.len()));
        durable.content[from..to].copy_from_slice(&live[from..to]);
    }

    /// False when there is no such directory.
    fn sync_directory(&mut self, root: &Path, directory: &Path) -> bool {
        // one that is not there is the caller's to notice
        let Ok(directory) = directory.canonicalize() else { return false };
        let Ok(directory) = directory.strip_prefix(root) else { return false };
        let now = self.look(root);
        // a directory that is gone takes along what is in it
        let is_gone = |name: &Path| name.parent() == Some(directory) && !now.contains_key(name);
        self.names.retain(|name, _| !name.ancestors().any(is_gone));
        self.names.extend(now.into_iter().filter(|(name, _)| name.parent() == Some(directory)));
        true
    }

    fn file(&mut self, file: &File) -> &mut Durable {
        let number = file.metadata().unwrap().ino();
        self.files.entry(number).or_insert_with(|| {
            // anew: the store may have it open for writing only
            let live = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            Durable { live, content: Vec::new() }
        })
    }

    /// All names below a directory, relative to it.
    fn look(&mut self, root: &Path) -> BTreeMap<PathBuf, Node> {
        let mut names = BTreeMap::new();
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_owned();
                if path.is_dir() {
                    names.insert(name, Node::Directory);
                    directories.push(path);
                } else if let Ok(file) = File::open(&path) {
                    names.insert(name, Node::File(file.metadata().unwrap().ino()));
                    self.file(&file);
                }
            }
        }
        names
    }

    fn lose_power(&mut self, root: &Path) -> TempDir {
        let now = self.look(root);
        let left = tempfile::tempdir().unwrap();
        let all: BTreeSet<&PathBuf> = now.keys().chain(self.names.keys()).collect();
        let luck = Luck::new(&mut self.rng);
        for name in all {
            let (durable, live) = (self.names.get(name).copied(), now.get(name).copied());
            let node = if durable != live && luck.strikes(&mut self.rng) { live } else { durable };
            let path = left.path().join(name);
            if path.parent().is_none_or(|parent| !parent.is_dir()) {
                continue;
            }
            match node {
                None => {}
                Some(Node::Directory) => fs::create_dir(&path).unwrap(),
                Some(Node::File(number)) => {
                    let durable = &self.files[&number];
                    let content = merge(&mut self.rng, &durable.content, &read(&durable.live));
                    fs::write(&path, content).unwrap();
                }
            }
        }
        left
    }
}

/// How likely what was not synced is there: for a whole file none of it, all of it or some.
struct Luck(f64);

impl Luck {
    fn new(rng: &mut Rng) -> Self {
        Self([0.0, 1.0, 0.5, 0.1, 0.9][rng.usize(..5)])
    }

    fn strikes(&self, rng: &mut Rng) -> bool {
        rng.f64() < self.0
    }
}

/// A file of which some sectors that were not synced are there, and its length perhaps, too.
fn merge(rng: &mut Rng, durable: &[u8], live: &[u8]) -> Vec<u8> {
    let luck = Luck::new(rng);
    let length = if luck.strikes(rng) { live.len() } else { durable.len() };
    let mut content = durable.to_vec();
    content.resize(length, 0);
    for (sector, live) in content.chunks_mut(SECTOR).zip(live.chunks(SECTOR)) {
        let length = sector.len().min(live.len());
        if sector[..length] != live[..length] && luck.strikes(rng) {
            sector[..length].copy_from_slice(&live[..length]);
        }
    }
    content
}

fn read(file: &File) -> Vec<u8> {
    let mut content = vec![0; file.metadata().unwrap().len() as usize];
    let mut at = 0;
    while at < content.len() {
        match file.read_at(&mut content[at..], at as u64).unwrap() {
            // cut meanwhile
            0 => content.truncate(at),
            read => at += read,
        }
    }
    content
}
