//! Pulls beside the queue, and queues that lost their messages.

use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{max_offset, messages, pull, readable, request};

/// B20 (4215, alibaba/rocketmq 351 and 395): a pull beyond the end of a queue whose minimum is 0 was sent to 0, and days
/// were consumed again.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_pull_beyond_the_end_is_sent_to_the_end() {
    let broker = TestBroker::start().await;
    for number in 0..3 {
        assert_eq!(broker.send("T", 0, "x").await, number);
    }
    readable(&broker, "T", 3).await;
    // A hold of a minute would be noticed: those who are moved are told at once.
    for suspend in [0, 60_000] {
        for (offset, next) in [(4, "3"), (1_000_003, "3"), (i64::MAX, "3"), (-1, "0"), (i64::MIN, "0")] {
            let answer = broker.call(pull("T", offset, "*", suspend)).await;
            assert_eq!(answer.response_code(), ResponseCode::PULL_OFFSET_MOVED, "{offset}");
            assert_eq!(answer.field("nextBeginOffset"), Some(next), "{offset}");
        }
    }
    let answer = broker.call(pull("T", 3, "*", 0)).await;
    assert_eq!(answer.response_code(), ResponseCode::PULL_NOT_FOUND);
    assert_eq!(answer.field("nextBeginOffset"), Some("3"));
    broker.stop().await;
}

/// B20 and B11 (8753): when the first files of the log are gone, a pull below what is left is sent to its beginning, and one
/// beyond the end still to the end. The minimum stayed 0.
#[tokio::test(flavor = "multi_thread")]
async fn b20_b11_a_pull_of_what_is_gone_is_sent_to_what_is_left() {
    let broker = TestBroker::start().await;
    // Files of the log have 1 MiB here: the first holds three of these.
    let body = "x".repeat(300_000);
    for _ in 0..5 {
        broker.send("T", 0, &body).await;
    }
    let first_file = "commitlog/00000000000000000000";
    let broker = broker.restart_after(|store| std::fs::remove_file(store.join(first_file)).unwrap()).await.unwrap();
    assert_eq!((min_offset(&broker).await, max_offset(&broker, "T").await), (3, 5));
    for (offset, next) in [(0, "3"), (2, "3"), (-1, "3"), (6, "5"), (1_000_005, "5")] {
        let answer = broker.call(pull("T", offset, "*", 0)).await;
        assert_eq!(answer.response_code(), ResponseCode::PULL_OFFSET_MOVED, "{offset}");
        assert_eq!(answer.field("nextBeginOffset"), Some(next), "{offset}");
        assert_eq!((answer.field("minOffset"), answer.field("maxOffset")), (Some("3"), Some("5")), "{offset}");
    }
    assert_eq!(messages(&broker.call(pull("T", 3, "*", 0)).await, |record| record.queue_offset)[0], 3);
    broker.stop().await;
}

/// B11 (10417): the minimum of a queue whose messages had all been in the lost end of the log stayed above its maximum, and
/// what was sent later was not consumed.
#[tokio::test(flavor = "multi_thread")]
async fn b11_a_queue_without_its_messages_begins_anew() {
    let mut broker = TestBroker::start().await;
    broker.send("T", 0, "lost").await;
    readable(&broker, "T", 1).await;
    broker = broker
        .restart_after(|store| {
            let log = store.join("commitlog/00000000000000000000");
            let size = std::fs::metadata(&log).unwrap().len();
            std::fs::write(&log, vec![0; size as usize]).unwrap();
            // Nothing of it was known to be on disk, and the stop was none.
            std::fs::remove_file(store.join("checkpoint")).unwrap();
            std::fs::write(store.join("abort"), "").unwrap();
        })
        .await
        .unwrap();
    assert_eq!((min_offset(&broker).await, max_offset(&broker, "T").await), (0, 0));
    assert_eq!(broker.send("T", 0, "new").await, 0);
    readable(&broker, "T", 1).await;
    assert_eq!(messages(&broker.call(pull("T", 0, "*", 0)).await, |record| record.body.to_vec()), [b"new"]);
    broker.stop().await;
}

async fn min_offset(broker: &TestBroker) -> i64 {
    let answer = broker.ok(request(RequestCode::GET_MIN_OFFSET, &[("topic", "T"), ("queueId", "0")])).await;
    answer.field("offset").unwrap().parse().unwrap()
}
