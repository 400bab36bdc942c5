//! Masters and slaves.

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::{RequestCode, ResponseCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{TestBroker, TestNameServer};
use crate::{messages, pull, readable, request};

fn slave(settings: &mut BrokerSettings) {
    settings.store.broker_role = BrokerRole::Slave;
    settings.broker.broker_id = 1;
}

/// B22 (316, alibaba/rocketmq 406): a topic deleted and created again at the master kept its old queue on the slave, and the
/// messages of the new one were not to be had there.
#[tokio::test(flavor = "multi_thread")]
async fn b22_a_topic_created_again_begins_at_0_on_the_slave() {
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
    assert_eq!(offset_at(&slave).await, Some(0), "a lag of one");
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
    let port: u16 = master.address.rsplit_once(':').unwrap().1.parse().unwrap();
    TcpStream::connect(("127.0.0.1", port + 1)).await.unwrap()
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
    commit(broker, offset).await;
}

async fn commit(broker: &TestBroker, offset: i64) {
    let fields = [("consumerGroup", "G"), ("topic", "T"), ("queueId", "0"), ("commitOffset", &*offset.to_string())];
    broker.ok(request(RequestCode::UPDATE_CONSUMER_OFFSET, &fields)).await;
}

async fn offset_at(broker: &TestBroker) -> Option<i64> {
    let query = [("consumerGroup", "G"), ("topic", "T"), ("queueId", "0")];
    broker.call(request(RequestCode::QUERY_CONSUMER_OFFSET, &query)).await.field("offset")?.parse().ok()
}

const TOPICS: RequestCode = RequestCode::GET_ALL_TOPIC_CONFIG;
const HA_STATUS: RequestCode = RequestCode::GET_BROKER_HA_STATUS;
