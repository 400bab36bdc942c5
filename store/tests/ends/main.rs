//! What a start finds out of how far queues were once: what they lost, and what is as it should be.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod handed_back;
mod lost;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Draft, entries};
use apogee_store::{GetRequest, GetStatus, Hooks, QueueKind, QueueKinds, Store};
use tempfile::TempDir;

const MESSAGES: usize = 150;
/// Bytes of a file of the log.
const LOG_FILE: i64 = 32 * 1024;

/// The table of topics.
#[derive(Clone, Copy)]
struct Topics {
    /// Has all topics but this one.
    gone: &'static str,
    /// Number of changes.
    version: i64,
}

const ALL: Topics = Topics { gone: "", version: 1 };

impl QueueKinds for Topics {
    fn queue_kind(&self, _: &str) -> Option<QueueKind> {
        None
    }

    fn is_known(&self, topic: &str) -> bool {
        topic != self.gone
    }

    fn version(&self) -> (i64, i64) {
        (self.version, 0)
    }
}

fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: LOG_FILE as i32,
        mapped_file_size_consume_queue: 20 * 20,
        flush_interval_consume_queue: 5,
        flush_consume_queue_thorough_interval: 5,
        ..MessageStoreConfig::default()
    }
}

fn open(root: &Path, topics: Topics) -> Arc<Store> {
    Store::open(&config(root), hooks(topics)).unwrap()
}

fn hooks(topics: Topics) -> Hooks {
    Hooks { queue_kinds: Arc::new(topics), ..Hooks::default() }
}

fn append(store: &Store, topic: &str, queue_id: i32, n: usize) {
    let body = format!("{topic}{queue_id} {n}");
    store.append(&Draft::new(topic, queue_id, ([127, 0, 0, 1], 10_911).into(), body.as_bytes())).unwrap();
}

/// A clean store with two queues of a topic and one of another.
fn filled() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path(), ALL);
    for n in 0..MESSAGES {
        for (topic, queue_id) in [("U", 0), ("T", 0), ("T", 1)] {
            append(&store, topic, queue_id, n);
        }
    }
    store.close().unwrap();
    root
}

/// Writes over what stands at a place of the log.
fn overwrite(root: &Path, at: i64, bytes: &[u8]) {
    let file = root.join(format!("commitlog/{:020}", at - at % LOG_FILE));
    OpenOptions::new().write(true).open(file).unwrap().write_all_at(bytes, (at % LOG_FILE) as u64).unwrap();
}

/// As a kill leaves it.
fn set_abort(root: &Path) {
    fs::write(root.join("abort"), "1").unwrap();
}

/// As the reference writes the file at each start.
fn take_elsewhere(root: &Path) {
    OpenOptions::new().write(true).open(root.join("lock")).unwrap().write_all_at(b"lock", 0).unwrap();
}

/// The number of messages in a queue from its minimum on: those with their own number as offset and in the body.
fn count(store: &Store, topic: &str, queue_id: i32) -> usize {
    while store.dispatch_behind_bytes() > 0 {
        thread::yield_now();
    }
    let first = store.min_offset(topic, queue_id).max(0) as usize;
    let mut next = first;
    loop {
        let request = GetRequest { topic, queue_id, offset: next as i64, max_count: 32, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        if found.status != GetStatus::Found {
            return next - first;
        }
        for record in found.runs.iter().flat_map(|run| entries(run)).map(Result::unwrap) {
            assert_eq!(record.queue_offset, next as i64);
            assert_eq!(record.body, format!("{topic}{queue_id} {next}").as_bytes());
            next += 1;
        }
    }
}
