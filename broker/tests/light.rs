//! Light queues (LMQ): what requests make of them, with `enableLmq` and `enableMultiDispatch`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::fs;

use apogee_remoting::message::record::Record;
use apogee_remoting::protocol::offset::{
    ConsumerOffsetSerializeWrapper, GetMaxOffsetRequestHeader, QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::topic::{DeleteTopicRequestHeader, TopicConfigSerializeWrapper};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TestBroker, pull_header, send_header};

const GROUP: &str = "%LMQ%g";

async fn start() -> TestBroker {
    TestBroker::start_with(|settings| {
        settings.store.enable_lmq = true;
        settings.store.enable_multi_dispatch = true;
    })
    .await
}

fn names(names: &str) -> String {
    format!("INNER_MULTI_DISPATCH\u{1}{names}\u{2}")
}

async fn max(broker: &TestBroker, topic: &str) -> i64 {
    let header = GetMaxOffsetRequestHeader { committed: true, queue_id: 0, topic };
    let answer = broker.ok(TestBroker::request(RequestCode::GET_MAX_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}

fn pull(topic: &str, queue_id: i32, queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader { queue_id, queue_offset, ..pull_header(GROUP, topic) };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

async fn commit(broker: &TestBroker, group: &str, queue_id: i32, commit_offset: i64) {
    let header = UpdateConsumerOffsetRequestHeader { consumer_group: group, topic: "%LMQ%a", queue_id, commit_offset };
    broker.ok(TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &header)).await;
}

async fn consumed(broker: &TestBroker, group: &str, queue_id: i32) -> Option<i64> {
    let header = QueryConsumerOffsetRequestHeader {
        consumer_group: group,
        topic: "%LMQ%a",
        queue_id,
        set_zero_if_not_found: Some(false),
    };
    let answer = broker.call(TestBroker::request(RequestCode::QUERY_CONSUMER_OFFSET, &header)).await;
    answer.field("offset").map(|offset| offset.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_pulled_from_the_light_queues_they_name() {
    let broker = start().await;
    for n in 0..3 {
        assert_eq!(broker.send_with("T", 1, &names("%LMQ%a,%LMQ%b"), &format!("m{n}")).await, n);
    }
    broker.send_with("T", 1, "__LITE_TOPIC\u{1}chat\u{2}", "lite").await;
    broker.wait_for("dispatch", async |broker| (max(broker, "%LMQ%$T$chat").await == 1).then_some(())).await;
    let broker = broker.restart().await;
    broker.send_with("T", 0, &names("%LMQ%b"), "m3").await;
    broker.wait_for("dispatch", async |broker| (max(broker, "%LMQ%b").await == 4).then_some(())).await;
    let found = broker.ok(pull("%LMQ%b", 0, 3)).await;
    let bytes = found.body.bytes();
    let record = Record::parse(&bytes).unwrap();
    // as it was stored in its topic
    assert_eq!((record.topic, record.queue_offset, record.body), ("T", 0, &b"m3"[..]));
    assert_eq!(record.properties.get_str("INNER_MULTI_QUEUE_OFFSET"), Some("3"));
    assert_eq!((found.field("nextBeginOffset"), found.field("maxOffset")), (Some("4"), Some("4")));
    // there is queue 0 alone, and any light queue has it
    assert_eq!(broker.call(pull("%LMQ%b", 1, 0)).await.response_code(), ResponseCode::INVALID_PARAMETER);
    assert_eq!(broker.call(pull("%LMQ%none", 0, 0)).await.response_code(), ResponseCode::PULL_NOT_FOUND);
    // none is a topic for the table
    let topics = broker.ok(Command::request(RequestCode::GET_ALL_TOPIC_CONFIG)).await;
    let topics: TopicConfigSerializeWrapper = json::from_slice(&topics.body.bytes()).unwrap();
    assert!(topics.topic_config_table.keys().all(|topic| !topic.starts_with("%LMQ%")));
    broker.ok(Command::request(RequestCode::CLEAN_UNUSED_TOPIC)).await;
    assert_eq!(max(&broker, "%LMQ%a").await, 3);
    let header = DeleteTopicRequestHeader { topic: "%LMQ%a" };
    broker.ok(TestBroker::request(RequestCode::DELETE_TOPIC_IN_BROKER, &header)).await;
    assert_eq!((max(&broker, "%LMQ%a").await, max(&broker, "%LMQ%b").await), (0, 4));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_go_to_no_light_queue_is_refused() {
    let broker = start().await;
    for bad in ["U", "%LMQ%a,U", "%LMQ%a/b"] {
        let properties = names(bad);
        let header = SendMessageRequestHeader { properties: Some(&properties), ..send_header("T") };
        let answer =
            broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".to_owned())).await;
        assert_eq!(answer.response_code(), ResponseCode::INVALID_PARAMETER, "{bad}: {:?}", answer.remark);
    }
    assert_eq!(max(&broker, "T").await, 0);
    let broker = broker
        .restart_with(|settings| {
            settings.store.enable_lmq_quota = true;
            settings.store.max_lmq_consume_queue_num = 1;
        })
        .await;
    broker.send_with("T", 0, &names("%LMQ%a"), "m").await;
    let properties = names("%LMQ%b");
    let header = SendMessageRequestHeader { properties: Some(&properties), ..send_header("T") };
    let answer = broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".to_owned())).await;
    assert_eq!(answer.response_code(), ResponseCode::LMQ_QUOTA_EXCEEDED, "{:?}", answer.remark);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn their_groups_have_one_offset_a_topic_in_a_file_of_their_own() {
    let broker = TestBroker::start().await;
    broker
        .ok(Command::request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
            .with_body(r#"{"groupName":"g"}"#.to_owned()))
        .await;
    broker.send("T", 0, "m").await;
    let header = UpdateConsumerOffsetRequestHeader { consumer_group: "g", topic: "T", queue_id: 2, commit_offset: 5 };
    broker.ok(TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &header)).await;
    // the first start with light queues takes what there is
    let light = |settings: &mut apogee_config::BrokerSettings| {
        settings.store.enable_lmq = true;
        settings.store.enable_multi_dispatch = true;
    };
    let broker = broker.restart_with(light).await;
    assert_eq!(consumed(&broker, GROUP, 0).await, None);
    commit(&broker, GROUP, 3, 7).await;
    commit(&broker, "g", 0, 4).await;
    assert_eq!((consumed(&broker, GROUP, 0).await, consumed(&broker, GROUP, 9).await), (Some(7), Some(7)));
    let broker = broker.restart().await;
    assert_eq!((consumed(&broker, GROUP, 0).await, consumed(&broker, "g", 0).await), (Some(7), Some(4)));
    let file = fs::read(broker.store().join("config/lmqConsumerOffset.json")).unwrap();
    let answer = broker.ok(Command::request(RequestCode::GET_ALL_CONSUMER_OFFSET)).await;
    for text in [file.as_slice(), &*answer.body.bytes()] {
        let saved: ConsumerOffsetSerializeWrapper = json::from_slice(text).unwrap();
        assert_eq!(saved.lmq_offset_table.unwrap(), [("%LMQ%a@%LMQ%g".to_owned(), 7)].into());
        let keys: Vec<_> = saved.offset_table.keys().map(String::as_str).filter(|key| key.ends_with("@g")).collect();
        assert_eq!((keys, saved.offset_table["T@g"][&2]), (vec!["%LMQ%a@g", "T@g"], 5));
    }
    broker.stop().await;
}
