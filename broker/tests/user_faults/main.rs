//! Faults that users of such brokers reported, one test for each report and its siblings. Report numbers without a
//! repository are those of apache/rocketmq. The letter and number in a test's name are our own.
//!
//! Some stand elsewhere: B01, B32 and B38 of the name server in `namesrv/tests/server.rs`, B16 of its file in
//! `namesrv/src/kv/store.rs`, B01 and B04 of any server in `remoting/tests/frames.rs`, B09 and B10 in
//! `store/tests/user_faults.rs`, B17 in `store/src/disk.rs`, B28 in `retry.rs`, B25 of expressions after a restart in
//! `filter.rs`, B30 of resets in `reset.rs`.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../harness/mod.rs"]
mod harness;

mod addresses;
mod config_update;
mod frames;
mod held_pulls;
mod names;
mod offsets;
mod properties;
mod replication;
mod state_files;
mod tags;
mod topics;
mod trace;

use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::TestBroker;

/// A request with these fields.
fn request(code: RequestCode, fields: &[(&str, &str)]) -> Command {
    fields.iter().fold(Command::request(code), |command, (name, value)| command.with_field(name, value))
}

/// A send into queue 0, of one message or, by its code, of a batch.
fn send(code: RequestCode, topic: &str, properties: &str, body: Vec<u8>) -> Command {
    let batch = if code == RequestCode::SEND_BATCH_MESSAGE { "true" } else { "false" };
    let fields = [
        ("a", "PG"),
        ("b", topic),
        ("c", "TBW102"),
        ("d", "4"),
        ("e", "0"),
        ("f", "0"),
        ("g", "1700000000000"),
        ("h", "0"),
        ("i", properties),
        ("m", batch),
    ];
    request(code, &fields).with_body(body)
}

/// A pull from queue 0 with a subscription of its own; it waits for `suspend` ms for messages, 0 for not at all.
fn pull(topic: &str, offset: i64, tags: &str, suspend: u64) -> Command {
    let fields = [
        ("consumerGroup", "G"),
        ("topic", topic),
        ("queueId", "0"),
        ("queueOffset", &offset.to_string()),
        ("maxMsgNums", "32"),
        ("sysFlag", if suspend > 0 { "6" } else { "4" }),
        ("commitOffset", "0"),
        ("suspendTimeoutMillis", &suspend.to_string()),
        ("subscription", tags),
        ("subVersion", "0"),
        ("expressionType", "TAG"),
    ];
    request(RequestCode::PULL_MESSAGE, &fields)
}

/// Waits until `count` messages of queue 0 are readable.
async fn readable(broker: &TestBroker, topic: &str, count: i64) {
    broker
        .wait_for("messages in the queue", async |broker| (max_offset(broker, topic).await == count).then_some(()))
        .await;
}

/// The offset behind the newest message of queue 0.
async fn max_offset(broker: &TestBroker, topic: &str) -> i64 {
    let answer = broker.ok(request(RequestCode::GET_MAX_OFFSET, &[("topic", topic), ("queueId", "0")])).await;
    answer.field("offset").unwrap().parse().unwrap()
}

/// What `look` makes of the messages that a pull brought.
fn messages<T>(answer: &Command, look: impl Fn(&Record<'_>) -> T) -> Vec<T> {
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    let bytes = answer.body.bytes();
    entries(&bytes).map(|record| look(&record.unwrap())).collect()
}
