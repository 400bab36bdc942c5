//! Filters by properties over a socket: in pulls, registered by heartbeats, while pulls are held, and across a restart.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use apogee_config::BrokerSettings;
use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::filter::RegisterFilterServerRequestHeader;
use apogee_remoting::protocol::heartbeat::{CheckClientRequestBody, ConsumerData, HeartbeatData};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::subscription::SubscriptionData;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TIMEOUT, TestBroker, TestNameServer, new_client, pull_header};

/// The pull may wait for a message.
const SUSPEND: i32 = 0x2;

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_brings_its_expression() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    assert_eq!(bodies(&broker, sql("a > 5", 0)).await, (vec!["7".into(), "9".into()], 10));
    assert_eq!(bodies(&broker, sql("a > 5", 8)).await, (vec!["9".into()], 10));
    let none = broker.call(sql("a > 100", 0)).await;
    assert_eq!(none.response_code(), ResponseCode::PULL_RETRY_IMMEDIATELY);
    assert_eq!(none.field("nextBeginOffset"), Some("10"));
    for (kind, expression) in [("SQL92", "a >"), ("SQL92", ""), ("Java", "a > 5")] {
        let header = PullMessageRequestHeader {
            expression_type: Some(kind),
            subscription: Some(expression),
            ..pull_header("G", "T")
        };
        let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
        assert_eq!(answer.response_code(), ResponseCode::SUBSCRIPTION_PARSE_FAILED, "{kind} {expression}");
        assert_eq!(answer.remark.as_deref(), Some("parse the consumer's subscription failed"));
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_register_expressions() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    heartbeat(&broker, subscription("a > 5", 10)).await;
    assert_eq!(bodies(&broker, registered(10)).await.0, ["7", "9"]);

    // A newer expression, and one that is none.
    heartbeat(&broker, subscription("a < 3", 20)).await;
    assert_eq!(bodies(&broker, registered(20)).await.0, ["1"]);
    assert_eq!(code(&broker, registered(21)).await, ResponseCode::SUBSCRIPTION_NOT_LATEST);
    heartbeat(&broker, subscription("a <", 30)).await;
    assert_eq!(code(&broker, registered(30)).await, ResponseCode::FILTER_DATA_NOT_EXIST);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_take_the_place_of_properties() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    heartbeat(&broker, subscription("a > 5", 10)).await;
    heartbeat(&broker, SubscriptionData { expression_type: "TAG".into(), ..subscription("*", 20) }).await;
    assert_eq!(bodies(&broker, registered(20)).await.0.len(), 10);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_filter_lets_everything_pass() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    let class = SubscriptionData { class_filter_mode: true, expression_type: "TAG".into(), ..subscription("x.Y", 10) };
    heartbeat(&broker, class).await;
    assert_eq!(bodies(&broker, registered(10)).await.0.len(), 10);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_pull_waits_for_a_message_that_passes() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    let header = PullMessageRequestHeader {
        queue_offset: 10,
        sys_flag: 0x4 | SUSPEND,
        suspend_timeout_millis: Some(60_000),
        subscription: Some("a = 'x'"),
        expression_type: Some("SQL92"),
        ..pull_header("G", "T")
    };
    let held = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header));
    let sender = async {
        for a in ["y", "z", "x"] {
            broker.send_with("T", 0, &format!("a\u{1}{a}\u{2}"), a).await;
        }
    };
    let (mut answer, ()) = tokio::join!(held, sender);
    // One that came when others were there already has looked at those first.
    while answer.response_code() == ResponseCode::PULL_RETRY_IMMEDIATELY {
        let queue_offset = answer.field("nextBeginOffset").unwrap().parse().unwrap();
        let header = PullMessageRequestHeader { queue_offset, ..header.clone() };
        answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
    }
    assert_eq!(found(&answer), ["x"]);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_outlive_a_restart() {
    let broker = TestBroker::start_with(served).await;
    fill(&broker, "T").await;
    heartbeat(&broker, subscription("a > 5", 10)).await;
    let broker = broker.restart().await;
    let text = std::fs::read_to_string(broker.store().join("config/consumerFilter.json")).unwrap();
    assert!(text.contains("\"expression\":\"a > 5\""), "{text}");
    heartbeat(&broker, subscription("a > 5", 10)).await;
    assert_eq!(bodies(&broker, registered(10)).await.0, ["7", "9"]);

    // Where they are no longer served, the client is told.
    let broker = broker.restart_with(|settings| settings.broker.enable_property_filter = false).await;
    heartbeat(&broker, subscription("a > 5", 10)).await;
    let refused = broker.call(registered(10)).await;
    assert_eq!(refused.response_code(), ResponseCode::SYSTEM_ERROR);
    assert!(refused.remark.as_ref().unwrap().ends_with("filter message by SQL92"));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_topic_is_filtered_by_what_the_group_wants_of_the_first_topic() {
    let broker = TestBroker::start_with(|settings| {
        served(settings);
        settings.broker.filter_support_retry = true;
    })
    .await;
    heartbeat(&broker, subscription("a > 5", 10)).await;
    for (a, origin) in [("7", "T"), ("1", "T"), ("2", "Other")] {
        broker.send_with("%RETRY%G", 0, &format!("a\u{1}{a}\u{2}RETRY_TOPIC\u{1}{origin}\u{2}"), a).await;
    }
    readable(&broker, "%RETRY%G", 3).await;
    let header = PullMessageRequestHeader {
        subscription: Some("a IS NULL"),
        expression_type: Some("SQL92"),
        ..pull_header("G", "%RETRY%G")
    };
    assert_eq!(bodies(&broker, TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await.0, ["7", "2"]);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_checked_before_it_is_made() {
    let broker = TestBroker::start_with(served).await;
    let check = |data: SubscriptionData| {
        let body = CheckClientRequestBody { subscription_data: data, ..CheckClientRequestBody::default() };
        Command::request(RequestCode::CHECK_CLIENT_CONFIG).with_body(json::to_vec(&body))
    };
    broker.ok(check(subscription("a > 5", 1))).await;
    broker.ok(check(SubscriptionData { expression_type: String::new(), ..subscription("a > ", 1) })).await;
    assert_eq!(code(&broker, check(subscription("a > ", 1))).await, ResponseCode::SUBSCRIPTION_PARSE_FAILED);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_servers_stand_in_routes_while_they_are_connected() {
    let name_server = TestNameServer::start().await;
    let broker = TestBroker::start_with(|settings| {
        settings.broker.namesrv_addr = Some(name_server.address.clone());
    })
    .await;
    broker.send("T", 0, "x").await;
    let server = new_client();
    let header = RegisterFilterServerRequestHeader { filter_server_addr: "filter.test:1" };
    let register = TestBroker::request(RequestCode::REGISTER_FILTER_SERVER, &header);
    let answer = server.call(&broker.address, register, TIMEOUT).await.unwrap();
    assert_eq!((answer.field("brokerName"), answer.field("brokerId")), (Some("broker-a"), Some("0")));
    let is_listed = async |_: &TestBroker| name_server.route_body("T").await.contains("filter.test:1");
    broker.wait_for("the filter server in the route", async |broker| is_listed(broker).await.then_some(())).await;
    drop(server);
    broker.wait_for("the filter server to go", async |broker| (!is_listed(broker).await).then_some(())).await;
    broker.stop().await;
}

fn served(settings: &mut BrokerSettings) {
    settings.broker.enable_property_filter = true;
}

/// Ten messages, of which every second one has a property `a` that says its number.
async fn fill(broker: &TestBroker, topic: &str) {
    for number in 0..10 {
        let properties = if number % 2 == 1 { format!("a\u{1}{number}\u{2}") } else { String::new() };
        broker.send_with(topic, 0, &properties, &number.to_string()).await;
    }
    readable(broker, topic, 10).await;
}

async fn readable(broker: &TestBroker, topic: &str, count: i64) {
    let request =
        || Command::request(RequestCode::GET_MAX_OFFSET).with_field("topic", topic).with_field("queueId", "0");
    let count = count.to_string();
    broker
        .wait_for("messages in the queue", async |broker| {
            (broker.ok(request()).await.field("offset") == Some(&count)).then_some(())
        })
        .await;
}

fn subscription(expression: &str, version: i64) -> SubscriptionData {
    SubscriptionData {
        topic: "T".into(),
        sub_string: expression.into(),
        expression_type: "SQL92".into(),
        sub_version: version,
        ..SubscriptionData::default()
    }
}

async fn heartbeat(broker: &TestBroker, subscription: SubscriptionData) {
    let consumer =
        ConsumerData { group_name: "G".into(), subscription_data_set: vec![subscription], ..ConsumerData::default() };
    let data = HeartbeatData { client_id: "C".into(), consumer_data_set: vec![consumer], ..HeartbeatData::default() };
    broker.ok(Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec(&data))).await;
}

/// A pull with an expression of its own.
fn sql(expression: &str, queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader {
        queue_offset,
        subscription: Some(expression),
        expression_type: Some("SQL92"),
        ..pull_header("G", "T")
    };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

/// A pull with the registered subscription, of which the client knows this version.
fn registered(version: i64) -> Command {
    let header = PullMessageRequestHeader {
        sys_flag: 0,
        subscription: None,
        expression_type: None,
        sub_version: Some(version),
        ..pull_header("G", "T")
    };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

async fn code(broker: &TestBroker, request: Command) -> ResponseCode {
    broker.call(request).await.response_code()
}

/// The messages that a pull finds, and where it goes on.
async fn bodies(broker: &TestBroker, pull: Command) -> (Vec<String>, i64) {
    let answer = broker.call(pull).await;
    (found(&answer), answer.field("nextBeginOffset").unwrap().parse().unwrap())
}

fn found(answer: &Command) -> Vec<String> {
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    let bytes = answer.body.bytes();
    entries(&bytes).map(|record| String::from_utf8_lossy(record.unwrap().body).into_owned()).collect()
}
