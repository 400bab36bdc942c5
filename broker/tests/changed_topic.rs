//! Sends keep what they know of a topic; a change of it counts from the next send on.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TIMEOUT, TestBroker, new_client, send_header, topic};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// While others send to the topic all the time it is made smaller and larger, refused and taken again, deleted and made anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_counts_from_the_next_send_on() {
    let broker = TestBroker::start_with(|settings| settings.broker.auto_create_topic_enable = false).await;
    broker.ok(topic("T", 8)).await;
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (is_over, sent, address) = (Arc::clone(&is_over), Arc::clone(&sent), broker.address.clone());
            tokio::spawn(async move {
                let client = new_client();
                while !is_over.load(Ordering::Relaxed) {
                    let answer = client.call(&address, send(0), TIMEOUT).await.unwrap();
                    let is_stored = answer.response_code() == ResponseCode::SUCCESS;
                    sent.fetch_add(u64::from(is_stored), Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 0..20 {
        // nobody else sends to these
        for (queue_id, expected) in [(1, 0), (5, 0), (1, 1), (5, 1)] {
            assert_eq!(offset(&broker.ok(send(queue_id)).await), expected, "queue {queue_id} in round {round}");
        }
        broker.ok(topic("T", 2)).await;
        let refused = broker.call(send(5)).await;
        assert_eq!(refused.response_code(), ResponseCode::INVALID_PARAMETER, "{:?}", refused.remark);
        assert_eq!(offset(&broker.ok(send(1)).await), 2, "the queue is the same");
        broker.ok(topic("T", 8)).await;
        assert_eq!(offset(&broker.ok(send(5)).await), 2);
        let before = sent.load(Ordering::Relaxed);
        broker.wait_for("the others", async |_| (sent.load(Ordering::Relaxed) > before).then_some(())).await;
        broker.ok(Command::request(RequestCode::DELETE_TOPIC_IN_BROKER).with_field("topic", "T")).await;
        let refused = broker.call(send(1)).await;
        assert_eq!(refused.response_code(), ResponseCode::TOPIC_NOT_EXIST, "{:?}", refused.remark);
        broker.ok(topic("T", 8)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for other in others {
        other.await.unwrap();
    }
    broker.stop().await;
}

/// After a restart the topic is what its file says; a message to a queue that it does not have there would be lost.
#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_acknowledged_in_a_queue_that_is_not_on_disk() {
    let broker = TestBroker::start_with(|settings| settings.broker.auto_create_topic_enable = false).await;
    broker.ok(topic("T", 4)).await;
    broker.ok(send(3)).await;
    let config = broker.store().join("config");
    // A pipe where the writer wants its temporary file: opening it lasts until somebody reads, and it cannot be synced.
    let obstacle = config.join("topics.json.tmp");
    mknodat(CWD, &obstacle, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (client, address) = (new_client(), broker.address.clone());
    let change = tokio::spawn(async move { client.call(&address, topic("T", 8), TIMEOUT).await.unwrap() });
    let look = || Command::request(RequestCode::GET_TOPIC_CONFIG).with_field("topic", "T");
    let has_grown = async |broker: &TestBroker| {
        let answer = broker.call(look()).await;
        String::from_utf8_lossy(&answer.body.bytes()).contains(r#""writeQueueNums":8"#).then_some(())
    };
    broker.wait_for("the larger topic", has_grown).await;
    let mut answer = Box::pin(broker.call(send(7)));
    tokio::select! {
        biased;
        answer = &mut answer => panic!("acknowledged: {answer:?}"),
        // It comes behind, and what the message finds is not on disk.
        _ = broker.call(look()) => {}
    }
    drop(std::fs::File::open(&obstacle).unwrap());
    assert_eq!(change.await.unwrap().response_code(), ResponseCode::SYSTEM_ERROR);
    assert_ne!(answer.await.response_code(), ResponseCode::SUCCESS);
    broker.ok(send(3)).await;
    broker.ok(topic("T", 8)).await;
    broker.ok(send(7)).await;
    broker.stop().await;
}

fn send(queue_id: i32) -> Command {
    let header = SendMessageRequestHeader { queue_id, ..send_header("T") };
    TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".to_owned())
}

fn offset(answer: &Command) -> i64 {
    answer.field("queueOffset").unwrap().parse().unwrap()
}
