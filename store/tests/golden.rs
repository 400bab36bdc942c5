//! Stores written by the reference must read as the reference read them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

#[path = "golden/derived.rs"]
mod derived;
#[path = "golden/expectation.rs"]
mod expectation;
#[path = "golden/opened.rs"]
mod opened;
#[path = "golden/whole.rs"]
mod whole;

use apogee_remoting::message::id::OffsetMessageId;
use apogee_store::index::IndexKind;
use apogee_store::read::{Boundary, GetRequest, GetStatus, ReadLimits, RecordSource, get, offset_by_time, store_time};
use expectation::{fields, number, record_equals, text};
use opened::Opened;
use serde_json::Value;

macro_rules! golden {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() { check(&Opened::open($name)); })*
    };
}

golden! {
    plain_5x = "plain-5x";
    plain_4x = "plain-4x";
    batch = "batch";
    delay = "delay";
    delay_4x = "delay-4x";
    transaction = "transaction";
    transaction_4x = "transaction-4x";
    retry_dlq = "retry-dlq";
    retry_dlq_4x = "retry-dlq-4x";
    crashed = "crashed";
    crashed_no_last_cq = "crashed-no-last-cq";
    crashed_no_derived = "crashed-no-derived";
    crashed_no_checkpoint = "crashed-no-checkpoint";
    crashed_torn_early = "crashed-torn-early";
    crashed_overwritten_body = "crashed-overwritten-body";
    expired = "expired";
    expired_4x = "expired-4x";
    first_files_gone = "first-files-gone";
    ipv6 = "ipv6";
    long_topic = "long-topic";
    lmq = "lmq";
    pop = "pop";
    pop_kv = "pop-kv";
}

/// Index files made from the log alone are those of the reference, byte for byte, and opening them changes nothing.
#[test]
fn index_files_are_equal() {
    for name in ["plain-5x", "ipv6", "long-topic", "lmq", "pop"] {
        let store = Opened::open(name);
        let [theirs, kept, ours] = store.index_files();
        assert_eq!(theirs.len(), ours.len(), "{name}");
        for (n, ((theirs, kept), ours)) in theirs.iter().zip(&kept).zip(&ours).enumerate() {
            assert!(theirs == kept, "{name}: file {n} changed");
            assert!(theirs == ours, "{name}: file {n} differs");
        }
    }
}

fn check(store: &Opened) {
    queues_reach_as_far(store);
    units_are_equal(store);
    messages_are_equal(store);
    times_lead_to_the_same_offsets(store);
    ids_lead_to_records(store);
    keys_lead_to_records(store);
}

fn queues_reach_as_far(store: &Opened) {
    for expected in store.list("queues") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let (mut min, max) = (number(expected, "minOffset"), number(expected, "maxOffset"));
        let max = max - store.appended_after_restart(topic, queue_id);
        let queue = store.queues.get(topic, queue_id);
        let found = queue.as_ref().map_or((0, 0), |queue| (queue.min_offset(), queue.max_offset()));
        if expected["earliestStoreTime"].as_i64() == Some(-1) {
            // 4.9.4 leaves the minimum of a queue whose messages all expired; 5.5.0 does not
            min = max;
        }
        assert_eq!(found, (min, max), "{topic} {queue_id}");
        if let Some(queue) = queue
            && min < max
        {
            let first = queue.unit(min).unwrap().unwrap();
            let earliest = store_time(&*store.log, first).unwrap();
            assert_eq!(earliest, expected["earliestStoreTime"].as_i64(), "{topic} {queue_id}");
        }
    }
}

fn units_are_equal(store: &Opened) {
    for expected in store.list("consumeQueue") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let queue = store.queues.get(topic, queue_id).unwrap();
        let units = expected["units"].as_array().unwrap();
        let first = number(expected, "firstIndex");
        let appended = store.appended_after_restart(topic, queue_id) as usize;
        for (n, unit) in units[..units.len().saturating_sub(appended)].iter().enumerate() {
            let found = queue.unit(first + n as i64).unwrap().unwrap();
            let found = [found.physical_offset, i64::from(found.size), found.tags_code];
            let expected: Vec<_> = (0..3).map(|at| unit[at].as_i64().unwrap()).collect();
            assert_eq!(found, expected[..], "{topic} {queue_id} {n}");
        }
    }
}

fn messages_are_equal(store: &Opened) {
    for expected in store.list("messages") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let offset = number(expected, "queueOffset");
        if store.is_appended_after_restart(topic, queue_id, offset) {
            continue;
        }
        let request = GetRequest { topic, queue_id, offset, max_count: 1, max_bytes: 1 };
        let found = get(&*store.log, &store.queues, &ReadLimits::default(), &request, None).unwrap();
        assert_eq!(
            (found.status, found.count, found.next_offset),
            (GetStatus::Found, 1, offset + 1),
            "{topic} {queue_id} {offset}"
        );
        record_equals(&found.runs[0], expected);
    }
    // and many at once, as a consumer reads
    for expected in store.list("queues") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let Some(queue) = store.queues.get(topic, queue_id) else {
            continue;
        };
        let mut offset = queue.min_offset();
        while offset < queue.max_offset() {
            let request = GetRequest { topic, queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
            let found = get(&*store.log, &store.queues, &ReadLimits::default(), &request, None).unwrap();
            assert_eq!(found.status, GetStatus::Found, "{topic} {queue_id} {offset}");
            assert_eq!(found.next_offset, offset + found.count as i64);
            assert_eq!(found.bytes, found.runs.iter().map(bytes::Bytes::len).sum::<usize>());
            offset = found.next_offset;
        }
    }
}

fn times_lead_to_the_same_offsets(store: &Opened) {
    for expected in store.list("searchOffset") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        // 4.9.4 answers a time between two messages with either
        if store.appended_after_restart(topic, queue_id) > 0 || !store.is_5x() {
            continue;
        }
        let queue = store.queues.get(topic, queue_id).unwrap();
        if queue.min_offset() == queue.max_offset() {
            continue;
        }
        for row in expected["rows"].as_array().unwrap() {
            let time = row[0].as_i64().unwrap();
            let find = |boundary| offset_by_time(&*store.log, &queue, time, boundary).unwrap();
            assert_eq!(Some(find(Boundary::Lower)), row[1].as_i64(), "{topic} {queue_id} {time}");
            if let (Some(lower), Some(upper)) = (row[2].as_i64(), row[3].as_i64()) {
                assert_eq!(find(Boundary::Lower), lower, "{topic} {queue_id} {time}");
                assert_eq!(find(Boundary::Upper), upper, "{topic} {queue_id} {time}");
            }
        }
    }
}

fn ids_lead_to_records(store: &Opened) {
    for expected in store.list("viewMessageById") {
        if expected["code"].as_i64() != Some(0) {
            continue;
        }
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        if store.is_appended_after_restart(topic, queue_id, number(expected, "queueOffset")) {
            continue;
        }
        let id: OffsetMessageId = text(expected, "msgId").parse().unwrap();
        assert_eq!(id.to_string(), text(expected, "msgId"));
        assert_eq!(id.offset, number(expected, "offset"));
        let size = number(expected, "storeSize");
        let record = opened::slice(&store.log, id.offset, size as usize);
        let fields = fields(&record);
        assert_eq!(i64::from(fields.size), size);
        assert_eq!((fields.topic, fields.queue_id), (topic, queue_id));
        assert_eq!(fields.queue_offset, number(expected, "queueOffset"));
    }
    for message in store.list("messages") {
        let id: OffsetMessageId = text(message, "msgId").parse().unwrap();
        assert_eq!(id.offset, number(message, "commitLogOffset"));
        assert_eq!(Value::from(id.store_host.to_string()), host(message));
    }
}

fn keys_lead_to_records(store: &Opened) {
    for expected in store.list("queryMessage") {
        let (topic, key) = (text(expected, "topic"), text(expected, "key"));
        let Some(rows) = expected["result"].as_array() else {
            continue;
        };
        let (begin, end) = (number(expected, "begin"), number(expected, "end"));
        let max = (number(expected, "maxNum") as usize).min(64);
        let found = store.index.reader().query(topic, key, IndexKind::Key, max, begin, end).unwrap();
        let there = |offset: &i64| (store.log.min_offset()..store.log.max_offset()).contains(offset);
        let expected = rows.iter().map(|row| row[2].as_i64().unwrap());
        // some were written after the reference opened the store
        let expected: Vec<_> = expected.filter(there).collect();
        // what expired is in the index a while longer
        let found: Vec<_> = found.offsets.into_iter().filter(there).collect();
        assert_eq!(found, expected, "{topic} {key}");
    }
}

fn host(message: &Value) -> Value {
    let host = text(message, "storeHost");
    let (ip, port) = host.rsplit_once(':').unwrap();
    let ip: std::net::IpAddr = ip.trim_matches(['[', ']']).parse().unwrap();
    Value::from(std::net::SocketAddr::new(ip, port.parse().unwrap()).to_string())
}
