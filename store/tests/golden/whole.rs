//! The same stores opened as a broker opens them, recovered where the reference was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::{Record, entries};
use apogee_store::index::IndexKind;
use apogee_store::read::Boundary;
use apogee_store::{GetRequest, GetStatus, Hooks, KeyQuery, Store};
use serde_json::Value;

use crate::expectation::{Golden, fields, number, record_equals, text};

macro_rules! whole {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() { check(&Golden::unpack($name), None); })*
    };
}

whole! {
    plain_5x = "plain-5x";
    plain_4x = "plain-4x";
    batch = "batch";
    batch_queues = "batchcq";
    delay = "delay";
    delay_4x = "delay-4x";
    transaction = "transaction";
    transaction_4x = "transaction-4x";
    retry_dlq = "retry-dlq";
    retry_dlq_4x = "retry-dlq-4x";
    filter = "filter";
    filter_4x = "filter-4x";
    crashed = "crashed";
    crashed_no_last_cq = "crashed-no-last-cq";
    crashed_no_derived = "crashed-no-derived";
    crashed_no_checkpoint = "crashed-no-checkpoint";
    expired = "expired";
    expired_4x = "expired-4x";
    first_files_gone = "first-files-gone";
    ipv6 = "ipv6";
    long_topic = "long-topic";
    lmq = "lmq";
    pop = "pop";
    pop_kv = "pop-kv";
}

/// Damage costs the damaged record alone. The reference serves two of these records, with zeros or other bytes in
/// their properties, and drops those behind the damage in the middle of a file.
#[test]
fn damaged_last_records_are_cut() {
    for name in ["crashed-overwritten", "crashed-overwritten-body", "crashed-torn", "crashed-torn-early"] {
        let golden = Golden::unpack_as(name, "crashed");
        let last = offsets(&golden).into_iter().max();
        check(&golden, last);
    }
}

#[test]
fn records_behind_a_damaged_one_are_kept() {
    let served = offsets(&Golden::unpack("crashed-overwritten-middle"));
    let golden = Golden::unpack_as("crashed-overwritten-middle", "crashed");
    let lost = offsets(&golden).into_iter().filter(|offset| !served.contains(offset)).min();
    assert!(lost.is_some());
    check(&golden, lost);
}

/// Where the reference keeps queues of another kind, the records are still found by their place.
#[test]
fn stores_with_queues_of_other_kinds_open() {
    for name in ["compaction"] {
        let golden = Golden::unpack(name);
        let store = open(&golden);
        let unit = |queue: &Value| queue["units"].as_array().unwrap().clone();
        for unit in golden.list("consumeQueue").iter().flat_map(unit) {
            let record = store.record_at(unit[0].as_i64().unwrap()).unwrap().unwrap();
            assert_eq!(Some(record.len() as i64), unit[1].as_i64(), "{name}");
            Record::parse(&record).unwrap().verify(false).unwrap();
        }
        store.close().unwrap();
    }
}

/// Opens the store twice: as the reference left it and as ours did.
fn check(golden: &Golden, lost: Option<i64>) {
    let before = (!golden.is_unclean()).then(|| contents(&golden.root()));
    for _ in 0..2 {
        let store = open(golden);
        queues_reach_as_far(&store, golden, lost);
        messages_are_equal(&store, golden, lost);
        if lost.is_none() {
            times_lead_to_the_same_offsets(&store, golden);
        }
        keys_lead_to_records(&store, golden, lost);
        for id in golden.list("acknowledged") {
            let id: OffsetMessageId = id.as_str().unwrap().parse().unwrap();
            assert_eq!(store.record_at(id.offset).unwrap().is_none(), lost == Some(id.offset));
        }
        store.close().unwrap();
        assert!(!golden.is_unclean());
    }
    if let Some(before) = before {
        let after = contents(&golden.root());
        for (path, bytes) in &before {
            if !golden.is_5x() && path.starts_with(golden.root().join("index")) {
                // 4.9.4 has no entries for tags: that of the last record is added
                continue;
            }
            assert!(after.get(path) == Some(bytes), "{} changed", path.display());
        }
    }
}

fn open(golden: &Golden) -> Arc<Store> {
    Store::open(&config(golden), Hooks::default()).unwrap()
}

/// The reference's configuration.
pub fn config(golden: &Golden) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: golden.root().to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 262_144,
        max_message_size: 131_072,
        mapped_file_size_consume_queue: 1200,
        max_hash_slot_num: 100,
        max_index_num: 400,
        enable_multi_dispatch: golden.is_configured("enableMultiDispatch=true"),
        mapper_file_size_batch_consume_queue: 4600,
        enable_consume_queue_ext: golden.is_configured("enableConsumeQueueExt=true"),
        mapped_file_size_consume_queue_ext: 49_152,
        ..MessageStoreConfig::default()
    }
}

fn queues_reach_as_far(store: &Store, golden: &Golden, lost: Option<i64>) {
    for expected in golden.list("queues") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let mut max = number(expected, "maxOffset") - golden.appended_after_restart(topic, queue_id);
        let is_last_lost = golden.list("messages").iter().any(|message| {
            lost == Some(number(message, "commitLogOffset"))
                && text(message, "topic") == topic
                && number(message, "queueId") == i64::from(queue_id)
                && number(message, "queueOffset") == max - 1
        });
        max -= i64::from(is_last_lost);
        let mut min = number(expected, "minOffset");
        let earliest = expected["earliestStoreTime"].as_i64();
        if earliest == Some(-1) {
            // 4.9.4 leaves the minimum of a queue whose messages all expired
            min = max;
        }
        assert_eq!(
            (store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)),
            (min, max),
            "{topic} {queue_id}"
        );
        if min < max {
            assert_eq!(store.earliest_time(topic, queue_id).ok(), earliest, "{topic} {queue_id}");
        }
    }
}

fn messages_are_equal(store: &Store, golden: &Golden, lost: Option<i64>) {
    // read as a consumer does, from the minimum of each queue to its end
    let mut records = BTreeMap::new();
    let mut light = BTreeSet::new();
    for queue in golden.list("queues") {
        let (topic, queue_id) = (text(queue, "topic"), number(queue, "queueId") as i32);
        let mut offset = store.min_offset(topic, queue_id);
        while offset < store.max_offset(topic, queue_id) {
            let request = GetRequest { topic, queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
            let found = store.get(&request, None).unwrap();
            assert_eq!(found.status, GetStatus::Found, "{topic} {queue_id} {offset}");
            assert!(found.next_offset > offset);
            offset = found.next_offset;
            for record in found.runs.iter().flat_map(|run| entries(run)) {
                let record = record.unwrap();
                record.verify(false).unwrap();
                if topic.starts_with("%LMQ%") {
                    light.insert(record.physical_offset);
                } else {
                    let place = (topic, queue_id, record.physical_offset);
                    let before = records.insert(place, record.as_bytes().to_vec());
                    assert_eq!(before, None, "{topic} {queue_id} {}", record.queue_offset);
                }
            }
        }
    }
    // those in light queues are in the list once more for each
    let mut unseen: BTreeSet<_> = records.keys().copied().collect();
    for expected in golden.list("messages") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        if golden.is_appended_after_restart(topic, queue_id, number(expected, "queueOffset")) {
            continue;
        }
        let place = number(expected, "commitLogOffset");
        let found = records.get(&(topic, queue_id, place));
        let by_id = store.record_at(place).unwrap();
        assert_eq!(found.map(Vec::as_slice), by_id.as_deref(), "{topic} {queue_id} {place}");
        unseen.remove(&(topic, queue_id, place));
        light.remove(&place);
        match found {
            Some(record) => {
                record_equals(record, expected);
                let record = Record::parse(record).unwrap();
                assert_eq!(i64::from(record.body_crc), number(expected, "bodyCRC"));
                assert_eq!(record.born_timestamp, number(expected, "bornTimestamp"));
            }
            None => assert_eq!(lost, Some(place), "{topic} {queue_id}"),
        }
    }
    assert!(unseen.is_empty() && light.is_empty(), "{unseen:?} {light:?} are not in the reference's queues");
}

fn times_lead_to_the_same_offsets(store: &Store, golden: &Golden) {
    for expected in golden.list("searchOffset") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let is_empty = store.min_offset(topic, queue_id) == store.max_offset(topic, queue_id);
        // 4.9.4 answers a time between two messages with either
        if is_empty || golden.appended_after_restart(topic, queue_id) > 0 || !golden.is_5x() {
            continue;
        }
        for row in expected["rows"].as_array().unwrap() {
            let time = row[0].as_i64().unwrap();
            for (boundary, column) in [(Boundary::Lower, 1), (Boundary::Lower, 2), (Boundary::Upper, 3)] {
                let Some(expected) = row[column].as_i64() else { continue };
                let found = store.offset_by_time(topic, queue_id, time, boundary).unwrap();
                assert_eq!(found, expected, "{topic} {queue_id} {time}");
            }
        }
    }
}

fn keys_lead_to_records(store: &Store, golden: &Golden, lost: Option<i64>) {
    let (begin, end) = (store.min_physical_offset(), store.max_physical_offset());
    for expected in golden.list("queryMessage") {
        let Some(rows) = expected["result"].as_array() else { continue };
        let query = KeyQuery {
            topic: text(expected, "topic"),
            key: text(expected, "key"),
            kind: IndexKind::Key,
            max: (number(expected, "maxNum") as usize).min(64),
            begin: number(expected, "begin"),
            end: number(expected, "end"),
        };
        let found = store.query_by_key(&query).unwrap().records;
        let found: Vec<_> = found.iter().map(|record| fields(record).physical_offset).collect();
        let offsets = rows.iter().map(|row| row[2].as_i64().unwrap());
        // some were written after the reference opened the store
        let expected: Vec<_> =
            offsets.filter(|offset| (begin..end).contains(offset) && lost != Some(*offset)).collect();
        assert_eq!(found, expected, "{} {}", query.topic, query.key);
    }
}

fn offsets(golden: &Golden) -> Vec<i64> {
    golden.list("messages").iter().map(|message| number(message, "commitLogOffset")).collect()
}

/// The files of log, queues and index.
pub fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn add(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                add(&path, found);
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    for directory in ["commitlog", "consumequeue", "consumequeue_ext", "batchconsumequeue", "index"] {
        add(&root.join(directory), &mut found);
    }
    found
}
