//! A slave acts for its master while that is gone.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::protocol::offset::UpdateConsumerOffsetRequestHeader;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::replication::{self, caught_up, ha_port, runtime_info};
use harness::{TestBroker, TestNameServer, pull_header, send_header};

async fn broker(name_server: &TestNameServer, change: impl FnOnce(&mut BrokerSettings)) -> TestBroker {
    TestBroker::start_at(name_server, |settings| {
        settings.broker.enable_slave_acting_master = true;
        settings.broker.enable_remote_escape = true;
        settings.broker.sync_broker_member_group_period = 20;
        settings.broker.transaction_check_interval = 20;
        // Nobody but the one who acts asks about a half in the time of this test.
        settings.broker.transaction_time_out = 600_000;
        "1h".clone_into(&mut settings.store.message_delay_level);
        settings.store.total_replicas = 2;
        change(settings);
    })
    .await
}

fn slave(settings: &mut BrokerSettings) {
    replication::slave(settings);
    // When a message is due, is what the one says who delivers it.
    "1s".clone_into(&mut settings.store.message_delay_level);
}

async fn body(broker: &TestBroker, code: RequestCode) -> String {
    String::from_utf8_lossy(&broker.ok(Command::request(code)).await.body.bytes()).into_owned()
}

#[tokio::test]
async fn a_slave_delivers_and_hands_over_until_its_master_is_back() {
    let name_server = TestNameServer::start().await;
    let master = broker(&name_server, |_| {}).await;
    // What the slave has to know before it acts.
    master.send("T", 0, "not delayed").await;
    master.call(TestBroker::request(RequestCode::PULL_MESSAGE, &pull_header("G", "T"))).await;
    let slave = broker(&name_server, slave).await;
    slave
        .wait_for("the slave knows topic and group", async |slave| {
            let topics = body(slave, RequestCode::GET_ALL_TOPIC_CONFIG).await;
            let groups = body(slave, RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG).await;
            (topics.contains("\"T\"") && groups.contains("\"G\"")).then_some(())
        })
        .await;
    let other = broker(&name_server, |settings| settings.broker.broker_name = "broker-b".to_owned()).await;
    other.send("T", 0, "first of its topic here").await;
    // It stores, and then says that no slave has it: what it got, it must not get again.
    let alone = |settings: &mut BrokerSettings| {
        settings.broker.enable_slave_acting_master = false;
        settings.store.broker_role = BrokerRole::SyncMaster;
        settings.store.in_sync_replicas = 2;
        settings.store.slave_timeout = 20;
    };
    let other = other.restart_with(alone).await;
    master.send_with("T", 0, "DELAY\u{1}1\u{2}", "delayed").await;
    let mut half = send_header("T");
    half.properties = Some("TRAN_MSG\u{1}true\u{2}PGROUP\u{1}PG\u{2}UNIQ_KEY\u{1}U\u{2}");
    // One that is old is given up by whoever looks first.
    half.born_timestamp = runtime_info(&master, "bootTimestamp").await.parse().unwrap();
    master.ok(TestBroker::request(RequestCode::SEND_MESSAGE, &half).with_body("half".to_owned())).await;
    caught_up(&master, &slave).await;
    assert_eq!(
        [runtime_info(&master, "brokerActive").await, runtime_info(&slave, "brokerActive").await],
        ["true", "false"]
    );

    let master = master.pause().await;
    let pulled = async |other: &TestBroker| {
        let mut bodies = Vec::new();
        for queue_id in 0..8 {
            let header = PullMessageRequestHeader { queue_id, ..pull_header("G", "T") };
            let answer = other.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
            if answer.response_code() == ResponseCode::SUCCESS {
                bodies.push(String::from_utf8_lossy(&answer.body.bytes()).into_owned());
            }
        }
        bodies.concat().contains("delayed").then_some(())
    };
    other.wait_for("the delayed message is delivered elsewhere", pulled).await;
    let half = Command::request(RequestCode::GET_MAX_OFFSET)
        .with_field("topic", "RMQ_SYS_TRANS_HALF_TOPIC")
        .with_field("queueId", "0");
    other
        .wait_for("the half waits elsewhere", async |other| {
            (other.ok(half.clone()).await.field("offset") == Some("1")).then_some(())
        })
        .await;
    slave
        .wait_for("the slave notes that", async |slave| {
            let offsets = body(slave, RequestCode::GET_ALL_CONSUMER_OFFSET).await;
            let delays = body(slave, RequestCode::GET_ALL_DELAY_OFFSET).await;
            (offsets.contains("CID_RMQ_SYS_TRANS\":{0:1}") && delays.contains("{1:1}")).then_some(())
        })
        .await;
    assert_eq!(runtime_info(&slave, "brokerActive").await, "true");
    let refused =
        slave.call(TestBroker::request(RequestCode::SEND_MESSAGE, &send_header("T")).with_body("x".to_owned())).await;
    assert_eq!(refused.response_code(), ResponseCode::SERVICE_NOT_AVAILABLE);
    let commit = UpdateConsumerOffsetRequestHeader { consumer_group: "G", topic: "T", queue_id: 0, commit_offset: 7 };
    slave.ok(TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &commit)).await;

    let master = master.go_on().await;
    slave
        .wait_for("the master is back", async |slave| {
            (runtime_info(slave, "brokerActive").await == "false").then_some(())
        })
        .await;
    // All of that it knew before anybody heard of it.
    let offsets = body(&master, RequestCode::GET_ALL_CONSUMER_OFFSET).await;
    assert!(offsets.contains("CID_RMQ_SYS_TRANS\":{0:1}") && offsets.contains("\"T@G\":{0:7}"), "{offsets}");
    assert!(body(&master, RequestCode::GET_ALL_DELAY_OFFSET).await.contains("{1:1}"));
    slave.stop().await;
    other.stop().await;
    master.stop().await;
}

/// A slave without name servers, that is told who lives as a name server tells it (905).
#[tokio::test]
async fn a_slave_follows_the_broker_with_the_smallest_id() {
    let master = TestBroker::start().await;
    let slave = TestBroker::start_with(|settings| {
        settings.broker.enable_slave_acting_master = true;
        slave(settings);
    })
    .await;
    let ha_address = format!("127.0.0.1:{}", ha_port(&master));
    let tell = async |fields: &[(&str, &str)]| {
        let change = Command::request(RequestCode::NOTIFY_MIN_BROKER_ID_CHANGE).with_field("brokerName", "broker-a");
        slave.ok(fields.iter().fold(change, |change, (name, value)| change.with_field(name, value))).await;
        let status = body(&slave, RequestCode::GET_BROKER_HA_STATUS).await;
        (runtime_info(&slave, "brokerActive").await, status.contains(&format!("\"masterAddr\":\"{ha_address}\"")))
    };
    let acts = |active: &str, follows| (active.to_owned(), follows);
    let gone = [("minBrokerId", "1"), ("minBrokerAddr", &*slave.address), ("offlineBrokerAddr", &*master.address)];
    assert_eq!(tell(&gone).await, acts("true", false));
    let back = [("minBrokerId", "0"), ("minBrokerAddr", &*master.address), ("haBrokerAddr", &*ha_address)];
    assert_eq!(tell(&back).await, acts("false", true));
    // Nothing new, and a change that says nothing.
    assert_eq!(tell(&back).await, acts("false", true));
    assert_eq!(tell(&[]).await, acts("false", true));
    master.send("T", 0, "x").await;
    caught_up(&master, &slave).await;
    assert_eq!(tell(&gone).await, acts("true", false));
    slave.stop().await;
    master.stop().await;
}
