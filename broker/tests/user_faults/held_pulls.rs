//! Pulls that wait for rare messages.

use std::time::{Duration, Instant};

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::{Command, RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::{messages, pull, readable, send};

/// B26 (8592, 9637): a held pull was not woken after messages that its filter passed over.
#[tokio::test(flavor = "multi_thread")]
async fn b26_a_held_pull_wakes_for_its_tag_after_thousands_of_others() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "first").await;
    readable(&broker, "T", 1).await;
    let mut others = Vec::new();
    for _ in 0..500 {
        BatchMember { flag: 0, body: b"x", properties: b"TAGS\x01Common\x02" }.encode(&mut others).unwrap();
    }
    let held = async { (broker.call(pull("T", 1, "Rare", 60_000)).await, Instant::now()) };
    let sender = async {
        for _ in 0..20 {
            broker.ok(send(RequestCode::SEND_BATCH_MESSAGE, "T", "", others.clone())).await;
        }
        readable(&broker, "T", 10_001).await;
        broker.send_with("T", 0, "TAGS\u{1}Rare\u{2}", "rare").await;
        Instant::now()
    };
    let ((mut answer, mut woken), mut sent) = tokio::join!(held, sender);
    let mut late = Vec::new();
    loop {
        // A pull looks through so many units at a time; then the client comes again at once.
        while answer.response_code() == ResponseCode::PULL_RETRY_IMMEDIATELY {
            answer = broker.call(pull("T", next(&answer), "Rare", 60_000)).await;
            woken = Instant::now();
        }
        assert_eq!(messages(&answer, |record| record.body.to_vec()), [b"rare"]);
        late.push(woken.saturating_duration_since(sent));
        if late.len() == 5 {
            break;
        }
        let held = async { (broker.call(pull("T", next(&answer), "Rare", 60_000)).await, Instant::now()) };
        let sender = async {
            broker.send_with("T", 0, "TAGS\u{1}Common\u{2}", "x").await;
            broker.send_with("T", 0, "TAGS\u{1}Rare\u{2}", "rare").await;
            Instant::now()
        };
        ((answer, woken), sent) = tokio::join!(held, sender);
    }
    // 100 ms are wanted, and of most of them, for a machine may be busy now and then; far below every interval of looking again.
    late.sort();
    assert!(late[2] < Duration::from_millis(900), "{late:?}");
    broker.stop().await;
}

fn next(answer: &Command) -> i64 {
    answer.field("nextBeginOffset").unwrap().parse().unwrap()
}

/// The same report: a hold ends with its time, though others go by.
#[tokio::test(flavor = "multi_thread")]
async fn b26_a_held_pull_ends_with_its_time_while_others_go_by() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "first").await;
    readable(&broker, "T", 1).await;
    let others = async {
        for _ in 0..100 {
            broker.send_with("T", 0, "TAGS\u{1}Common\u{2}", "x").await;
        }
    };
    let held = async {
        let mut offset = 1;
        loop {
            let begun = Instant::now();
            let answer = broker.call(pull("T", offset, "Rare", 1_000)).await;
            offset = next(&answer);
            // One that came behind a message looks at the next one at once.
            if answer.response_code() != ResponseCode::PULL_RETRY_IMMEDIATELY {
                return begun.elapsed();
            }
        }
    };
    let (passed, ()) = tokio::join!(held, others);
    // Not before its time; how long after depends on the machine.
    assert!(passed >= Duration::from_millis(990), "{passed:?}");
    broker.stop().await;
}
