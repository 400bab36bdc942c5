//! What a store opened as a broker opens it reads as, recovered where the reference was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::{Record, entries};
use apogee_store::index::IndexKind;
use apogee_store::read::Boundary;
use apogee_store::{GetRequest, GetStatus, Hooks, KeyQuery, Store};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::expectation::{Golden, fields, number, record_equals, text};

/// Opens the store twice: as the reference left it and as ours did. `lost`: the record that was damaged.
pub fn check(golden: &Golden, lost: Option<i64>) {
    let before = (!golden.is_unclean()).then(|| golden.files());
    for _ in 0..2 {
        let store = open(golden);
        queues_reach_as_far(&store, golden, lost);
        units_are_equal(&store, golden, lost);
        messages_are_equal(&store, golden, lost);
        ids_are_equal(&store, golden, lost);
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
        let after = golden.files();
        for (path, bytes) in &before {
            assert!(after.get(path) == Some(bytes), "{} changed", path.display());
        }
    }
}

/// With no more than the reference's configuration.
pub fn open(golden: &Golden) -> Arc<Store> {
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

/// As request 321 shows them; of a unit with an entry in an extension, what that says. Of a batch queue the reference shows
/// some units more than once, and 4.9.4 shows units of records that expired.
fn units_are_equal(store: &Store, golden: &Golden, lost: Option<i64>) {
    for expected in golden.list("consumeQueue") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let units = expected["units"].as_array().unwrap();
        let appended = golden.appended_after_restart(topic, queue_id) as usize;
        let units = units[..units.len().saturating_sub(appended)].iter();
        let is_there = |place| place >= store.min_physical_offset() && lost != Some(place);
        let mut seen = BTreeSet::new();
        let expected: Vec<_> = units
            .map(|unit| [unit[0].as_i64().unwrap(), unit[1].as_i64().unwrap(), tags_code(unit)])
            .filter(|unit| is_there(unit[0]) && seen.insert(unit[0]))
            .collect();
        let found = store.units(topic, queue_id, store.min_offset(topic, queue_id).max(0), usize::MAX).unwrap();
        let found = found.iter().filter(|(_, unit)| unit.is_record());
        let found = found.map(|(_, unit)| [unit.physical_offset, i64::from(unit.size), unit.tags_code]);
        let found: Vec<_> = found.filter(|unit| lost != Some(unit[0])).collect();
        assert_eq!(found, expected, "{topic} {queue_id}");
    }
}

fn tags_code(unit: &Value) -> i64 {
    let shown = unit[2].as_i64().unwrap();
    // 4.9.4 shows the place in the extension
    let extension = unit[3].as_str().filter(|_| shown < i64::from(i32::MIN));
    extension.map_or(shown, |text| number(&serde_json::from_str(text).unwrap(), "tagsCode"))
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
                rest_is_equal(&Record::parse(record).unwrap(), expected);
            }
            None => assert_eq!(lost, Some(place), "{topic} {queue_id}"),
        }
    }
    assert!(unseen.is_empty() && light.is_empty(), "{unseen:?} {light:?} are not in the reference's queues");
}

/// What reading alone does not look at.
fn rest_is_equal(record: &Record<'_>, expected: &Value) {
    assert_eq!(i64::from(record.body_crc), number(expected, "bodyCRC"));
    assert_eq!(record.born_timestamp, number(expected, "bornTimestamp"));
    assert_eq!((record.born_host, record.store_host), (host(expected, "bornHost"), host(expected, "storeHost")));
    assert_eq!(i64::from(record.flag), number(expected, "flag"));
    assert_eq!(i64::from(record.reconsume_times), number(expected, "reconsumeTimes"));
    assert_eq!(record.prepared_transaction_offset, number(expected, "preparedTransactionOffset"));
    // of a compressed body the client saw another one
    let stored = expected["storedBodySha256"].as_str().unwrap_or_else(|| text(expected, "bodySha256"));
    let hash = Sha256::digest(record.body).iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    assert_eq!(hash, stored, "body of {}", record.physical_offset);
}

fn ids_are_equal(store: &Store, golden: &Golden, lost: Option<i64>) {
    for expected in golden.list("viewMessageById") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let is_found = expected["code"].as_i64() == Some(0);
        if !is_found || golden.is_appended_after_restart(topic, queue_id, number(expected, "queueOffset")) {
            continue;
        }
        let id: OffsetMessageId = text(expected, "msgId").parse().unwrap();
        assert_eq!((id.to_string().as_str(), id.offset), (text(expected, "msgId"), number(expected, "offset")));
        match store.record_at(id.offset).unwrap() {
            Some(record) => {
                let found = fields(&record);
                let size = number(expected, "storeSize");
                assert_eq!((i64::from(found.size), found.topic, found.queue_id), (size, topic, queue_id));
                assert_eq!(found.queue_offset, number(expected, "queueOffset"));
            }
            None => assert_eq!(lost, Some(id.offset)),
        }
    }
    for message in golden.list("messages") {
        let id: OffsetMessageId = text(message, "msgId").parse().unwrap();
        assert_eq!(id.offset, number(message, "commitLogOffset"));
        assert_eq!(id.store_host, host(message, "storeHost"));
    }
}

fn host(message: &Value, which: &str) -> SocketAddr {
    let (ip, port) = text(message, which).rsplit_once(':').unwrap();
    let ip: IpAddr = ip.trim_matches(['[', ']']).parse().unwrap();
    SocketAddr::new(ip, port.parse().unwrap())
}

fn times_lead_to_the_same_offsets(store: &Store, golden: &Golden) {
    for expected in golden.list("searchOffset") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        // 4.9.4 answers a time between two messages with either
        if golden.appended_after_restart(topic, queue_id) > 0 || !golden.is_5x() {
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
