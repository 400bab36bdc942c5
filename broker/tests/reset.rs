//! Resets on the broker, as a group notices them.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::time::Duration;

use apogee_remoting::protocol::offset::{QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::reset_offset::ResetOffsetRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TestBroker, pull_header};

/// Nobody waits so long; a pull that is not woken ends the test.
const LONG: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_ends_the_hold_of_a_pull_and_is_given_out_once() {
    let broker = with_messages().await;
    let held = PullMessageRequestHeader {
        queue_offset: 3,
        sys_flag: 0x7,
        commit_offset: Some(3),
        suspend_timeout_millis: Some(LONG.as_millis() as i64),
        ..pull_header("G", "T")
    };
    let held = TestBroker::request(RequestCode::PULL_MESSAGE, &held);
    // One connection, on which the pull comes first.
    let (answer, _) = tokio::join!(broker.call(held), broker.ok(reset(0)));
    assert_eq!(answer.response_code(), ResponseCode::PULL_OFFSET_MOVED);
    assert_eq!((answer.field("nextBeginOffset"), answer.remark.as_deref()), (Some("0"), Some("OFFSET_RESET")));
    let again = broker.call(pull(3)).await;
    assert_eq!(again.response_code(), ResponseCode::PULL_NOT_FOUND);
    assert_eq!(committed(&broker).await, 0);
    broker.stop().await;
}

/// 10827 and its like: what a consumer commits late, with a pull or without, undid a reset.
#[tokio::test(flavor = "multi_thread")]
async fn b30_a_late_commit_does_not_undo_a_reset() {
    let broker = with_messages().await;
    broker.ok(commit(3)).await;
    broker.ok(reset(1)).await;
    assert_eq!(broker.ok(commit(3)).await.remark.as_deref(), Some("Offset has been previously reset"));
    assert_eq!(committed(&broker).await, 1);
    let commits = PullMessageRequestHeader { sys_flag: 0x5, commit_offset: Some(3), ..pull_header("G", "T") };
    let moved = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &commits)).await;
    assert_eq!((moved.field("nextBeginOffset"), committed(&broker).await), (Some("1"), 1));
    broker.ok(commit(2)).await;
    assert_eq!(committed(&broker).await, 2);
    broker.stop().await;
}

/// What the offsets were set to is kept over a restart, though the consumers are not told again.
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_is_kept_over_a_restart() {
    let broker = with_messages().await;
    broker.ok(commit(3)).await;
    broker.ok(reset(2)).await;
    let broker = broker.restart().await;
    assert_eq!(committed(&broker).await, 2);
    assert_eq!(broker.call(pull(3)).await.response_code(), ResponseCode::PULL_NOT_FOUND);
    broker.stop().await;
}

/// A broker whose topic has three messages, which the group has been told of.
async fn with_messages() -> TestBroker {
    let broker = TestBroker::start().await;
    for number in 0..3 {
        assert_eq!(broker.send("T", 0, "m").await, number);
    }
    // The pull makes the group.
    broker.wait_for("messages", async |broker| (broker.call(pull(2)).await.code == 0).then_some(())).await;
    broker
}

fn pull(queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader { queue_offset, ..pull_header("G", "T") };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

fn reset(offset: i64) -> Command {
    let header = ResetOffsetRequestHeader {
        group: "G",
        topic: "T",
        queue_id: 0,
        offset: Some(offset),
        timestamp: 0,
        is_force: true,
    };
    TestBroker::request(RequestCode::INVOKE_BROKER_TO_RESET_OFFSET, &header)
}

fn commit(commit_offset: i64) -> Command {
    let header = UpdateConsumerOffsetRequestHeader { consumer_group: "G", topic: "T", queue_id: 0, commit_offset };
    TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &header)
}

async fn committed(broker: &TestBroker) -> i64 {
    let header = QueryConsumerOffsetRequestHeader {
        consumer_group: "G",
        topic: "T",
        queue_id: 0,
        set_zero_if_not_found: Some(false),
    };
    let answer = broker.ok(TestBroker::request(RequestCode::QUERY_CONSUMER_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}
