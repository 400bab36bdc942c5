//! Long names.

use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{messages, pull, readable, request, send};

/// B06 (5568, 9479): messages of retry topics with names beyond 127 bytes vanished, for a record held their length in one byte.
#[tokio::test(flavor = "multi_thread")]
async fn b06_messages_of_long_retry_topics_come_back() {
    let broker = TestBroker::start().await;
    // A retry topic longer than the first is of no group that may be created; a topic of dead letters may have any name.
    for (prefix, length) in [("%RETRY%", 127), ("%DLQ%", 128), ("%DLQ%", 200), ("%DLQ%", 255)] {
        let topic = format!("{prefix}{}", "g".repeat(length - prefix.len()));
        broker.ok(send(RequestCode::SEND_MESSAGE_V2, &topic, "", b"again".to_vec())).await;
        readable(&broker, &topic, 1).await;
        let pulled = broker.call(pull(&topic, 0, "*", 0)).await;
        assert_eq!(
            messages(&pulled, |record| (record.topic.to_owned(), record.body.to_vec())),
            [(topic, b"again".to_vec())]
        );
    }
    let topic = format!("%RETRY%{}", "g".repeat(249));
    let answer = broker.call(send(RequestCode::SEND_MESSAGE_V2, &topic, "", b"x".to_vec())).await;
    assert_eq!(answer.response_code(), ResponseCode::INVALID_PARAMETER);
    broker.stop().await;
}

/// Its sibling: the longest group has its retry topic, and messages that live through a restart.
#[tokio::test(flavor = "multi_thread")]
async fn b06_the_longest_group_has_a_retry_topic_after_a_restart() {
    let mut broker = TestBroker::start().await;
    let group = "g".repeat(120);
    let topic = format!("%RETRY%{group}");
    let heartbeat = format!(
        r#"{{"clientID":"c","consumerDataSet":[{{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"{group}","messageModel":"CLUSTERING","subscriptionDataSet":[],"unitMode":false}}],"producerDataSet":[]}}"#
    );
    broker.ok(request(RequestCode::HEART_BEAT, &[]).with_body(heartbeat)).await;
    broker.ok(request(RequestCode::GET_TOPIC_CONFIG, &[("topic", &topic)])).await;
    broker.ok(send(RequestCode::SEND_MESSAGE_V2, &topic, "", b"again".to_vec())).await;
    broker = broker.restart().await;
    readable(&broker, &topic, 1).await;
    assert_eq!(messages(&broker.call(pull(&topic, 0, "*", 0)).await, |record| record.body.to_vec()), [b"again"]);
    broker.stop().await;
}
