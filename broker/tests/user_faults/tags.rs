//! Tags of batches, tags of equal hash, and filters that are none of tags.

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::message::java_hash::java_hash;
use apogee_remoting::protocol::heartbeat::{ConsumerData, HeartbeatData};
use apogee_remoting::protocol::subscription::SubscriptionData;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};

use crate::harness::TestBroker;
use crate::{messages, pull, readable, request, send};

/// B23 (3476): members of a batch without a last separator were stored as "TagACLUSTER...", and who asked for TagA got nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b23_members_with_and_without_a_last_separator_pass_by_their_tag() {
    let broker = TestBroker::start().await;
    let mut batch = Vec::new();
    for (body, properties) in [
        ("closed", "k\u{1}v\u{2}TAGS\u{1}TagA\u{2}"),
        ("open", "k\u{1}v\u{2}TAGS\u{1}TagA"),
        ("other", "TAGS\u{1}TagB"),
        ("none", ""),
    ] {
        let member = BatchMember { flag: 0, body: body.as_bytes(), properties: properties.as_bytes() };
        member.encode(&mut batch).unwrap();
    }
    broker.ok(send(RequestCode::SEND_BATCH_MESSAGE, "T", "", batch)).await;
    broker.ok(send(RequestCode::SEND_MESSAGE_V2, "T", "k\u{1}v\u{2}TAGS\u{1}TagA", b"single".to_vec())).await;
    readable(&broker, "T", 5).await;
    let pulled = broker.call(pull("T", 0, "TagA", 0)).await;
    let found = messages(&pulled, |record| {
        assert_eq!((record.properties.get_str("k"), record.properties.get_str("TAGS")), (Some("v"), Some("TagA")));
        String::from_utf8_lossy(record.body).into_owned()
    });
    assert_eq!(found, ["closed", "open", "single"]);
    broker.stop().await;
}

/// Its companion: a tag of the same hash may pass, the client looks again; but the offset goes on.
#[tokio::test(flavor = "multi_thread")]
async fn b23_tags_of_equal_hash_do_not_stop_a_queue() {
    let broker = TestBroker::start().await;
    for tag in ["BB", "C"] {
        broker.send_with("T", 0, &format!("TAGS\u{1}{tag}\u{2}"), "x").await;
    }
    readable(&broker, "T", 2).await;
    assert_eq!(broker.call(pull("T", 0, "Aa", 0)).await.field("nextBeginOffset"), Some("2"));
    assert_eq!(broker.call(pull("T", 0, "Z", 0)).await.field("nextBeginOffset"), Some("2"));
    broker.stop().await;
}

/// B25 (8631, 455): a subscription by SQL was refused without a word of why.
#[tokio::test(flavor = "multi_thread")]
async fn b25_a_filter_that_is_not_served_is_named() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "x").await;
    readable(&broker, "T", 1).await;
    for suspend in [0, 60_000] {
        let request = pull("T", 0, "a > 5", suspend).with_field("expressionType", "SQL92");
        let answer = broker.call(request).await;
        assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
        assert!(answer.remark.as_ref().unwrap().ends_with("filter message by SQL92"), "{:?}", answer.remark);
    }
    broker.stop().await;
}

/// B25 (7039): messages given back were looked at by the tags of their group's subscription once more, and lost to one that
/// had changed.
#[tokio::test(flavor = "multi_thread")]
async fn b25_a_retry_comes_whatever_tags_its_group_wants_now() {
    let broker = TestBroker::start_with(|settings| settings.store.message_delay_level = "1s".into()).await;
    let subscription = |topic: &str, tag: &str| SubscriptionData {
        topic: topic.into(),
        sub_string: tag.into(),
        code_set: (tag != "*").then(|| java_hash(tag.as_bytes())).into_iter().collect(),
        ..SubscriptionData::default()
    };
    let consumer = ConsumerData {
        group_name: "G".into(),
        subscription_data_set: vec![subscription("T", "TagB"), subscription("%RETRY%G", "*")],
        ..ConsumerData::default()
    };
    let data = HeartbeatData { client_id: "c".into(), consumer_data_set: vec![consumer], ..HeartbeatData::default() };
    broker.ok(Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec(&data))).await;
    broker.send_with("T", 0, "TAGS\u{1}TagA\u{2}", "x").await;
    let back = [("offset", "0"), ("group", "G"), ("delayLevel", "1"), ("originTopic", "T")];
    broker.ok(request(RequestCode::CONSUMER_SEND_MSG_BACK, &back)).await;
    readable(&broker, "%RETRY%G", 1).await;
    // By what is registered, as consumers pull that did not change what they want.
    let registered = pull("%RETRY%G", 0, "", 0).with_field("sysFlag", "0");
    for pull in [registered, pull("%RETRY%G", 0, "*", 0)] {
        let pulled = broker.call(pull).await;
        assert_eq!(
            messages(&pulled, |record| record.properties.get_str("TAGS").map(str::to_owned)),
            [Some("TagA".into())]
        );
    }
    broker.stop().await;
}
