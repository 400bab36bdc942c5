//! Pulling over a socket: at once, held, and what the status codes say.

mod harness;

use std::time::{Duration, Instant};

use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TestBroker, pull_header};

/// The pull may wait for a message.
const SUSPEND: i32 = 0x2;

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_back_as_they_were_sent() {
    let broker = TestBroker::start().await;
    for i in 0..3 {
        assert_eq!(broker.send("T", 1, &format!("m{i}")).await, i);
    }
    let pulled = broker
        .wait_for("three messages", async |broker| {
            let answer = broker.call(pull(1, 0, 0)).await;
            (answer.field("nextBeginOffset") == Some("3")).then_some(answer)
        })
        .await;
    assert_eq!(pulled.response_code(), ResponseCode::SUCCESS);
    assert_eq!(pulled.field("maxOffset"), Some("3"));
    let bytes = pulled.body.bytes();
    for body in ["m0", "m1", "m2"] {
        assert!(bytes.windows(2).any(|window| window == body.as_bytes()), "{body}");
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_pull_is_answered_by_the_message_it_waits_for() {
    let broker = TestBroker::start().await;
    broker.send("T", 1, "first").await;
    broker
        .wait_for("the first message", async |broker| {
            let answer = broker.call(pull(1, 0, 0)).await;
            (answer.response_code() == ResponseCode::SUCCESS).then_some(())
        })
        .await;
    let mut took = Vec::new();
    for offset in 1..6 {
        let begun = Instant::now();
        let (pulled, _) = tokio::join!(broker.call(pull(1, offset, 60_000)), broker.send("T", 1, "next"));
        took.push(begun.elapsed());
        assert_eq!(pulled.response_code(), ResponseCode::SUCCESS);
        assert_eq!(pulled.field("nextBeginOffset"), Some(&*(offset + 1).to_string()));
    }
    took.sort();
    // Most of them, for a machine may be busy now and then: far from every interval at which a held pull might be looked at again.
    assert!(took[2] < Duration::from_millis(900), "{took:?}");
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_pull_ends_with_its_time() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "first").await;
    let pulled = broker.call(pull(1, 0, 200)).await;
    assert_eq!(pulled.response_code(), ResponseCode::PULL_NOT_FOUND);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_limit_holds_for_the_next_pull() {
    let broker = TestBroker::start().await;
    for i in 0..5 {
        broker.send("T", 1, &format!("m{i}")).await;
    }
    let next = async |broker: &TestBroker, expected: &'static str| {
        let answer = broker.call(pull(1, 0, 0)).await;
        (answer.field("nextBeginOffset") == Some(expected)).then_some(())
    };
    broker.wait_for("five messages", async |broker| next(broker, "5").await).await;
    let update = Command::request(RequestCode::UPDATE_BROKER_CONFIG);
    broker.ok(update.with_body("maxTransferCountOnMessageInMemory=2\n".to_owned())).await;
    assert_eq!(next(&broker, "2").await, Some(()));
    broker.stop().await;
}

/// A pull of queue `queue_id` that waits `hold` ms.
fn pull(queue_id: i32, queue_offset: i64, hold: i64) -> Command {
    let header = pull_header("G", "T");
    let sys_flag = if hold > 0 { header.sys_flag | SUSPEND } else { header.sys_flag };
    let header =
        PullMessageRequestHeader { queue_id, queue_offset, sys_flag, suspend_timeout_millis: Some(hold), ..header };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}
