//! What is left of topics and groups that are gone.

use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{max_offset, messages, pull, readable, request};

/// B22 (4774, 2748, 9703): a topic created again began behind its old queue, and groups were ahead of it.
#[tokio::test(flavor = "multi_thread")]
async fn b22_a_topic_created_again_begins_at_0_for_everybody() {
    let mut broker = TestBroker::start().await;
    for restarts in [false, true] {
        for _ in 0..100 {
            broker.send("T", 0, "old").await;
        }
        readable(&broker, "T", 100).await;
        commit(&broker, 100).await;
        broker.ok(request(RequestCode::DELETE_TOPIC_IN_BROKER, &[("topic", "T")])).await;
        if restarts {
            broker = broker.restart().await;
        }
        assert_eq!(broker.send("T", 0, "new").await, 0, "after a restart: {restarts}");
        readable(&broker, "T", 1).await;
        assert_eq!(messages(&broker.call(pull("T", 0, "*", 0)).await, |record| record.body.to_vec()), [b"new"]);
        let answer = broker.call(committed()).await;
        assert_eq!(answer.field("offset"), Some("0"), "a lag of one");
        broker.ok(request(RequestCode::DELETE_TOPIC_IN_BROKER, &[("topic", "T")])).await;
        assert_eq!(max_offset(&broker, "T").await, 0);
    }
    broker.stop().await;
}

/// B22 (rocketmq-client-cpp 488): a group that is deleted with its offsets begins anew, one deleted without goes on.
#[tokio::test(flavor = "multi_thread")]
async fn b22_a_group_is_deleted_with_its_offsets_or_without() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "x").await;
    readable(&broker, "T", 1).await;
    for (clean, is_kept) in [("false", true), ("true", false)] {
        commit(&broker, 1).await;
        let delete = [("groupName", "G"), ("cleanOffset", clean)];
        broker.ok(request(RequestCode::DELETE_SUBSCRIPTIONGROUP, &delete)).await;
        let answer = broker.call(committed().with_field("setZeroIfNotFound", "false")).await;
        let expected = if is_kept { ResponseCode::SUCCESS } else { ResponseCode::QUERY_NOT_FOUND };
        assert_eq!(answer.response_code(), expected, "cleanOffset={clean}");
    }
    broker.stop().await;
}

async fn commit(broker: &TestBroker, offset: i64) {
    broker
        .ok(request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, &[]).with_body(r#"{"groupName":"G"}"#.to_owned()))
        .await;
    let fields = [("consumerGroup", "G"), ("topic", "T"), ("queueId", "0"), ("commitOffset", &offset.to_string())];
    broker.ok(request(RequestCode::UPDATE_CONSUMER_OFFSET, &fields)).await;
}

fn committed() -> apogee_remoting::Command {
    request(RequestCode::QUERY_CONSUMER_OFFSET, &[("consumerGroup", "G"), ("topic", "T"), ("queueId", "0")])
}
