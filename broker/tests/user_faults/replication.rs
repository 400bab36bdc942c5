//! Masters and slaves.

use apogee_config::BrokerRole;
use apogee_remoting::{RequestCode, ResponseCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::replication::{caught_up, ha_port, slave};
use crate::harness::{TestBroker, TestNameServer};
use crate::{messages, pull, readable, request};

/// B22 (316, alibaba/rocketmq 406): a topic deleted and created again at the master kept its old queue on the slave, and the
/// messages of the new one were not to be had there.
#[tokio::test(flavor = "multi_thread")]
async fn b22_a_topic_that_the_slave_saw_go_begins_at_0_there() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    for _ in 0..100 {
        master.send("T", 0, "old").await;
    }
    readable(&slave, "T", 100).await;
    // Tables are copied once a minute, and at the start.
    let slave = slave.restart().await;
    committed(&master, 100).await;
    slave.wait_for("the topic is copied", async |slave| names(slave, TOPICS, "T").await.then_some(())).await;
    master.ok(request(RequestCode::DELETE_TOPIC_IN_BROKER, &[("topic", "T")])).await;
    let slave = slave.restart().await;
    slave.wait_for("the deletion is copied", async |slave| (!names(slave, TOPICS, "T").await).then_some(())).await;
    readable(&slave, "T", 0).await;
    assert_eq!(master.send("T", 0, "new").await, 0);
    readable(&slave, "T", 1).await;
    let slave = slave.restart().await;
    slave.wait_for("the topic is copied", async |slave| names(slave, TOPICS, "T").await.then_some(())).await;
    readable(&slave, "T", 1).await;
    assert_eq!(messages(&slave.call(pull("T", 0, "*", 0)).await, |record| record.body.to_vec()), [b"new"]);
    assert_eq!(offset_at(&slave, 0).await, Some(0), "a lag of one");
    slave.stop().await;
    master.stop().await;
}

/// The same where the slave finds the new topic in the log before the table of topics comes.
#[tokio::test(flavor = "multi_thread")]
async fn b22_a_topic_created_again_begins_at_0_on_the_slave() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    for _ in 0..5 {
        master.send("T", 0, "old").await;
    }
    readable(&slave, "T", 5).await;
    master.ok(request(RequestCode::DELETE_TOPIC_IN_BROKER, &[("topic", "T")])).await;
    // The second one shows that the offset of the first is no damage.
    for offset in 0..2 {
        assert_eq!(master.send("T", 0, "new").await, offset);
    }
    readable(&slave, "T", 2).await;
    let slave = slave.restart().await;
    slave.wait_for("the topic is copied", async |slave| names(slave, TOPICS, "T").await.then_some(())).await;
    assert_eq!(messages(&slave.call(pull("T", 0, "*", 0)).await, |record| record.body.to_vec()), [b"new"; 2]);
    slave.stop().await;
    master.stop().await;
}

/// The first message of the new topic is not known by the log alone; a queue without one has nothing of the former topic, either.
/// Takes as long as a slave waits between two looks at its master's tables.
#[tokio::test(flavor = "multi_thread")]
async fn b22_the_first_message_of_a_topic_created_again_is_read_on_the_slave() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let mut slave = TestBroker::start_at(&name_server, slave).await;
    for n in 0..10 {
        master.send("T", n % 2, "old").await;
        master.send("U", n % 2, "old").await;
    }
    caught_up(&master, &slave).await;
    for (topic, is_restarted) in [("T", true), ("U", false)] {
        readable(&slave, topic, 5).await;
        master.ok(request(RequestCode::DELETE_TOPIC_IN_BROKER, &[("topic", topic)])).await;
        assert_eq!(master.send(topic, 0, "new").await, 0);
        caught_up(&master, &slave).await;
        if is_restarted {
            slave = slave.restart().await;
        }
        readable(&slave, topic, 1).await;
        let other = [("topic", topic), ("queueId", "1")];
        slave
            .wait_for("the other queue is empty", async |slave| {
                let answer = slave.ok(request(RequestCode::GET_MAX_OFFSET, &other)).await;
                (answer.field("offset") == Some("0")).then_some(())
            })
            .await;
        // It goes on as any other.
        assert_eq!(master.send(topic, 0, "new").await, 1);
        readable(&slave, topic, 2).await;
    }
    let slave = slave.restart().await;
    for topic in ["T", "U"] {
        slave.wait_for("the topic is copied", async |it| names(it, TOPICS, topic).await.then_some(())).await;
        assert_eq!(messages(&slave.call(pull(topic, 0, "*", 0)).await, |record| record.body.to_vec()), [b"new"; 2]);
    }
    slave.stop().await;
    master.stop().await;
}

/// B36 (1094, 9879): a consumer that finds the master gone commits with the slave. The master that returned with its older offsets
/// used to overwrite these: what was consumed came again. Takes as long as a slave waits between two attempts to reach its master.
#[tokio::test(flavor = "multi_thread")]
async fn b36_a_master_that_was_gone_learns_how_far_consumers_came() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    for _ in 0..5 {
        master.send("T", 0, "x").await;
    }
    committed(&master, 3).await;
    commit(&master, 1, 3).await;
    caught_up(&master, &slave).await;
    let slave = slave.restart().await;
    slave
        .wait_for("topic, group and offsets are copied", async |slave| {
            (names(slave, GROUPS, "G").await && offset_at(slave, 0).await == Some(3)).then_some(())
        })
        .await;

    let master = master.pause().await;
    commit(&slave, 0, 5).await;
    // Back is what an operator may want of the master alone.
    commit(&slave, 1, 1).await;
    let master = master.go_on().await;
    master
        .wait_for("the master knows", async |master| {
            assert_eq!(offset_at(&slave, 0).await, Some(5));
            (offset_at(master, 0).await == Some(5)).then_some(())
        })
        .await;
    slave.wait_for("the master's stays", async |slave| (offset_at(slave, 1).await == Some(3)).then_some(())).await;
    assert_eq!((offset_at(&slave, 0).await, offset_at(&master, 1).await), (Some(5), Some(3)));

    // The slave remembers it when it ends, too.
    let master = master.pause().await;
    commit(&slave, 1, 4).await;
    let slave = slave.pause().await;
    let master = master.go_on().await;
    let slave = slave.go_on().await;
    master.wait_for("the master knows", async |master| (offset_at(master, 1).await == Some(4)).then_some(())).await;
    assert_eq!(offset_at(&slave, 1).await, Some(4));
    slave.stop().await;
    master.stop().await;
}

/// B34 (3015, 1155): eight bytes to the port for slaves were believed, and a synchronous master answered that the message is
/// safe, which it was nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn b34_nobody_has_what_was_not_sent_to_it() {
    for (key, refusal) in [
        ("inSyncReplicas", ResponseCode::FLUSH_SLAVE_TIMEOUT),
        // That of 4.9.x: who is not near is not waited for.
        ("haSlaveFallbehindMax", ResponseCode::SLAVE_NOT_AVAILABLE),
    ] {
        let master = TestBroker::start_with(|settings| {
            settings.store.broker_role = BrokerRole::SyncMaster;
            settings.store.slave_timeout = 50;
            match key {
                "inSyncReplicas" => settings.store.in_sync_replicas = 2,
                _ => drop(settings.unknown.insert(key.to_owned(), "1".to_owned())),
            }
        })
        .await;
        let send = || crate::send(RequestCode::SEND_MESSAGE_V2, "T", "", b"x".to_vec());
        assert_eq!(master.call(send()).await.response_code(), refusal, "{key}: nobody is there");

        let mut liar = connect(&master).await;
        liar.write_all(&(1_i64 << 62).to_be_bytes()).await.unwrap();
        assert!(liar.read_u8().await.is_err(), "it is sent nothing");
        assert_eq!(master.call(send()).await.response_code(), refusal, "{key}: a slave ahead of its master");

        let mut liar = connect(&master).await;
        liar.write_all(&0_i64.to_be_bytes()).await.unwrap();
        let mut head = [0; 12];
        liar.read_exact(&mut head).await.unwrap();
        liar.write_all(&(1_i64 << 62).to_be_bytes()).await.unwrap();
        // What it was sent comes before the end.
        assert!(liar.read_to_end(&mut Vec::new()).await.is_ok_and(|read| read > 0));
        assert_eq!(master.call(send()).await.response_code(), refusal, "{key}: a slave that said too much");

        let mut silent = connect(&master).await;
        silent.write_all(&0_i64.to_be_bytes()).await.unwrap();
        silent.read_exact(&mut head).await.unwrap();
        assert_eq!(master.call(send()).await.response_code(), refusal, "{key}: a slave that says nothing");
        drop(silent);
        // Otherwise its end would wait for the slave.
        master.wait_for("it is gone", async |it| (!names(it, HA_STATUS, "addr").await).then_some(())).await;
        master.stop().await;
    }
}

async fn connect(master: &TestBroker) -> TcpStream {
    TcpStream::connect(("127.0.0.1", ha_port(master))).await.unwrap()
}

/// Whether a JSON string stands in what a broker answers.
async fn names(broker: &TestBroker, code: RequestCode, name: &str) -> bool {
    let answer = broker.ok(request(code, &[])).await;
    String::from_utf8_lossy(&answer.body.bytes()).contains(&format!("\"{name}\""))
}

/// Makes group G, which is at an offset of queue 0 of topic T.
async fn committed(broker: &TestBroker, offset: i64) {
    let group = request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, &[]);
    broker.ok(group.with_body(r#"{"groupName":"G"}"#.to_owned())).await;
    commit(broker, 0, offset).await;
}

async fn commit(broker: &TestBroker, queue: i32, offset: i64) {
    let (queue, offset) = (queue.to_string(), offset.to_string());
    let fields = [("consumerGroup", "G"), ("topic", "T"), ("queueId", &*queue), ("commitOffset", &*offset)];
    broker.ok(request(RequestCode::UPDATE_CONSUMER_OFFSET, &fields)).await;
}

/// Where the group is.
async fn offset_at(broker: &TestBroker, queue: i32) -> Option<i64> {
    let query = [("consumerGroup", "G"), ("topic", "T"), ("queueId", &*queue.to_string())];
    broker.call(request(RequestCode::QUERY_CONSUMER_OFFSET, &query)).await.field("offset")?.parse().ok()
}

const TOPICS: RequestCode = RequestCode::GET_ALL_TOPIC_CONFIG;
const GROUPS: RequestCode = RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG;
const HA_STATUS: RequestCode = RequestCode::GET_BROKER_HA_STATUS;
