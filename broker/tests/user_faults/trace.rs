//! The topic of message traces.

use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{request, send};

const TRACE: &str = "RMQ_SYS_TRACE_TOPIC";

/// B40 (3715, 2126, 9349): traces went nowhere, and nothing said that a switch is off.
#[tokio::test(flavor = "multi_thread")]
async fn b40_a_refused_trace_names_the_switch() {
    let broker = TestBroker::start_with(|settings| settings.broker.auto_create_topic_enable = false).await;
    let answer = broker.call(send(RequestCode::SEND_MESSAGE_V2, TRACE, "", b"trace".to_vec())).await;
    assert_eq!(answer.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    assert!(answer.remark.as_ref().unwrap().contains("traceTopicEnable"), "{:?}", answer.remark);
    broker.stop().await;
}

/// The same report: with the switch on the topic is there from the start, with one queue; with automatic creation it comes
/// with the first trace.
#[tokio::test(flavor = "multi_thread")]
async fn b40_the_trace_topic_is_there_when_it_is_wanted() {
    let broker = TestBroker::start_with(|settings| {
        settings.broker.auto_create_topic_enable = false;
        settings.broker.trace_topic_enable = true;
    })
    .await;
    let config = broker.ok(request(RequestCode::GET_TOPIC_CONFIG, &[("topic", TRACE)])).await;
    let config = String::from_utf8(config.body.bytes().to_vec()).unwrap();
    assert!(config.contains(r#""perm":6"#) && config.contains(r#""writeQueueNums":1"#), "{config}");
    broker.ok(send(RequestCode::SEND_MESSAGE_V2, TRACE, "", b"trace".to_vec())).await;
    broker.stop().await;

    let broker = TestBroker::start().await;
    broker.ok(send(RequestCode::SEND_MESSAGE_V2, TRACE, "", b"trace".to_vec())).await;
    broker.stop().await;
}
