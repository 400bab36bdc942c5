//! Messages given back by consumers, and dead letters.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::Record;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::send_back::ConsumerSendMsgBackRequestHeader;
use apogee_remoting::protocol::topic::{GetTopicConfigRequestHeader, TopicConfigAndQueueMapping};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TestBroker, pull_header, send_header};

const RETRY: &str = "%RETRY%G";
const DEAD: &str = "%DLQ%G";

/// Delays that a test can wait for: the third level is the first that the broker chooses.
async fn start() -> TestBroker {
    TestBroker::start_with(|settings| settings.store.message_delay_level = "1s 1h 1s 1h".into()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_given_back_comes_again_until_it_is_a_dead_letter() {
    let broker = start().await;
    broker.send_with("T", 0, "TAGS\u{1}A\u{2}", "m").await;
    let first = Message::wait(&broker, "T", 0).await;

    broker.ok(send_back(first.offset, 0, Some(1))).await;
    let second = Message::wait(&broker, RETRY, 0).await;
    assert_eq!(second.reconsume_times, 1);
    assert_eq!(second.property("RETRY_TOPIC"), Some("T"));
    assert_eq!(second.property("ORIGIN_MESSAGE_ID"), Some(first.id.as_str()));
    assert_eq!((second.property("DELAY"), second.property("REAL_TOPIC")), (Some("3"), Some(RETRY)));
    assert_eq!((second.property("WAIT"), second.property("TAGS")), (Some("false"), Some("A")));

    broker.ok(send_back(second.offset, 0, Some(1))).await;
    let dead = Message::wait(&broker, DEAD, 0).await;
    // Where it came from stays; one more time is counted than it was consumed (trap 37).
    assert_eq!(dead.reconsume_times, 2);
    assert_eq!(dead.property("RETRY_TOPIC"), Some("T"));
    assert_eq!(dead.property("ORIGIN_MESSAGE_ID"), Some(first.id.as_str()));
    assert_eq!(dead.property("DELAY"), Some("0"));
    broker.stop().await;
}

/// #2724, #2436, #6163, #1223: dead letters came only after the longest delay, or not at all, into a topic that could not be read.
#[tokio::test(flavor = "multi_thread")]
async fn b28_dead_letters_are_there_at_once_and_can_be_read() {
    let broker = start().await;
    broker.send("T", 0, "m").await;
    let message = Message::wait(&broker, "T", 0).await;
    // Tried 0 times of at most 0, with a delay of an hour asked for; given up by the consumer.
    for (at, (delay_level, max)) in [(2, Some(0)), (-1, Some(16)), (-1, None)].into_iter().enumerate() {
        broker.ok(send_back(message.offset, delay_level, max)).await;
        let dead = Message::wait(&broker, DEAD, at as i64).await;
        assert_eq!(dead.property("RETRY_TOPIC"), Some("T"));
        assert_eq!(dead.property("ORIGIN_MESSAGE_ID"), Some(message.id.as_str()));
    }
    let header = GetTopicConfigRequestHeader { topic: DEAD };
    let config = broker.ok(TestBroker::request(RequestCode::GET_TOPIC_CONFIG, &header)).await;
    let config: TopicConfigAndQueueMapping = json::from_slice(&config.body.bytes()).unwrap();
    assert_eq!((config.perm, config.read_queue_nums, config.write_queue_nums), (6, 1, 1));
    broker.stop().await;
}

/// Consumers in order, and any whose give-back failed, send into the retry topic.
#[tokio::test(flavor = "multi_thread")]
async fn a_send_into_the_retry_topic_is_retried_or_given_up() {
    let broker = start().await;
    let send = |reconsume_times| {
        let header = SendMessageRequestHeader {
            reconsume_times: Some(reconsume_times),
            max_reconsume_times: Some(3),
            properties: Some("DELAY\u{1}2\u{2}RETRY_TOPIC\u{1}T\u{2}"),
            ..send_header(RETRY)
        };
        TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".to_owned())
    };
    broker.ok(send(3)).await;
    broker.ok(send(4)).await;
    let dead = Message::wait(&broker, DEAD, 0).await;
    assert_eq!((dead.reconsume_times, dead.property("DELAY")), (4, Some("-1")));
    assert_eq!(dead.property("RETRY_TOPIC"), Some("T"));
    // The other waits its hour.
    assert_ne!(broker.call(pull(RETRY, 0)).await.response_code(), ResponseCode::SUCCESS);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_given_back_is_refused() {
    let broker = TestBroker::start_with(|settings| settings.broker.auto_create_subscription_group = false).await;
    let answer = broker.call(send_back(0, 0, None)).await;
    assert_eq!(answer.response_code(), ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST);
    assert!(answer.remark.unwrap().starts_with("subscription group not exist, G "));
    broker.stop().await;

    let broker = start().await;
    for nowhere in [0, 1, -1, i64::MAX] {
        let answer = broker.call(send_back(nowhere, 0, None)).await;
        assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
        assert_eq!(answer.remark.as_deref(), Some(format!("look message by offset failed, {nowhere}").as_str()));
    }
    let answer = broker.call(Command::request(RequestCode::CONSUMER_SEND_MSG_BACK)).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    broker.stop().await;
}

struct Message {
    offset: i64,
    id: String,
    reconsume_times: i32,
    properties: Vec<u8>,
}

impl Message {
    /// Waits for the message at an offset of queue 0.
    async fn wait(broker: &TestBroker, topic: &str, offset: i64) -> Self {
        broker
            .wait_for(topic, async |broker| {
                let answer = broker.call(pull(topic, offset)).await;
                (answer.response_code() == ResponseCode::SUCCESS).then(|| Self::read(&answer.body.bytes()))
            })
            .await
    }

    fn read(bytes: &[u8]) -> Self {
        let record = Record::parse(bytes).unwrap();
        let id = OffsetMessageId { store_host: record.store_host, offset: record.physical_offset };
        Self {
            offset: record.physical_offset,
            id: id.to_string(),
            reconsume_times: record.reconsume_times,
            properties: record.properties.as_bytes().to_vec(),
        }
    }

    fn property(&self, name: &str) -> Option<&str> {
        Properties::new(&self.properties).get_str(name)
    }
}

fn send_back(offset: i64, delay_level: i32, max_reconsume_times: Option<i32>) -> Command {
    let header = ConsumerSendMsgBackRequestHeader {
        offset,
        group: "G",
        delay_level,
        origin_msg_id: None,
        origin_topic: Some("T"),
        unit_mode: false,
        max_reconsume_times,
    };
    TestBroker::request(RequestCode::CONSUMER_SEND_MSG_BACK, &header)
}

fn pull(topic: &str, queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader { queue_offset, ..pull_header("Reader", topic) };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}
