//! Where a group begins that has not consumed yet: the broker's share of ConsumeFromWhere.

mod harness;

use apogee_remoting::protocol::offset::QueryConsumerOffsetRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::TestBroker;

/// While a queue's first message is there and likely in memory, a new group begins at it, whatever it asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_young_queue_is_consumed_from_its_first_message() {
    let broker = TestBroker::start().await;
    two_messages(&broker).await;
    let answer = broker.ok(position(0, None)).await;
    assert_eq!(answer.field("offset"), Some("0"));
    broker.stop().await;
}

/// When the first message counts as read from the disk, the client is told that there is no offset and chooses by
/// itself: the first, the last, or the one of a time. 5.5.0 never gets here on a file that the system happens to cache.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_chooses_when_the_first_message_left_the_memory() {
    let broker = TestBroker::start_with(|settings| settings.store.access_message_in_memory_max_ratio = 0).await;
    two_messages(&broker).await;
    let answer = broker.call(position(0, None)).await;
    assert_eq!(answer.response_code(), ResponseCode::QUERY_NOT_FOUND);
    broker.stop().await;
}

/// A queue without messages has no first one to begin at: who asks for what comes from now on must not get a message
/// that arrived between his question and his first pull.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_chooses_where_an_empty_queue_begins() {
    let broker = TestBroker::start().await;
    two_messages(&broker).await;
    let answer = broker.call(position(1, None)).await;
    assert_eq!(answer.response_code(), ResponseCode::QUERY_NOT_FOUND);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_forbid_the_brokers_choice() {
    let broker = TestBroker::start().await;
    two_messages(&broker).await;
    let answer = broker.call(position(0, Some(false))).await;
    assert_eq!(answer.response_code(), ResponseCode::QUERY_NOT_FOUND);
    broker.stop().await;
}

async fn two_messages(broker: &TestBroker) {
    broker.send("T", 0, "early").await;
    broker.send("T", 0, "late").await;
    let max = || Command::request(RequestCode::GET_MAX_OFFSET).with_field("topic", "T").with_field("queueId", "0");
    broker
        .wait_for("both messages", async |broker| (broker.ok(max()).await.field("offset") == Some("2")).then_some(()))
        .await;
}

fn position(queue_id: i32, set_zero_if_not_found: Option<bool>) -> Command {
    let header = QueryConsumerOffsetRequestHeader { consumer_group: "G", topic: "T", queue_id, set_zero_if_not_found };
    TestBroker::request(RequestCode::QUERY_CONSUMER_OFFSET, &header)
}
