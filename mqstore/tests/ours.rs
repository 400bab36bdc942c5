//! Stores of Apogee, with what the reference does not have or does not write down: deleted topics, `queueEnds`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;
use apogee_remoting::message::sys_flag::{INNER_BATCH, NEED_UNWRAP};
use apogee_store::queue::{Known, KnownEnds};
use apogee_store::{Hooks, QueueKind, QueueKinds, Store};
use harness::{contents, lines, mqstore};
use tempfile::TempDir;

const DELAYED: &str = "SCHEDULE_TOPIC_XXXX";
const QUEUES: [&str; 3] = ["consumequeue", "batchconsumequeue", "consumequeue_ext"];

/// As `topics` writes them down.
struct Topics;

impl QueueKinds for Topics {
    fn queue_kind(&self, topic: &str) -> Option<QueueKind> {
        (topic == "Batch").then_some(QueueKind::Batch)
    }

    fn version(&self) -> (i64, i64) {
        (5, 6)
    }
}

fn topics(root: &Path) {
    fs::create_dir(root.join("config")).unwrap();
    let topics = r#"{"dataVersion":{"counter":5,"stateVersion":0,"timestamp":6},"topicConfigTable":{"Plain":{},"Again":{},"SCHEDULE_TOPIC_XXXX":{},
        "Batch":{"attributes":{"queue.type":"BatchCQ"}}}}"#;
    fs::write(root.join("config/topics.json"), topics).unwrap();
}

fn open(root: &Path) -> Arc<Store> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 64 * 1024,
        mapped_file_size_consume_queue: 20 * 20,
        mapper_file_size_batch_consume_queue: 46 * 20,
        mapped_file_size_consume_queue_ext: 1200,
        max_hash_slot_num: 100,
        max_index_num: 400,
        message_delay_level: "1s 3s 2h".to_owned(),
        enable_consume_queue_ext: true,
        enable_lmq: true,
        enable_multi_dispatch: true,
        ..MessageStoreConfig::default()
    };
    Store::open(&config, Hooks { queue_kinds: Arc::new(Topics), ..Hooks::default() }).unwrap()
}

fn append(store: &Store, topic: &str, properties: &str) -> i64 {
    let queue_id = if topic == DELAYED { 2 } else { 0 };
    let draft = Draft::new(topic, queue_id, ([127, 0, 0, 1], 10_911).into(), b"body");
    let draft = Draft { properties: properties.as_bytes(), ..draft };
    if topic != "Batch" {
        return store.append(&draft).unwrap().physical_offset;
    }
    let draft = Draft { sys_flag: INNER_BATCH | NEED_UNWRAP, ..draft };
    store.append_inner_batch(&draft, 3).unwrap().physical_offset
}

/// A clean store with light queues, batches, extensions and two queues that were deleted and made anew with one message each;
/// and where the last record is.
fn filled() -> (TempDir, i64) {
    let root = tempfile::tempdir().unwrap();
    topics(root.path());
    let store = open(root.path());
    for n in 0..30 {
        append(&store, "Plain", &format!("KEYS\x01k{n}\x02TAGS\x01a\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"));
        append(&store, DELAYED, "DELAY\x013\x02");
        append(&store, "Again", &format!("KEYS\x01k{n}\x02"));
        append(
            &store,
            "Batch",
            "INNER_NUM\x013\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02INNER_MULTI_QUEUE_OFFSET\x017\x02",
        );
    }
    for deleted in ["Again", "%LMQ%b"] {
        assert!(store.delete_topic(deleted).unwrap());
    }
    append(&store, "Again", "KEYS\x01again\x02");
    let last = append(&store, "Plain", "KEYS\x01last\x02INNER_MULTI_DISPATCH\x01%LMQ%b\x02");
    store.close().unwrap();
    (root, last)
}

fn messages(root: &Path) -> [i64; 5] {
    let store = open(root);
    let of = ["Plain", "Again", "Batch", "%LMQ%a", "%LMQ%b"].map(|topic| store.max_offset(topic, 0));
    store.close().unwrap();
    of
}

fn known(root: &Path) -> Known {
    KnownEnds::open(root).unwrap().1
}

#[test]
fn a_store_with_everything_verifies_and_is_rebuilt_byte_for_byte() {
    let (root, _) = filled();
    let dir = root.path().to_str().unwrap();
    let out = mqstore(&["verify", dir]).well();
    assert!(out.contains("60 records of topics before they were deleted"), "{out}");
    let before = QUEUES.map(|name| contents(&root.path().join(name)));
    let deleted = known(root.path()).deleted;
    assert_eq!(deleted.len(), 2);
    mqstore(&["rebuild", dir]).well();
    for (name, before) in QUEUES.iter().zip(before) {
        assert!(contents(&root.path().join(name)) == before, "{name}");
    }
    assert_eq!((known(root.path()).deleted, known(root.path()).ends), (deleted, Vec::new()));
    mqstore(&["verify", dir]).well();
    assert_eq!(messages(root.path()), [31, 1, 90, 30, 1]);
}

#[test]
fn what_is_salvaged_begins_where_the_store_does() {
    let (root, _) = filled();
    let records = lines(&mqstore(&["cat", root.path().to_str().unwrap()]).well());
    let log = root.path().join("commitlog/00000000000000000000");
    let mut bytes = fs::read(&log).unwrap();
    let at = records[60]["physicalOffset"].as_u64().unwrap() as usize;
    bytes[at + 88] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let within = root.path().join("target");
    let ended = mqstore(&["salvage", root.path().to_str().unwrap(), within.to_str().unwrap()]);
    assert!(ended.err.contains("the new store cannot lie in the old one") && !within.exists(), "{}", ended.err);
    let beside = tempfile::tempdir().unwrap();
    let target = beside.path().join("target");
    mqstore(&["salvage", root.path().to_str().unwrap(), target.to_str().unwrap()]).with(1);
    mqstore(&["verify", target.to_str().unwrap()]).well();
    assert_eq!((known(&target).deleted, known(&target).ends), (known(root.path()).deleted, Vec::new()));
    assert_eq!(messages(&target), [31, 1, 90, 30, 1]);
    let salvaged = lines(&mqstore(&["cat", target.to_str().unwrap()]).well());
    assert_eq!(salvaged.iter().filter(|record| !records.contains(record)).count(), 1);
}

/// A topic that is not in the table is not made anew by the recovery that follows.
#[test]
fn a_cut_store_keeps_what_was_deleted() {
    let (root, last) = filled();
    let dir = root.path().to_str().unwrap();
    fs::remove_dir_all(root.path().join("consumequeue/Plain")).unwrap();
    fs::remove_dir_all(root.path().join("consumequeue_ext/Plain")).unwrap();
    let delayed = || contents(&root.path().join("consumequeue_ext").join(DELAYED));
    let before = delayed();
    let topics = root.path().join("config/topics.json");
    let text = fs::read_to_string(&topics).unwrap();
    fs::write(&topics, text.replace("\"Plain\":{},", "")).unwrap();
    mqstore(&["truncate", dir, "--at", &last.to_string(), "--yes"]).well();
    let queues: HashSet<_> =
        fs::read_dir(root.path().join("consumequeue")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(queues, HashSet::from(["Again", DELAYED, "%LMQ%a", "%LMQ%b"].map(Into::into)));
    assert!(delayed() == before, "made with other delays");
    // two by the broker, and the one that no table names
    assert_eq!(known(root.path()).deleted.iter().filter(|(_, end)| *end <= last).count(), 3);
    mqstore(&["verify", dir]).well();
    fs::write(&topics, text).unwrap();
    assert_eq!(messages(root.path())[1..], [1, 90, 30, 0]);
}
