//! Faults of stores that users of such brokers reported; the others stand in `broker/tests/user_faults`. Report numbers without a
//! repository are those of apache/rocketmq. The letter and number in a test's name are our own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Draft, entries};
use apogee_store::{GetRequest, GetStatus, Hooks, Store};

const QUEUES: i32 = 3;
const UNIT: u64 = 20;
const UNITS_PER_FILE: u64 = 10;

/// B09 (467, 1434): after a kill the last messages of a file of the log were in no queue once the next file existed.
#[test]
fn b09_messages_before_an_edge_of_files_are_in_their_queues_after_a_kill() {
    for lost_units in 0..=12 {
        let root = tempfile::tempdir().unwrap();
        let store = open(root.path());
        let mut sent = 0;
        // until the first message is in the third file
        while store.max_physical_offset() < 2 * LOG_FILE + 1 {
            append(&store, sent);
            sent += 1;
        }
        while store.dispatch_behind_bytes() > 0 {
            thread::yield_now();
        }
        // as a kill leaves it
        drop(store);
        for queue_id in 0..QUEUES {
            lose_last_units(root.path(), queue_id, lost_units, of_queue(sent, queue_id).count() as u64);
        }
        let store = open(root.path());
        for queue_id in 0..QUEUES {
            let expected: Vec<_> = of_queue(sent, queue_id).map(body).collect();
            assert_eq!(store.max_offset("T", queue_id), expected.len() as i64, "{lost_units} units lost");
            assert_eq!(bodies(&store, queue_id), expected, "{lost_units} units lost");
        }
    }
}

/// B10 (9728, 10108): a last file of a queue without a unit, of which the messages were lost with the log's end, kept the broker from
/// starting.
#[test]
fn b10_a_queue_may_end_with_an_empty_file() {
    for is_clean in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let store = open(root.path());
        let sent = QUEUES as usize * UNITS_PER_FILE as usize;
        (0..sent).for_each(|number| append(&store, number));
        if is_clean {
            store.close().unwrap();
        }
        drop(store);
        let file_size = UNIT * UNITS_PER_FILE;
        for queue_id in 0..QUEUES {
            let next = queue(root.path(), queue_id).join(format!("{file_size:020}"));
            fs::write(next, vec![0; file_size as usize]).unwrap();
        }
        // the last message does not come to disk
        let mut kept = sent;
        if !is_clean {
            kept -= 1;
            let end = (0..)
                .map(|file| log(root.path(), file))
                .take_while(|path| path.exists())
                .filter(|path| fs::read(path).unwrap().iter().any(|byte| *byte != 0));
            let path = end.last().unwrap();
            let bytes = fs::read(&path).unwrap();
            let text = body(sent - 1);
            let at = bytes.windows(text.len()).position(|bytes| bytes == text).unwrap();
            OpenOptions::new()
                .write(true)
                .open(&path)
                .unwrap()
                .write_all_at(&vec![0; bytes.len() - at], at as u64)
                .unwrap();
            let _ = fs::remove_file(root.path().join("checkpoint"));
        }
        let store = open(root.path());
        for queue_id in 0..QUEUES {
            let expected: Vec<_> = of_queue(kept, queue_id).map(body).collect();
            assert_eq!(bodies(&store, queue_id), expected, "clean: {is_clean}");
        }
        // and it goes on into that file
        (kept..kept + 9).for_each(|number| append(&store, number));
        for queue_id in 0..QUEUES {
            let expected: Vec<_> = of_queue(kept + 9, queue_id).map(body).collect();
            assert_eq!(bodies(&store, queue_id), expected, "clean: {is_clean}");
        }
        store.close().unwrap();
    }
}

const LOG_FILE: i64 = 16 * 1024;

fn open(root: &Path) -> Arc<Store> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: LOG_FILE as i32,
        mapped_file_size_consume_queue: (UNIT * UNITS_PER_FILE) as i32,
        max_message_size: 4096,
        ..MessageStoreConfig::default()
    };
    Store::open(&config, Hooks::default()).unwrap()
}

fn append(store: &Store, number: usize) {
    let queue_id = (number % QUEUES as usize) as i32;
    store.append(&Draft::new("T", queue_id, ([127, 0, 0, 1], 10_911).into(), &body(number))).unwrap();
}

fn body(number: usize) -> Vec<u8> {
    format!("message {number:0width$}", width = 100 + number % 300).into_bytes()
}

/// Numbers of the first `sent` messages that are in a queue.
fn of_queue(sent: usize, queue_id: i32) -> impl Iterator<Item = usize> {
    (0..sent).filter(move |number| number % QUEUES as usize == queue_id as usize)
}

/// Overwrites the last of a queue's units with zeros.
fn lose_last_units(root: &Path, queue_id: i32, lost: u64, count: u64) {
    for number in count.saturating_sub(lost)..count {
        let start = number - number % UNITS_PER_FILE;
        let path = queue(root, queue_id).join(format!("{:020}", start * UNIT));
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&[0; UNIT as usize], (number - start) * UNIT).unwrap();
    }
}

fn queue(root: &Path, queue_id: i32) -> PathBuf {
    root.join(format!("consumequeue/T/{queue_id}"))
}

fn log(root: &Path, number: i64) -> PathBuf {
    root.join(format!("commitlog/{:020}", number * LOG_FILE))
}

/// All bodies of a queue, each once and in order.
fn bodies(store: &Store, queue_id: i32) -> Vec<Vec<u8>> {
    while store.dispatch_behind_bytes() > 0 {
        thread::yield_now();
    }
    let mut bodies = Vec::new();
    loop {
        let request =
            GetRequest { topic: "T", queue_id, offset: bodies.len() as i64, max_count: 32, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        if found.status != GetStatus::Found {
            return bodies;
        }
        for record in found.runs.iter().flat_map(|run| entries(run)).map(Result::unwrap) {
            assert_eq!(record.queue_offset, bodies.len() as i64);
            bodies.push(record.body.to_vec());
        }
    }
}
