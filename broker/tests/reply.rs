//! Replies on their way to producers that come, go and stay silent.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::sync::Arc;

use apogee_remoting::client::{Client, ClientOptions};
use apogee_remoting::protocol::client::UnregisterClientRequestHeader;
use apogee_remoting::protocol::heartbeat::{HeartbeatData, ProducerData};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::server::{Peer, Reply, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TIMEOUT, TestBroker, send_header};

/// A process may have several producers; the end of one is not the end of the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_reaches_a_client_until_its_last_producer_is_gone() {
    let broker = TestBroker::start().await;
    let producer = Producer::connect(&broker, &["PG", "Other"]).await;
    assert_eq!(broker.call(reply()).await.response_code(), ResponseCode::SUCCESS);
    producer.leave(&broker, "PG").await;
    assert_eq!(broker.call(reply()).await.response_code(), ResponseCode::SUCCESS);
    producer.leave(&broker, "Other").await;
    let answer = broker.call(reply()).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    assert_eq!(answer.remark.as_deref(), Some("push reply message fail, channel of <client> not found."));
    broker.stop().await;
}

/// A producer that came back on another connection gets its replies there, whatever becomes of the first one.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_follows_a_client_to_its_new_connection() {
    let broker = TestBroker::start().await;
    let first = Producer::connect(&broker, &["PG"]).await;
    let second = Producer::connect(&broker, &["PG"]).await;
    first.leave(&broker, "PG").await;
    drop(first);
    assert_eq!(broker.call(reply()).await.response_code(), ResponseCode::SUCCESS);
    drop(second);
    broker
        .wait_for("the end of the connection", async |broker| {
            (broker.call(reply()).await.response_code() == ResponseCode::SYSTEM_ERROR).then_some(())
        })
        .await;
    broker.stop().await;
}

/// A client that takes every reply.
struct Producer(Client);

impl Producer {
    async fn connect(broker: &TestBroker, groups: &[&str]) -> Self {
        let client = Client::with_service(ClientOptions::default(), Arc::new(Takes));
        let heartbeat = HeartbeatData {
            client_id: "client".into(),
            producer_data_set: groups.iter().map(|group| ProducerData { group_name: (*group).into() }).collect(),
            ..HeartbeatData::default()
        };
        let heartbeat = Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec(&heartbeat));
        let answer = client.call(&broker.address, heartbeat, TIMEOUT).await.unwrap();
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS);
        Self(client)
    }

    async fn leave(&self, broker: &TestBroker, group: &str) {
        let header = UnregisterClientRequestHeader {
            client_id: Some("client"),
            producer_group: Some(group),
            consumer_group: None,
        };
        let request = TestBroker::request(RequestCode::UNREGISTER_CLIENT, &header);
        self.0.call(&broker.address, request, TIMEOUT).await.unwrap();
    }
}

struct Takes;

impl Service for Takes {
    fn call(&self, _peer: &Arc<Peer>, request: Command) -> Reply {
        assert_eq!(request.request_code(), RequestCode::PUSH_REPLY_MESSAGE_TO_CLIENT);
        Command::response(ResponseCode::SUCCESS).into()
    }
}

fn reply() -> Command {
    let header = SendMessageRequestHeader {
        properties: Some("REPLY_TO_CLIENT\u{1}client\u{2}"),
        ..send_header("DefaultCluster_REPLY_TOPIC")
    };
    TestBroker::request(RequestCode::SEND_REPLY_MESSAGE, &header).with_body("answer".to_owned())
}
