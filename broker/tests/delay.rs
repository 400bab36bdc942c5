//! Delayed messages over a socket.

mod harness;

use std::time::{Duration, Instant};

use apogee_remoting::message::record::Record;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::schedule::DelayOffsetSerializeWrapper;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::{TestBroker, pull_header, send_header};

const LEVEL_1: &str = "DELAY\u{1}1\u{2}";
/// As long as that level, but for what the clock of the store, which counts milliseconds, leaves out.
const A_SECOND: Duration = Duration::from_millis(990);

/// Few levels, the first of them the shortest there is.
async fn start() -> TestBroker {
    TestBroker::start_with(|settings| settings.store.message_delay_level = "1s 1h".into()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_message_comes_when_it_is_due() {
    let broker = start().await;
    let sent = Instant::now();
    assert_eq!(broker.send_with("T", 1, LEVEL_1, "later").await, 0);
    // An automatic topic is there, its queue is empty, unless a slow disk holds up the group's first pull.
    let early = broker.call(pull("T", 1)).await.response_code();
    assert!(early != ResponseCode::SUCCESS || sent.elapsed() >= A_SECOND, "{:?}", sent.elapsed());
    let pulled = arrived(&broker, "T", 1).await;
    assert!(sent.elapsed() >= A_SECOND, "{:?}", sent.elapsed());
    let bytes = pulled.body.bytes();
    let record = Record::parse(&bytes).unwrap();
    assert_eq!((record.topic, record.queue_id, record.body), ("T", 1, &b"later"[..]));
    assert_eq!(record.properties.get_str("REAL_TOPIC"), Some("T"));
    assert_eq!(record.properties.get_str("REAL_QID"), Some("1"));

    // a message can be read a moment before it counts as delivered
    broker
        .wait_for("the level's offset", async |broker| {
            let offsets = broker.ok(Command::request(RequestCode::GET_ALL_DELAY_OFFSET)).await;
            let offsets: DelayOffsetSerializeWrapper = json::from_slice(&offsets.body.bytes()).unwrap();
            (offsets.offset_table.get(&1) == Some(&1)).then_some(())
        })
        .await;
    let info = broker.ok(Command::request(RequestCode::GET_BROKER_RUNTIME_INFO)).await;
    let info = String::from_utf8(info.body.bytes().to_vec()).unwrap();
    assert!(info.contains(r#""scheduleMessageOffset_1":"1,1""#), "{info}");
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waits_outlives_a_restart_and_comes_once() {
    let broker = start().await;
    broker.send_with("T", 0, LEVEL_1, "first").await;
    arrived(&broker, "T", 0).await;
    broker.send_with("T", 0, LEVEL_1, "second").await;
    let broker = broker.restart().await;
    let pulled = broker
        .wait_for("the second message", async |broker| {
            let answer = broker.call(pull("T", 0)).await;
            (answer.field("maxOffset") == Some("2")).then_some(answer)
        })
        .await;
    let bytes = pulled.body.bytes();
    let first = Record::parse(&bytes).unwrap();
    let second = Record::parse(&bytes[first.size()..]).unwrap();
    assert_eq!((first.body, second.body), (&b"first"[..], &b"second"[..]));
    broker.stop().await;
}

/// What waits longer than its level allows now is due; what waits less comes when it was promised.
#[tokio::test(flavor = "multi_thread")]
async fn levels_that_change_between_restarts_hold_up_nothing() {
    let broker = start().await;
    broker.send_with("Shortened", 0, "DELAY\u{1}2\u{2}", "of an hour").await;
    let broker = broker.restart_with(|settings| settings.store.message_delay_level = "1s 1s".into()).await;
    arrived(&broker, "Shortened", 0).await;

    broker.send_with("Lengthened", 0, LEVEL_1, "of a second").await;
    let broker = broker.restart_with(|settings| settings.store.message_delay_level = "1h 1s".into()).await;
    arrived(&broker, "Lengthened", 0).await;

    broker.send_with("Dropped", 0, "DELAY\u{1}2\u{2}", "of a level that goes").await;
    let broker = broker.restart_with(|settings| settings.store.message_delay_level = "1h".into()).await;
    arrived(&broker, "Dropped", 0).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_is_a_number_and_at_most_the_last_one() {
    let broker = start().await;
    let header = SendMessageRequestHeader { properties: Some("DELAY\u{1}soon\u{2}"), ..send_header("T") };
    let answer = broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".to_owned())).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    assert!(answer.remark.unwrap().contains("DELAY"));
    // Two at the level of an hour, whose queue is the second.
    assert_eq!(broker.send_with("T", 0, "DELAY\u{1}2\u{2}", "m").await, 0);
    assert_eq!(broker.send_with("T", 0, "DELAY\u{1}99\u{2}", "m").await, 1);
    for none in ["DELAY\u{1}0\u{2}", "DELAY\u{1}-1\u{2}"] {
        broker.send_with("Now", 0, none, "m").await;
    }
    broker
        .wait_for("both that do not wait", async |broker| {
            (broker.call(pull("Now", 0)).await.field("maxOffset") == Some("2")).then_some(())
        })
        .await;
    broker.stop().await;
}

/// The answer that has a message of this queue.
async fn arrived(broker: &TestBroker, topic: &str, queue_id: i32) -> Command {
    broker
        .wait_for("a message", async |broker| {
            let answer = broker.call(pull(topic, queue_id)).await;
            (answer.response_code() == ResponseCode::SUCCESS).then_some(answer)
        })
        .await
}

fn pull(topic: &str, queue_id: i32) -> Command {
    let header = PullMessageRequestHeader { queue_id, ..pull_header("G", topic) };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}
