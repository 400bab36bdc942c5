//! Pulls beside the queue.

use apogee_remoting::ResponseCode;

use crate::harness::TestBroker;
use crate::{pull, readable};

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
