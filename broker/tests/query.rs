//! Looking up messages by key and by place.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::query::QueryMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::TestBroker;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_found_by_its_keys_its_unique_key_and_its_tag_as_soon_as_it_is_sent() {
    let broker = TestBroker::start().await;
    broker.send_with("T", 0, "KEYS\u{1}k1 k2\u{2}UNIQ_KEY\u{1}u1\u{2}TAGS\u{1}a\u{2}", "first").await;
    broker.send_with("T", 1, "KEYS\u{1}k2\u{2}UNIQ_KEY\u{1}u2\u{2}TAGS\u{1}a\u{2}", "second").await;
    broker.send_with("Other", 0, "KEYS\u{1}k2\u{2}", "of another topic").await;

    assert_eq!(bodies(&broker.ok(query(&for_key("k1"))).await), ["first"]);
    let both = broker.ok(query(&for_key("k2"))).await;
    assert_eq!(bodies(&both), ["first", "second"]);
    // The newest first when not all are wanted.
    let one = QueryMessageRequestHeader { max_num: 1, ..for_key("k2") };
    assert_eq!(bodies(&broker.ok(query(&one)).await), ["second"]);
    // A unique key is a key like others; the flag sets the number of messages.
    let unique = QueryMessageRequestHeader { max_num: 0, unique_key: Some(true), ..for_key("u2") };
    assert_eq!(bodies(&broker.ok(query(&unique)).await), ["second"]);
    let tagged = QueryMessageRequestHeader { index_type: Some("T"), ..for_key("a") };
    assert_eq!(bodies(&broker.ok(query(&tagged)).await), ["first", "second"]);

    let bytes = both.body.bytes();
    let first = entries(&bytes).next().unwrap().unwrap();
    let updated: i64 = both.field("indexLastUpdateTimestamp").unwrap().parse().unwrap();
    let end: i64 = both.field("indexLastUpdatePhyoffset").unwrap().parse().unwrap();
    assert!(updated >= first.store_timestamp && end > 0, "{updated} {end}");
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_not_found() {
    let broker = TestBroker::start().await;
    broker.send_with("T", 0, "KEYS\u{1}k\u{2}", "m").await;
    let cases = [
        for_key("other"),
        QueryMessageRequestHeader { topic: "Other", ..for_key("k") },
        QueryMessageRequestHeader { max_num: 0, ..for_key("k") },
        QueryMessageRequestHeader { end_timestamp: 1_000, ..for_key("k") },
        // A tag of that name, not a key.
        QueryMessageRequestHeader { index_type: Some("T"), ..for_key("k") },
    ];
    for case in cases {
        let answer = broker.call(query(&case)).await;
        assert_eq!(answer.response_code(), ResponseCode::QUERY_NOT_FOUND, "{case:?}");
        assert_eq!(answer.remark.as_deref(), Some("can not find message, maybe time range not correct"));
        assert_eq!(answer.field("indexLastUpdateTimestamp"), Some("0"));
        assert_eq!(answer.field("indexLastUpdatePhyoffset"), Some("0"));
    }
    let negative = QueryMessageRequestHeader { max_num: -1, ..for_key("k") };
    let answer = broker.call(query(&negative)).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_returned_than_the_broker_allows() {
    let broker = TestBroker::start_with(|settings| {
        settings.store.max_msgs_num_batch = 3;
        settings.store.default_query_max_num = 2;
    })
    .await;
    for i in 0..5 {
        broker.send_with("T", 0, "KEYS\u{1}k\u{2}", &i.to_string()).await;
    }
    let many = QueryMessageRequestHeader { max_num: 1_000_000, ..for_key("k") };
    assert_eq!(bodies(&broker.ok(query(&many)).await), ["2", "3", "4"]);
    let unique = QueryMessageRequestHeader { unique_key: Some(true), ..many };
    assert_eq!(bodies(&broker.ok(query(&unique)).await), ["3", "4"]);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_found_after_a_restart_and_not_without_the_index() {
    let broker = TestBroker::start().await;
    broker.send_with("T", 0, "KEYS\u{1}k\u{2}", "m").await;
    let broker = broker.restart().await;
    assert_eq!(bodies(&broker.ok(query(&for_key("k"))).await), ["m"]);
    broker.stop().await;

    let broker = TestBroker::start_with(|settings| settings.store.message_index_enable = false).await;
    broker.send_with("T", 0, "KEYS\u{1}k\u{2}", "m").await;
    let answer = broker.call(query(&for_key("k"))).await;
    assert_eq!(answer.response_code(), ResponseCode::QUERY_NOT_FOUND);
    broker.stop().await;
}

fn for_key(key: &str) -> QueryMessageRequestHeader<'_> {
    QueryMessageRequestHeader {
        topic: "T",
        key,
        max_num: 32,
        begin_timestamp: 0,
        end_timestamp: i64::MAX,
        index_type: None,
        last_key: None,
        unique_key: None,
    }
}

fn query(header: &QueryMessageRequestHeader<'_>) -> Command {
    TestBroker::request(RequestCode::QUERY_MESSAGE, header)
}

fn bodies(answer: &Command) -> Vec<String> {
    let bytes = answer.body.bytes();
    entries(&bytes).map(|entry| String::from_utf8(entry.unwrap().body.to_vec()).unwrap()).collect()
}
