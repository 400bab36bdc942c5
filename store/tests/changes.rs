//! Keys that take effect while the store is open.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;
use apogee_store::{AppendError, Appended, Checkpoint, GetRequest, Hooks, Store};

const HOUR: i32 = 3_600_000;

/// Nothing is flushed by itself.
fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 1 << 20,
        mapped_file_size_consume_queue: 2000,
        flush_interval_commit_log: HOUR,
        flush_commit_log_thorough_interval: HOUR,
        flush_interval_consume_queue: 1,
        flush_consume_queue_thorough_interval: HOUR,
        message_index_enable: false,
        ..MessageStoreConfig::default()
    }
}

fn append(store: &Store, body: &[u8]) -> Result<Appended, AppendError> {
    store.append(&Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), body))
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_log_is_flushed_as_the_keys_say_now() {
    let root = tempfile::tempdir().unwrap();
    let config = config(root.path());
    let store = Store::open(&config, Hooks::default()).unwrap();
    let first = append(&store, &[1; 5000]).unwrap();
    assert_eq!(store.flushed_offset(), 0);

    // too few pages for a short interval
    let by_pages = MessageStoreConfig { flush_interval_commit_log: 1, flush_commit_log_least_pages: 3, ..config };
    store.change(&by_pages);
    let second = append(&store, &[1; 8000]).unwrap();
    wait_for("three pages", || store.flushed_offset() == second.end());

    // the thorough interval takes a page's part, too
    let third = append(&store, b"small").unwrap();
    store.change(&MessageStoreConfig { flush_commit_log_thorough_interval: 1, ..by_pages.clone() });
    wait_for("the thorough interval", || store.flushed_offset() == third.end());
    assert!(first.end() < third.end());

    // an append wakes the thread only where the flush is not timed
    let woken = MessageStoreConfig {
        flush_interval_commit_log: HOUR,
        flush_commit_log_least_pages: 0,
        wake_flush_when_put_message: true,
        flush_commit_log_timed: false,
        ..by_pages
    };
    store.change(&woken);
    let fourth = append(&store, b"small").unwrap();
    wait_for("the append", || store.flushed_offset() == fourth.end());
    store.close().unwrap();
}

#[test]
fn queues_are_flushed_as_the_keys_say_now() {
    let root = tempfile::tempdir().unwrap();
    let config =
        MessageStoreConfig { flush_interval_commit_log: 1, flush_commit_log_least_pages: 0, ..config(root.path()) };
    let store = Store::open(&config, Hooks::default()).unwrap();
    let last = append(&store, b"small").unwrap();
    let dispatched = || Checkpoint::open(root.path()).unwrap().positions().dispatched_record;
    let stored = || Checkpoint::open(root.path()).unwrap().positions().queue_timestamp;
    wait_for("the log", || store.flushed_offset() == last.end() && store.dispatch_behind_bytes() == 0);
    assert_eq!((dispatched(), stored()), (0, 0));
    store.change(&MessageStoreConfig { flush_consume_queue_thorough_interval: 1, ..config });
    wait_for("the thorough interval", || stored() == last.store_timestamp);
    store.close().unwrap();
}

#[test]
fn limits_hold_from_now_on() {
    let root = tempfile::tempdir().unwrap();
    let config = config(root.path());
    let store = Store::open(&config, Hooks::default()).unwrap();
    for _ in 0..10 {
        append(&store, &[7; 1000]).unwrap();
    }
    wait_for("dispatch", || store.dispatch_behind_bytes() == 0);
    let count = || {
        let request = GetRequest { topic: "T", queue_id: 0, offset: 0, max_count: 32, max_bytes: 1 << 20 };
        store.get(&request, None).unwrap().count
    };
    assert_eq!(count(), 10);
    store.change(&MessageStoreConfig { max_transfer_count_on_message_in_memory: 3, ..config.clone() });
    assert_eq!(count(), 3);
    store.change(&MessageStoreConfig { max_message_size: 999, ..config.clone() });
    assert_eq!(count(), 10);
    assert!(matches!(append(&store, &[7; 1000]), Err(AppendError::MessageTooLarge { limit: 999, .. })));
    store.change(&config);
    append(&store, &[7; 1000]).unwrap();
    store.close().unwrap();
}
