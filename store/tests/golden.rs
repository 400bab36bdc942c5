//! Stores written by the reference must read as the reference read them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

#[path = "golden/derived.rs"]
mod derived;
#[path = "golden/expectation.rs"]
mod expectation;
#[path = "golden/served.rs"]
mod served;

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::Record;
use expectation::Golden;
use serde_json::Value;
use served::{check, open};

macro_rules! golden {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() { check(&Golden::unpack($name), None); })*
        /// Those that must read as the reference read them.
        const STORES: &[&str] = &[$($name),*];
    };
}

golden! {
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
const DAMAGED_AT_THE_END: [&str; 4] =
    ["crashed-overwritten", "crashed-overwritten-body", "crashed-torn", "crashed-torn-early"];
const DAMAGED_IN_THE_MIDDLE: &str = "crashed-overwritten-middle";
/// The reference serves these from a log of another kind.
const COMPACTION: &str = "compaction";

#[test]
fn every_store_is_in_a_test() {
    let mut tested = [STORES, &DAMAGED_AT_THE_END, &[DAMAGED_IN_THE_MIDDLE, COMPACTION]].concat();
    tested.sort_unstable();
    assert_eq!(tested, Golden::names());
}

#[test]
fn damaged_last_records_are_cut() {
    for name in DAMAGED_AT_THE_END {
        let golden = Golden::unpack_as(name, "crashed");
        let last = golden.offsets().into_iter().max();
        check(&golden, last);
    }
}

#[test]
fn records_behind_a_damaged_one_are_kept() {
    let served = Golden::unpack(DAMAGED_IN_THE_MIDDLE).offsets();
    let golden = Golden::unpack_as(DAMAGED_IN_THE_MIDDLE, "crashed");
    let lost = golden.offsets().into_iter().filter(|offset| !served.contains(offset)).min();
    assert!(lost.is_some());
    check(&golden, lost);
}

/// What the reference lost of what it had acknowledged: one record damaged, and those behind it.
#[test]
fn more_is_served_than_by_the_reference() {
    for (name, lost) in [("crashed-overwritten-body", 1), (DAMAGED_IN_THE_MIDDLE, 10), ("crashed-torn-early", 1)] {
        let golden = Golden::unpack(name);
        let not_served = golden.list("acknowledgedNotServed");
        assert_eq!(not_served.len(), lost, "{name}");
        let store = open(&golden);
        let is_there = |id: &&Value| {
            store.record_at(id.as_str().unwrap().parse::<OffsetMessageId>().unwrap().offset).unwrap().is_some()
        };
        assert_eq!(not_served.iter().filter(is_there).count(), lost - 1, "{name}");
        store.close().unwrap();
    }
}

/// The records are still found by their place.
#[test]
fn stores_with_queues_of_other_kinds_open() {
    let golden = Golden::unpack(COMPACTION);
    let store = open(&golden);
    let unit = |queue: &Value| queue["units"].as_array().unwrap().clone();
    for unit in golden.list("consumeQueue").iter().flat_map(unit) {
        let record = store.record_at(unit[0].as_i64().unwrap()).unwrap().unwrap();
        assert_eq!(Some(record.len() as i64), unit[1].as_i64());
        Record::parse(&record).unwrap().verify(false).unwrap();
    }
    store.close().unwrap();
}
