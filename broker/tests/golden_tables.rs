//! Tables of stores that the reference left: topics, groups, offsets, modes of consumption and timers are told as the reference told them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use apogee_config::BrokerSettings;
use apogee_remoting::{Command, RequestCode};
use harness::TestBroker;
use serde_json::Value;

/// Their offsets move on while the store is open: retries and halves that wait are looked at.
const MOVING: [&str; 2] = ["CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_REVIVE_GROUP"];

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_told_as_the_reference_told_them() {
    let mut count = 0;
    for name in names() {
        let golden: Value = serde_json::from_slice(&fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap();
        let broker = TestBroker::start_with(|settings| unpack(&name, settings)).await;
        let tables = [
            (RequestCode::GET_ALL_TOPIC_CONFIG, "topicConfig", "topicConfigTable"),
            (RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroup", "subscriptionGroupTable"),
            (RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroup", "forbiddenTable"),
            (RequestCode::GET_ALL_CONSUMER_OFFSET, "consumerOffset", "offsetTable"),
            (RequestCode::GET_ALL_CONSUMER_OFFSET, "consumerOffset", "lmqOffsetTable"),
            (RequestCode::GET_ALL_MESSAGE_REQUEST_MODE, "messageRequestMode", "messageRequestModeMap"),
            (RequestCode::GET_TIMER_METRICS, "timerMetrics", "timingCount"),
        ];
        for (code, table, key) in tables {
            let Some(expected) = golden[table][key].as_object() else { continue };
            let found = body(&broker, code).await;
            for (entry, expected) in
                expected.iter().filter(|(entry, _)| !MOVING.iter().any(|group| entry.ends_with(group)))
            {
                let found = found[key].get(entry).unwrap_or_else(|| panic!("{name}: {table} has no {entry}"));
                says(found, expected, &format!("{name}: {table} {entry}"));
                count += 1;
            }
        }
        // Delays that are due are delivered at once: no level is behind where it was.
        let delays = body(&broker, RequestCode::GET_ALL_DELAY_OFFSET).await;
        for (level, offset) in golden["delayOffset"]["offsetTable"].as_object().into_iter().flatten() {
            let found = delays["offsetTable"].get(level).map_or(0, |found| found.as_i64().unwrap());
            assert!(found >= offset.as_i64().unwrap(), "{name}: level {level} is at {found}, not {offset}");
        }
        broker.stop().await;
    }
    assert!(count > 700, "{count}");
}

/// All that `expected` says; 4.9.4 says less than we do.
fn says(found: &Value, expected: &Value, what: &str) {
    match expected {
        Value::Object(expected) => {
            for (field, expected) in expected {
                says(&found[field], expected, &format!("{what}.{field}"));
            }
        }
        expected => assert_eq!(found, expected, "{what}"),
    }
}

/// With integer keys quoted, as the golden files have them.
async fn body(broker: &TestBroker, code: RequestCode) -> Value {
    let answer = broker.ok(Command::request(code)).await;
    let text = String::from_utf8(answer.body.bytes().to_vec()).unwrap();
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['{', ',']) {
        let (before, after) = rest.split_at(at + 1);
        quoted.push_str(before);
        let digits = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
        let is_key = digits > 0 && after[digits..].starts_with(':');
        rest = if is_key {
            quoted.extend(["\"", &after[..digits], "\""]);
            &after[digits..]
        } else {
            after
        };
    }
    quoted.push_str(rest);
    serde_json::from_str(&quoted).unwrap_or_else(|error| panic!("{error}: {quoted}"))
}

fn names() -> Vec<String> {
    let name = |file: fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".tar.zst")?.to_owned());
    let mut names: Vec<_> = fs::read_dir(folder()).unwrap().filter_map(|file| name(file.unwrap())).collect();
    names.sort_unstable();
    names
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/golden")
}

/// Puts a golden store where the broker will look for its own, with the settings that it was written with.
fn unpack(name: &str, settings: &mut BrokerSettings) {
    let store = &mut settings.store;
    let packed = File::open(folder().join(format!("{name}.tar.zst"))).unwrap();
    let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    tar::Archive::new(unpacked).unpack(Path::new(&store.store_path_root_dir).parent().unwrap()).unwrap();
    store.mapped_file_size_commit_log = 262_144;
    store.mapped_file_size_consume_queue = 1200;
    store.mapper_file_size_batch_consume_queue = 4600;
    store.max_hash_slot_num = 100;
    store.max_index_num = 400;
    store.file_reserved_time = 87_600;
    let is_light = name == "lmq";
    store.enable_lmq = is_light;
    store.enable_multi_dispatch = is_light;
    settings.broker.broker_cluster_name = "DefaultCluster".into();
}
