//! Locks of queues, over a restart and over the brokers of a set (`lockInStrictMode`).

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::collections::BTreeSet;

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::lock::{LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody};
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::offset::{QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, json};
use harness::{TestBroker, TestNameServer, pull_header};

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_lock_is_held_by_most_of_the_set() {
    let name_server = TestNameServer::start().await;
    let master = member(&name_server, 0).await;
    let other = member(&name_server, 1).await;
    assert_eq!(lock(&master, "a", false).await, [queue()].into());
    // The other broker knows of it, and so does whoever asks it.
    assert_eq!(lock(&other, "b", true).await, BTreeSet::new());
    assert_eq!(lock(&other, "b", false).await, BTreeSet::new());

    unlock(&master, "a").await;
    other
        .wait_for("the end of the lock on the other broker", async |other| {
            (lock(other, "b", true).await == [queue()].into()).then_some(())
        })
        .await;
    // One of two is not most of them.
    assert_eq!(lock(&master, "a", false).await, BTreeSet::new());
    other.stop().await;
    assert_eq!(lock(&master, "a", false).await, BTreeSet::new());
    assert_eq!(lock(&master, "a", true).await, [queue()].into());
    master.stop().await;
}

/// Locks end with the broker, and whoever takes one next goes on where its group was.
#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_group_goes_on_after_a_restart() {
    let broker = TestBroker::start().await;
    for number in 0..6 {
        assert_eq!(broker.send("T", 0, &number.to_string()).await, number);
    }
    assert_eq!(lock(&broker, "a", false).await, [queue()].into());
    assert_eq!(lock(&broker, "b", false).await, BTreeSet::new());
    // Who pulls makes the group.
    broker.ok(TestBroker::request(RequestCode::PULL_MESSAGE, &pull_header("G", "T"))).await;
    let commit = UpdateConsumerOffsetRequestHeader { consumer_group: "G", topic: "T", queue_id: 0, commit_offset: 3 };
    broker.ok(TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &commit)).await;

    let broker = broker.restart().await;
    assert_eq!(lock(&broker, "b", false).await, [queue()].into());
    assert_eq!(lock(&broker, "a", false).await, BTreeSet::new());
    let query =
        QueryConsumerOffsetRequestHeader { consumer_group: "G", topic: "T", queue_id: 0, set_zero_if_not_found: None };
    let at = broker.ok(TestBroker::request(RequestCode::QUERY_CONSUMER_OFFSET, &query)).await;
    assert_eq!(at.field("offset"), Some("3"));
    let header = PullMessageRequestHeader { queue_offset: 3, ..pull_header("G", "T") };
    let pulled = broker.ok(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
    let bytes = pulled.body.bytes();
    let bodies: Vec<_> = entries(&bytes).map(|record| record.unwrap().body).collect();
    assert_eq!(bodies, [b"3", b"4", b"5"]);
    broker.stop().await;
}

/// A broker of a set of two.
async fn member(name_server: &TestNameServer, id: i64) -> TestBroker {
    let of_two = |settings: &mut BrokerSettings| {
        settings.broker.broker_id = id;
        settings.store.broker_role = if id == 0 { BrokerRole::AsyncMaster } else { BrokerRole::Slave };
        settings.broker.namesrv_addr = Some(name_server.address.clone());
        settings.broker.lock_in_strict_mode = true;
        settings.store.total_replicas = 2;
    };
    TestBroker::start_with(of_two).await
}

fn queue() -> MessageQueue {
    MessageQueue { topic: "T".into(), broker_name: "broker-a".into(), queue_id: 0 }
}

async fn lock(broker: &TestBroker, client: &str, only_this_broker: bool) -> BTreeSet<MessageQueue> {
    let body = LockBatchRequestBody {
        client_id: client.into(),
        consumer_group: "G".into(),
        mq_set: [queue()].into(),
        only_this_broker,
    };
    let answer = broker.ok(Command::request(RequestCode::LOCK_BATCH_MQ).with_body(json::to_vec(&body))).await;
    json::from_slice::<LockBatchResponseBody>(&answer.body.bytes()).unwrap().lock_okmq_set
}

async fn unlock(broker: &TestBroker, client: &str) {
    let body = UnlockBatchRequestBody {
        client_id: client.into(),
        consumer_group: "G".into(),
        mq_set: [queue()].into(),
        only_this_broker: false,
    };
    broker.ok(Command::request(RequestCode::UNLOCK_BATCH_MQ).with_body(json::to_vec(&body))).await;
}
