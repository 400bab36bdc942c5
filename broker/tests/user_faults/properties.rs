//! Properties that do not fit.

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{max_offset, messages, pull, readable, request, send};

/// Properties of this many bytes in all.
fn properties(size: usize) -> String {
    format!("k\u{1}{}\u{2}", "v".repeat(size - 3))
}

/// B07 (3786, 6579): a single send checked the length of its properties, a batch let it wrap to a negative one.
#[tokio::test(flavor = "multi_thread")]
async fn b07_properties_too_long_are_refused_and_nothing_of_them_is_stored() {
    let broker = TestBroker::start().await;
    let topic = [("topic", "T"), ("defaultTopic", "TBW102"), ("readQueueNums", "1"), ("writeQueueNums", "1")];
    let create = request(RequestCode::UPDATE_AND_CREATE_TOPIC, &topic);
    broker.ok(create.with_field("perm", "6").with_field("topicFilterType", "SINGLE_TAG")).await;
    // The broker adds properties of its own to a single message, so the longest that a record holds are too long for one.
    for size in [32_767, 32_768, 65_536] {
        let single = broker.call(send(RequestCode::SEND_MESSAGE_V2, "T", &properties(size), b"x".to_vec())).await;
        assert_eq!(single.response_code(), ResponseCode::MESSAGE_ILLEGAL, "{size}");
        assert!(single.remark.unwrap().contains("properties length"), "{size}");
    }
    for size in [32_768, 65_536, 65_538] {
        // The length field of a member has two bytes: what does not fit wraps, as a careless client writes it.
        let batch = [member("first", ""), member("long", &properties(size)), member("last", "")].concat();
        let answer = broker.call(send(RequestCode::SEND_BATCH_MESSAGE, "T", "", batch)).await;
        assert_eq!(answer.response_code(), ResponseCode::MESSAGE_ILLEGAL, "{size}");
    }
    assert_eq!(max_offset(&broker, "T").await, 0);
    // The longest that fit, and their neighbours.
    let batch = [member("first", ""), member("long", &properties(32_767)), member("last", "")].concat();
    broker.ok(send(RequestCode::SEND_BATCH_MESSAGE, "T", "", batch)).await;
    readable(&broker, "T", 3).await;
    let pulled = broker.call(pull("T", 0, "*", 0)).await;
    let stored = messages(&pulled, |record| {
        (String::from_utf8_lossy(record.body).into_owned(), record.properties.as_bytes().len())
    });
    assert_eq!(stored, [("first".into(), 0), ("long".into(), 32_767), ("last".into(), 0)]);
    broker.stop().await;
}

fn member(body: &str, properties: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let member = BatchMember { flag: 0, body: body.as_bytes(), properties: b"" };
    member.encode(&mut bytes).unwrap();
    let length = bytes.len();
    bytes[length - 2..].copy_from_slice(&(properties.len() as u16).to_be_bytes());
    bytes.extend_from_slice(properties.as_bytes());
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&size.to_be_bytes());
    bytes
}
