//! Light queues: messages that are stored once and read from several queues.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::path::Path;
use std::sync::Arc;
use std::thread;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Draft, Record, entries};
use apogee_store::{AppendError, Appended, GetRequest, GetStatus, Hooks, Store};

fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 64 * 1024,
        mapped_file_size_consume_queue: 20 * 100,
        max_message_size: 32 * 1024,
        enable_lmq: true,
        enable_multi_dispatch: true,
        ..MessageStoreConfig::default()
    }
}

fn open(root: &Path) -> Arc<Store> {
    Store::open(&config(root), Hooks::default()).unwrap()
}

fn append(store: &Store, topic: &str, names: &str) -> Result<Appended, AppendError> {
    // one that a client sends counts for nothing
    let properties = format!("INNER_MULTI_DISPATCH\x01{names}\x02INNER_MULTI_QUEUE_OFFSET\x0177\x02TAGS\x01a\x02");
    let draft = Draft::new(topic, 3, ([127, 0, 0, 1], 10_911).into(), b"body");
    store.append(&Draft { properties: properties.as_bytes(), ..draft })
}

fn properties(store: &Store, appended: Appended) -> String {
    let record = store.record_at(appended.physical_offset).unwrap().unwrap();
    String::from_utf8(Record::parse(&record).unwrap().properties.as_bytes().to_vec()).unwrap()
}

/// Places of all records of a queue by its offsets from 0 on, once everything in the log is dispatched.
fn places(store: &Store, topic: &str, queue_id: i32) -> Vec<i64> {
    while store.dispatch_behind_bytes() > 0 {
        thread::yield_now();
    }
    let mut places = Vec::new();
    loop {
        let offset = places.len() as i64;
        let request = GetRequest { topic, queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        if found.status != GetStatus::Found {
            return places;
        }
        places.extend(found.runs.iter().flat_map(|run| entries(run)).map(|record| record.unwrap().physical_offset));
        assert_eq!(found.next_offset, places.len() as i64);
    }
}

#[test]
fn offsets_are_the_last_property_and_go_on_after_any_stop() {
    for property_crc in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let open = || {
            let config = MessageStoreConfig { enabled_append_prop_crc: property_crc, ..config(root.path()) };
            Store::open(&config, Hooks::default()).unwrap()
        };
        let mut stored = Vec::new();
        for stop in 0..4 {
            let store = open();
            for _ in 0..30 {
                let n = stored.len();
                let names = if n % 3 == 0 { "%LMQ%b,%LMQ%a" } else { "%LMQ%a" };
                let appended = append(&store, "T", names).unwrap();
                assert_eq!(appended.queue_offset, n as i64);
                let offsets = if n % 3 == 0 { format!("{},{n}", n / 3) } else { n.to_string() };
                let expected = format!(
                    "INNER_MULTI_DISPATCH\x01{names}\x02TAGS\x01a\x02INNER_MULTI_QUEUE_OFFSET\x01{offsets}\x02"
                );
                let found = properties(&store, appended);
                let (found, crc) = found.split_at(expected.len());
                assert_eq!((found, crc.is_empty()), (&*expected, !property_crc));
                stored.push(appended.physical_offset);
            }
            for (topic, queue_id, step) in [("T", 3, 1), ("%LMQ%a", 0, 1), ("%LMQ%b", 0, 3)] {
                let expected: Vec<_> = stored.iter().copied().step_by(step).collect();
                assert_eq!(places(&store, topic, queue_id), expected, "{topic} {stop}");
            }
            if stop % 2 == 0 {
                store.close().unwrap();
            }
        }
    }
}

#[test]
fn one_that_stands_twice_holds_a_message_once() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let places_of: Vec<_> = (0..3).map(|_| append(&store, "T", "%LMQ%a,%LMQ%a").unwrap()).collect();
    assert!(properties(&store, places_of[2]).ends_with("INNER_MULTI_QUEUE_OFFSET\x012,2\x02"));
    let expected: Vec<_> = places_of.iter().map(|appended| appended.physical_offset).collect();
    assert_eq!(places(&store, "%LMQ%a", 0), expected);
}

#[test]
fn many_at_once_leave_no_hole() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..100 {
                    append(&store, "T", ["%LMQ%a", "%LMQ%b,%LMQ%a"][n % 2]).unwrap();
                }
            });
        }
    });
    let (own, a, b) = (places(&store, "T", 3), places(&store, "%LMQ%a", 0), places(&store, "%LMQ%b", 0));
    assert_eq!((own.len(), b.len()), (400, 200));
    assert_eq!(own, a);
    assert!(b.is_sorted());
}

#[test]
fn what_names_no_light_queue_is_refused_and_copies_go_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    for names in ["U", "%LMQ%a,U", "%LMQ%a/b", ",", &format!("%LMQ%{}", "x".repeat(300))] {
        assert!(matches!(append(&store, "T", names), Err(AppendError::Queue { .. })), "{names}");
    }
    assert_eq!(store.max_offset("T", 3), 0);
    for topic in ["%RETRY%g", "%DLQ%g", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"] {
        let appended = append(&store, topic, "%LMQ%a").unwrap();
        assert!(properties(&store, appended).contains("INNER_MULTI_QUEUE_OFFSET\x0177\x02"), "{topic}");
    }
    assert_eq!((places(&store, "%RETRY%g", 3).len(), places(&store, "%LMQ%a", 0).len()), (1, 0));
}

#[test]
fn there_are_as_many_as_may_be() {
    let root = tempfile::tempdir().unwrap();
    let limited = |quota| {
        let limits =
            MessageStoreConfig { max_lmq_consume_queue_num: 2, enable_lmq_quota: quota, ..config(root.path()) };
        Store::open(&limits, Hooks::default()).unwrap()
    };
    let store = limited(true);
    for names in ["%LMQ%a", "%LMQ%b", "%LMQ%a,%LMQ%b"] {
        append(&store, "T", names).unwrap();
    }
    assert_eq!(append(&store, "T", "%LMQ%a,%LMQ%c"), Err(AppendError::TooManyLightQueues(2)));
    assert_eq!(places(&store, "T", 3).len(), 3);
    store.delete_topic("%LMQ%b").unwrap();
    append(&store, "T", "%LMQ%c").unwrap();
    assert_eq!(places(&store, "%LMQ%c", 0).len(), 1);
    store.close().unwrap();
    drop(store);
    let store = limited(true);
    assert_eq!(append(&store, "T", "%LMQ%b"), Err(AppendError::TooManyLightQueues(2)));
    drop(store);
    append(&limited(false), "T", "%LMQ%b").unwrap();
}

/// One that was deleted begins at 0, whatever is still to be dispatched.
#[test]
fn a_deleted_one_begins_anew() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    for _ in 0..5 {
        append(&store, "T", "%LMQ%a").unwrap();
    }
    store.delete_topic("%LMQ%a").unwrap();
    let again = append(&store, "T", "%LMQ%a").unwrap();
    assert!(properties(&store, again).ends_with("INNER_MULTI_QUEUE_OFFSET\x010\x02"));
    assert_eq!(places(&store, "%LMQ%a", 0), [again.physical_offset]);
}
