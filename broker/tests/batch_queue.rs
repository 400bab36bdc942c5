//! Topics with batch queues: a batch is one record.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::protocol::offset::{GetMaxOffsetRequestHeader, GetMinOffsetRequestHeader};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::topic::CreateTopicRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TestBroker, pull_header, send_header};

/// Bits of a batch that is one record, for a reader to take apart.
const INNER: i32 = 0xC0;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_one_record_with_an_offset_for_each_message() {
    let broker = start().await;
    assert_eq!(min_and_max(&broker, "B").await, (-1, 0));
    let answer = broker.ok(batch("B", "UNIQ_KEY\u{1}u1\u{2}INNER_BASE\u{1}77\u{2}", &["a", "b", "c"])).await;
    assert_eq!((answer.field("queueOffset"), answer.field("batchUniqId")), (Some("0"), Some("u1")));
    assert_eq!(answer.field("msgId").unwrap().len(), 32);
    assert_eq!(broker.send("B", 0, "single").await, 3);
    // a batch without an id of its own becomes records, as from producers that know no batch queues
    let answer = broker.ok(batch("B", "", &["d", "e"])).await;
    assert_eq!((answer.field("queueOffset"), answer.field("batchUniqId")), (Some("4"), None));
    let answer = broker.ok(batch("B", "UNIQ_KEY\u{1}u2\u{2}", &["f"; 5])).await;
    assert_eq!(answer.field("queueOffset"), Some("6"));

    broker.wait_for("the first batch", async |broker| (min_and_max(broker, "B").await.0 == 0).then_some(())).await;
    let broker = broker.restart().await;
    broker.wait_for("the last batch", async |broker| (min_and_max(broker, "B").await == (0, 11)).then_some(())).await;
    for offset in 0..3 {
        let found = pull(&broker, offset, 3).await;
        assert_eq!(found.field("nextBeginOffset"), Some("3"), "{offset}");
        let bytes = found.body.bytes();
        let record = Record::parse(&bytes).unwrap();
        assert_eq!((record.sys_flag & INNER, record.queue_offset), (INNER, 0));
        assert_eq!(record.properties.get_str("INNER_NUM"), Some("3"));
        assert_eq!(record.properties.get_str("INNER_BASE"), Some("0"));
        assert_eq!(record.body, body(&["a", "b", "c"]));
    }
    // all that was asked for, and no batch beyond it
    let found = pull(&broker, 0, 10).await;
    assert_eq!(found.field("nextBeginOffset"), Some("6"));
    assert_eq!(entries(&found.body.bytes()).count(), 4);
    let found = pull(&broker, 10, 1).await;
    assert_eq!((found.field("nextBeginOffset"), found.field("maxOffset")), (Some("11"), Some("11")));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_the_queue_is_refused() {
    let broker = start().await;
    let unique = "UNIQ_KEY\u{1}u\u{2}";
    let single = |topic: &'static str, sys_flag, properties: &'static str, body: Vec<u8>| {
        let header = SendMessageRequestHeader { sys_flag, properties: Some(properties), ..send_header(topic) };
        TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(body)
    };
    let three = || body(&["a", "b", "c"]);
    let refused = [
        ("a batch for simple queues", single("S", INNER, "INNER_NUM\u{1}3\u{2}", three())),
        ("a number without a batch", single("B", 0, "INNER_NUM\u{1}3\u{2}", three())),
        ("too high a number", single("B", INNER, "INNER_NUM\u{1}4\u{2}", three())),
        ("no number", single("B", INNER, "INNER_NUM\u{1}x\u{2}", three())),
        ("a delayed batch", single("B", INNER, "INNER_NUM\u{1}3\u{2}DELAY\u{1}3\u{2}", three())),
        ("a delayed batch", batch("B", &format!("{unique}DELAY\u{1}3\u{2}"), &["a"])),
        ("more messages than a record has", batch("B", unique, &vec![""; 32768])),
        ("a marked batch for simple queues", {
            let header = SendMessageRequestHeader {
                sys_flag: INNER,
                batch: Some(true),
                properties: Some(unique),
                ..send_header("S")
            };
            TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(three())
        }),
    ];
    for (what, request) in refused {
        let answer = broker.call(request).await;
        assert_eq!(answer.response_code(), ResponseCode::MESSAGE_ILLEGAL, "{what}: {:?}", answer.remark);
    }
    // a producer that marks its batch itself
    let answer = broker.ok(single("B", INNER, "INNER_NUM\u{1}3\u{2}", three())).await;
    assert_eq!(answer.field("queueOffset"), Some("0"));
    assert_eq!(broker.send("B", 0, "next").await, 3);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kind_of_queue_stays() {
    let broker = start().await;
    for attributes in ["+queue.type=SimpleCQ", "-queue.type"] {
        let answer = broker.call(create("B", attributes)).await;
        assert!(answer.remark.unwrap().contains("attempt to update an unchangeable attribute. key: queue.type"));
    }
    let answer = broker.call(create("N", "+queue.type=RocksDBCQ")).await;
    assert!(answer.remark.unwrap().contains("value is not in set: [BatchCQ, SimpleCQ]"));
    broker.stop().await;
}

/// A broker with a topic of each kind.
async fn start() -> TestBroker {
    let broker = TestBroker::start().await;
    broker.ok(create("B", "+queue.type=BatchCQ")).await;
    broker.ok(create("S", "")).await;
    broker
}

fn create(topic: &str, attributes: &str) -> Command {
    let header = CreateTopicRequestHeader {
        topic,
        default_topic: Some("TBW102"),
        read_queue_nums: 1,
        write_queue_nums: 1,
        perm: 6,
        topic_filter_type: "SINGLE_TAG",
        topic_sys_flag: None,
        order: false,
        attributes: Some(attributes),
        force: false,
    };
    TestBroker::request(RequestCode::UPDATE_AND_CREATE_TOPIC, &header)
}

fn batch(topic: &str, properties: &str, bodies: &[&str]) -> Command {
    let header = SendMessageRequestHeader { batch: Some(true), properties: Some(properties), ..send_header(topic) };
    TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(body(bodies))
}

fn body(bodies: &[&str]) -> Vec<u8> {
    let mut batch = Vec::new();
    for body in bodies {
        BatchMember { flag: 0, body: body.as_bytes(), properties: b"" }.encode(&mut batch).unwrap();
    }
    batch
}

async fn pull(broker: &TestBroker, queue_offset: i64, max_msg_nums: i32) -> Command {
    let header = PullMessageRequestHeader { queue_offset, max_msg_nums, ..pull_header("G", "B") };
    broker.ok(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await
}

async fn min_and_max(broker: &TestBroker, topic: &str) -> (i64, i64) {
    let offset = |answer: Command| answer.field("offset").unwrap().parse().unwrap();
    let min = GetMinOffsetRequestHeader { topic, queue_id: 0 };
    let max = GetMaxOffsetRequestHeader { topic, queue_id: 0, committed: true };
    let min = broker.ok(TestBroker::request(RequestCode::GET_MIN_OFFSET, &min)).await;
    let max = broker.ok(TestBroker::request(RequestCode::GET_MAX_OFFSET, &max)).await;
    (offset(min), offset(max))
}
