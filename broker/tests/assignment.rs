//! Brokers that share queues out among the clients of a group.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use apogee_remoting::client::Client;
use apogee_remoting::protocol::assignment::{QueryAssignmentRequestBody, QueryAssignmentResponseBody};
use apogee_remoting::protocol::heartbeat::{ConsumerData, HeartbeatData};
use apogee_remoting::protocol::subscription::MessageModel;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TIMEOUT, TestBroker, TestNameServer, new_client};

/// Two brokers of four queues each and three clients: every client gets its share of all of them, from either broker.
#[tokio::test(flavor = "multi_thread")]
async fn each_client_gets_its_share_of_all_brokers() {
    let name_server = TestNameServer::start().await;
    let (a, b) = (member(&name_server, "broker-a").await, member(&name_server, "broker-b").await);
    for broker in [&a, &b] {
        broker.send("T", 0, "makes the topic").await;
    }
    a.wait_for("the route of both", async |_| {
        let route = name_server.route_body("T").await;
        (route.contains("broker-a") && route.contains("broker-b")).then_some(())
    })
    .await;
    let mut clients = Vec::new();
    for id in ["c-1", "c-2", "c-3"] {
        clients.push((new_client(), id));
    }
    for (client, id) in &clients {
        for broker in [&a, &b] {
            beat(client, &broker.address, id).await;
        }
    }
    let all: Vec<_> =
        ["broker-a", "broker-b"].iter().flat_map(|name| (0..4).map(move |at| format!("{name} {at}"))).collect();
    for broker in [&a, &b] {
        let shares =
            [share(broker, "AVG", "c-1").await, share(broker, "AVG", "c-2").await, share(broker, "AVG", "c-3").await];
        assert_eq!(shares.each_ref().map(Vec::len), [3, 3, 2]);
        assert_eq!(shares.concat(), all);
        assert_eq!(share(broker, "AVG_BY_CIRCLE", "c-2").await, ["broker-a 1", "broker-b 0", "broker-b 3"]);
        assert_eq!(share(broker, "AVG", "nobody").await, Vec::<String>::new());
    }
    assert_eq!(ask(&a, "T", "ODD", "c-1", MessageModel::Clustering).await, None);
    assert_eq!(ask(&a, "none", "AVG", "c-1", MessageModel::Clustering).await, None);
    assert_eq!(ask(&a, "T", "AVG", "c-1", MessageModel::Broadcasting).await, Some(all));
    a.stop().await;
    b.stop().await;
}

async fn member(name_server: &TestNameServer, name: &str) -> TestBroker {
    TestBroker::start_with(|settings| {
        settings.broker.broker_name = name.into();
        settings.broker.namesrv_addr = Some(name_server.address.clone());
    })
    .await
}

async fn beat(client: &Client, address: &str, id: &str) {
    let consumer = ConsumerData { group_name: "G".into(), ..ConsumerData::default() };
    let data = HeartbeatData { client_id: id.into(), consumer_data_set: vec![consumer], ..HeartbeatData::default() };
    let heartbeat = Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec(&data));
    let answer = client.call(address, heartbeat, TIMEOUT).await.unwrap();
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS);
}

/// The queues of a client, as broker and number.
async fn share(broker: &TestBroker, strategy: &str, client: &str) -> Vec<String> {
    ask(broker, "T", strategy, client, MessageModel::Clustering).await.unwrap()
}

async fn ask(
    broker: &TestBroker,
    topic: &str,
    strategy: &str,
    client: &str,
    model: MessageModel,
) -> Option<Vec<String>> {
    let body = QueryAssignmentRequestBody {
        client_id: client.into(),
        consumer_group: "G".into(),
        message_model: Some(model),
        strategy_name: strategy.into(),
        topic: topic.into(),
    };
    let answer = broker.ok(Command::request(RequestCode::QUERY_ASSIGNMENT).with_body(json::to_vec(&body))).await;
    let body: QueryAssignmentResponseBody = json::from_slice(&answer.body.bytes()).unwrap();
    let assigned = body.message_queue_assignments?.into_iter().filter_map(|assignment| assignment.message_queue);
    Some(assigned.map(|queue| format!("{} {}", queue.broker_name, queue.queue_id)).collect())
}
