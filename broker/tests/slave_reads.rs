//! Where consumers are sent to read: to the slave when they are far behind or the master is gone, and back.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use std::time::{Duration, Instant};

use apogee_config::BrokerSettings;
use apogee_remoting::protocol::pull::{PullMessageRequestHeader, PullMessageResponseHeader};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::replication::{caught_up, slave};
use harness::{TestBroker, TestNameServer, pull_header};

/// Whatever is not the newest message counts as not in memory.
fn without_memory(settings: &mut BrokerSettings) {
    settings.broker.slave_read_enable = true;
    settings.store.access_message_in_memory_max_ratio = 0;
}

/// Code of the answer to a pull from an offset, and the broker that it names for the next one.
async fn pull(broker: &TestBroker, queue_offset: i64) -> (ResponseCode, i64) {
    let header = PullMessageRequestHeader { queue_offset, ..pull_header("G", "T") };
    let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
    let code = answer.response_code();
    (code, answer.header::<PullMessageResponseHeader>().map_or(-1, |header| header.suggest_which_broker_id))
}

async fn group(broker: &TestBroker, broker_id: i64, when_slow: i64) {
    let group = format!(r#"{{"groupName":"G","brokerId":{broker_id},"whichBrokerWhenConsumeSlowly":{when_slow}}}"#);
    broker.ok(Command::request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).with_body(group)).await;
}

#[tokio::test]
async fn a_master_names_the_broker_that_a_group_has_for_its_pace() {
    let master = TestBroker::start().await;
    for _ in 0..3 {
        master.send("T", 0, "x").await;
    }
    master
        .wait_for("messages are there", async |it| (pull(it, 2).await.0 == ResponseCode::SUCCESS).then_some(()))
        .await;
    group(&master, 2, 5).await;
    assert_eq!(pull(&master, 0).await, (ResponseCode::SUCCESS, 0), "slaves are not read from (slaveReadEnable)");
    let master = master.restart_with(|settings| settings.broker.slave_read_enable = true).await;
    assert_eq!(pull(&master, 0).await, (ResponseCode::SUCCESS, 2), "not far behind");
    let master = master.restart_with(without_memory).await;
    assert_eq!(pull(&master, 0).await, (ResponseCode::SUCCESS, 5), "far behind");
    group(&master, 0, 1).await;
    assert_eq!(pull(&master, 0).await, (ResponseCode::SUCCESS, 1));
    assert_eq!(pull(&master, 3).await.1, 0, "nothing is left to read");
    let master = master.restart_with(|settings| settings.broker.slave_read_enable = false).await;
    assert_eq!(pull(&master, 0).await, (ResponseCode::SUCCESS, 0));
    master.stop().await;
}

#[tokio::test]
async fn a_slave_serves_while_it_has_to_and_sends_consumers_back() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    for _ in 0..3 {
        master.send("T", 0, "x").await;
    }
    group(&master, 0, 1).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    caught_up(&master, &slave).await;
    let answers = async |slave: &TestBroker, expected| {
        slave.wait_for("that answer", async |slave| (pull(slave, 3).await == expected).then_some(())).await;
    };
    // There is nothing for the consumer: it is not held for long, but asks the master.
    answers(&slave, (ResponseCode::PULL_RETRY_IMMEDIATELY, 0)).await;
    let begin = Instant::now();
    let held = PullMessageRequestHeader {
        queue_offset: 3,
        sys_flag: 0x6,
        suspend_timeout_millis: Some(60_000),
        ..pull_header("G", "T")
    };
    let answer = slave.call(TestBroker::request(RequestCode::PULL_MESSAGE, &held)).await;
    assert_eq!(answer.response_code(), ResponseCode::PULL_RETRY_IMMEDIATELY);
    assert!(begin.elapsed() >= Duration::from_millis(200), "it does not ask again and again");
    assert_eq!(pull(&slave, 0).await, (ResponseCode::SUCCESS, 0), "it gets what is there, and then goes to the master");

    let master = master.pause().await;
    answers(&slave, (ResponseCode::PULL_NOT_FOUND, 0)).await;
    let master = master.go_on().await;
    answers(&slave, (ResponseCode::PULL_RETRY_IMMEDIATELY, 0)).await;

    let slave = slave.restart_with(without_memory).await;
    let far_behind = async |slave: &TestBroker| (pull(slave, 0).await == (ResponseCode::SUCCESS, 1)).then_some(());
    slave.wait_for("who is far behind stays", far_behind).await;
    slave.stop().await;
    master.stop().await;
}
