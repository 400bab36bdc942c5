//! Old files go, and what they held is gone everywhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;
use apogee_store::{Expired, ExpiryRound, GetRequest, GetStatus, Hooks, Store};

/// A day in 2001 on which no file was written, and the age at which files go.
const NOW: i64 = 1_000_000_000_000;
const RESERVED: i64 = 72 * 3_600_000;

fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 16 * 1024,
        mapped_file_size_consume_queue: 20 * 10,
        delete_commit_log_files_interval: 0,
        ..MessageStoreConfig::default()
    }
}

/// A store with six files of the log, about 15 messages in each.
fn filled(config: &MessageStoreConfig) -> Arc<Store> {
    let store = Store::open(config, Hooks::default()).unwrap();
    while store.max_physical_offset() < 5 * 16 * 1024 {
        let draft = Draft {
            properties: b"KEYS\x01k\x02",
            ..Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), &[b'x'; 1000])
        };
        store.append(&draft).unwrap();
    }
    while store.dispatch_behind_bytes() > 0 || store.flushed_offset() < store.max_physical_offset() {
        std::thread::yield_now();
    }
    store
}

fn set_age(root: &Path, file: i64, age: i64) {
    let path = root.join(format!("commitlog/{:020}", file * 16 * 1024));
    let modified = UNIX_EPOCH + Duration::from_millis((NOW - age) as u64);
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

fn get(store: &Store, offset: i64) -> apogee_store::GetResult {
    store.get(&GetRequest { topic: "T", queue_id: 0, offset, max_count: 1, max_bytes: 4096 }, None).unwrap()
}

const BY_HAND: ExpiryRound = ExpiryRound { now: NOW, used_percent: Some(10), by_hand: true };

#[test]
fn expired_files_go_oldest_first_and_minimums_follow() {
    let root = tempfile::tempdir().unwrap();
    let config = config(root.path());
    // closed in between, so that the queue's units are in its files and not on their way
    filled(&config).close().unwrap();
    let store = Store::open(&config, Hooks::default()).unwrap();
    for (file, age) in [(0, RESERVED), (1, RESERVED + 1), (2, RESERVED - 1), (3, RESERVED)] {
        set_age(root.path(), file, age);
    }
    let held = get(&store, 0);
    let bytes = held.runs[0].to_vec();
    let expired = store.expire(&config, BY_HAND).unwrap();
    // the third is too young, and there is no hole before the fourth
    assert_eq!((expired.log, store.min_physical_offset()), (2, 2 * 16 * 1024));
    assert!(expired.queues > 0, "{expired:?}");
    assert!(!root.path().join("commitlog/00000000000000000000").exists());
    assert!(!root.path().join("consumequeue/T/0/00000000000000000000").exists());
    assert_eq!(held.runs[0], bytes);

    let min = store.min_offset("T", 0);
    let below = get(&store, min - 1);
    assert_eq!((below.status, below.next_offset), (GetStatus::OffsetTooSmall, min));
    assert_eq!(get(&store, min).status, GetStatus::Found);
    assert_eq!(store.expire(&config, BY_HAND).unwrap(), Expired::default());

    store.close().unwrap();
    drop(store);
    let store = Store::open(&config, Hooks::default()).unwrap();
    assert_eq!((store.min_physical_offset(), store.min_offset("T", 0)), (2 * 16 * 1024, min));
    assert_eq!(get(&store, min).status, GetStatus::Found);
}

#[test]
fn a_full_disk_takes_young_files_some_at_a_time_but_never_the_last() {
    let root = tempfile::tempdir().unwrap();
    let config = MessageStoreConfig { delete_file_batch_max: 3, ..config(root.path()) };
    let store = filled(&config);
    let end = store.max_physical_offset();
    let full = ExpiryRound { used_percent: Some(86), by_hand: false, ..BY_HAND };
    assert_eq!(store.expire(&config, ExpiryRound { used_percent: Some(80), ..full }).unwrap().log, 0);
    assert_eq!(store.expire(&config, full).unwrap().log, 3);
    assert_eq!(store.expire(&config, full).unwrap().log, 2);
    assert_eq!(store.expire(&config, full).unwrap().log, 0);
    assert_eq!((store.min_physical_offset(), store.max_physical_offset()), (5 * 16 * 1024, end));
    assert_eq!(get(&store, store.min_offset("T", 0)).status, GetStatus::Found);
}

/// So that a disk which frees many blocks at once does not hold up those who write.
#[test]
fn files_go_with_a_pause_between_them() {
    let root = tempfile::tempdir().unwrap();
    let config = MessageStoreConfig { delete_commit_log_files_interval: 40, ..config(root.path()) };
    let store = filled(&config);
    let full = ExpiryRound { used_percent: Some(86), by_hand: false, ..BY_HAND };
    let started = Instant::now();
    assert_eq!(store.expire(&config, full).unwrap().log, 5);
    assert!(started.elapsed() >= Duration::from_millis(4 * 40));
}
