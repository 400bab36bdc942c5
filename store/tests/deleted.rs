//! A topic that was deleted stays so, and one made anew in its place begins at 0, whenever the process dies.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::path::Path;
use std::sync::Arc;
use std::thread;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Draft, entries};
use apogee_store::{GetRequest, Hooks, Store};

const TOPIC: &str = "T";

fn open(root: &Path) -> Arc<Store> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 64 * 1024,
        ..MessageStoreConfig::default()
    };
    Store::open(&config, Hooks::default()).unwrap()
}

fn append(store: &Store, body: &str) {
    store.append(&Draft::new(TOPIC, 0, ([127, 0, 0, 1], 10_911).into(), body.as_bytes())).unwrap();
}

/// What the topic's queue serves from 0 on.
fn bodies(store: &Store) -> Vec<String> {
    while store.dispatch_behind_bytes() > 0 {
        thread::yield_now();
    }
    let request = GetRequest { topic: TOPIC, queue_id: 0, offset: 0, max_count: 32, max_bytes: 1 << 20 };
    let found = store.get(&request, None).unwrap();
    let records = found.runs.iter().flat_map(|run| entries(run)).map(Result::unwrap);
    records.map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect()
}

/// Without a close, as a kill leaves it; the log is checked from its beginning then.
#[test]
fn a_deleted_topic_does_not_come_back_and_its_successor_is_served() {
    for since in [&[][..], &["first"], &["first", "second"]] {
        let root = tempfile::tempdir().unwrap();
        let store = open(root.path());
        for n in 0..15 {
            append(&store, &format!("former {n}"));
        }
        assert_eq!(bodies(&store).len(), 15);
        assert!(store.delete_topic(TOPIC).unwrap());
        for body in since {
            append(&store, body);
        }
        assert_eq!(bodies(&store), since);
        drop(store);
        // once more: the second start finds what the first one made of it
        for _ in 0..2 {
            let store = open(root.path());
            assert_eq!(bodies(&store), since);
            drop(store);
        }
        let store = open(root.path());
        store.close().unwrap();
        drop(store);
        std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
        let store = open(root.path());
        assert_eq!(bodies(&store), since, "all queues made anew");
    }
}

/// A new log begins before the place of the deletion.
#[test]
fn a_deletion_beyond_the_log_says_nothing_of_what_comes() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    for n in 0..15 {
        append(&store, &format!("former {n}"));
    }
    assert!(store.delete_topic(TOPIC).unwrap());
    store.close().unwrap();
    drop(store);
    for gone in ["commitlog", "consumequeue"] {
        std::fs::remove_dir_all(root.path().join(gone)).unwrap();
    }
    let store = open(root.path());
    append(&store, "of another log");
    assert_eq!(bodies(&store), ["of another log"]);
    drop(store);
    assert_eq!(bodies(&open(root.path())), ["of another log"]);
}

/// As on a slave, which hears of a deletion at its master later than of the messages behind it.
#[test]
fn a_topic_with_messages_from_behind_its_deletion_stays() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    append(&store, "first");
    let log_end = store.max_physical_offset();
    append(&store, "second");
    assert_eq!(bodies(&store).len(), 2);
    assert!(!store.delete_topic_before(TOPIC, log_end).unwrap());
    assert_eq!(bodies(&store), ["first", "second"]);
    assert!(store.delete_topic_before(TOPIC, store.max_physical_offset()).unwrap());
    assert!(bodies(&store).is_empty());
    append(&store, "third");
    assert_eq!(bodies(&store), ["third"]);
}
