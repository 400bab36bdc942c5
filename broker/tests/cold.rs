//! A disk that does not answer holds up who reads from it, and nobody else.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::io;
use std::path::Path;
use std::sync::Arc;

use apogee_remoting::protocol::heartbeat::{HeartbeatData, ProducerData};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use apogee_store::watch::{Act, Answer, Holding, Watch, Watcher};
use harness::{TestBroker, pull_header};

/// A disk that nothing of is in memory.
struct ColdDisk(Arc<Holding>);

impl Watcher for ColdDisk {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        match act {
            Act::ReadAtOnce => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.0.before(act, path),
        }
    }

    fn end(&self) {
        self.0.end();
    }
}

/// The broker has one thread here, besides those that may wait: a read there would hold up all of it, and this test.
#[tokio::test(flavor = "current_thread")]
async fn a_read_that_is_stuck_holds_up_nothing_else() {
    let broker = TestBroker::start().await;
    for i in 0..3 {
        assert_eq!(broker.send_with("T", 0, "KEYS\u{1}k\u{2}", &format!("m{i}")).await, i);
    }
    // What this process wrote counts as in memory; what one before it wrote does not.
    let broker = broker.restart().await;
    let reads = Holding::new(|act, _| matches!(act, Act::Read));
    let _watch = Watch::new(broker.store(), Arc::new(ColdDisk(Arc::clone(&reads))));
    reads.set(true);
    // All on one connection.
    let stuck = async {
        let view = Command::request(RequestCode::VIEW_MESSAGE_BY_ID).with_field("offset", "0");
        tokio::join!(broker.call(pull(0)), broker.call(pull(1)), broker.call(view))
    };
    let others = async {
        broker.wait_for("three reads", async |_| (reads.count() == 3).then_some(())).await;
        assert_eq!(broker.send("T", 0, "m3").await, 3);
        assert_eq!(broker.send("New", 1, "first of a topic").await, 0);
        broker.ok(heartbeat()).await;
        let newest = broker
            .wait_for("the message sent meanwhile", async |broker| {
                let answer = broker.call(pull(3)).await;
                (answer.response_code() == ResponseCode::SUCCESS).then_some(answer)
            })
            .await;
        assert_eq!(newest.field("nextBeginOffset"), Some("4"));
        assert_eq!(reads.count(), 3);
        reads.set(false);
    };
    let ((first, second, viewed), ()) = tokio::join!(stuck, others);
    for (answer, held) in [(first, 3..=4), (second, 2..=3)] {
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS);
        assert!(held.contains(&bodies(&answer)), "{}", bodies(&answer));
    }
    assert_eq!((viewed.response_code(), bodies(&viewed)), (ResponseCode::SUCCESS, 1));
    broker.stop().await;
}

fn pull(queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader { queue_offset, ..pull_header("G", "T") };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

fn bodies(answer: &Command) -> usize {
    apogee_remoting::message::record::entries(&answer.body.bytes()).map(Result::unwrap).count()
}

fn heartbeat() -> Command {
    let producers = vec![ProducerData { group_name: "PG".to_owned() }];
    let data =
        HeartbeatData { client_id: "client".to_owned(), producer_data_set: producers, ..HeartbeatData::default() };
    Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec(&data))
}
