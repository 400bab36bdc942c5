//! What a producer is told while the disk hangs: `SYNC_FLUSH`, `syncFlushTimeout`, and messages that wait for nobody.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::sync::Arc;

use apogee_config::{BrokerRole, BrokerSettings, FlushDiskType};
use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::{SendMessageRequestHeader, SendMessageResponseHeader};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use apogee_store::watch::{Act, Holding, Watch};
use harness::{TestBroker, pull_header, send_header};

/// What producers write where they do not wait.
const NO_WAIT: &str = "WAIT\u{1}false\u{2}";

/// A broker whose disk hangs when it is told to.
struct Hanging {
    broker: TestBroker,
    disk: Arc<Holding>,
    _watch: Watch,
}

impl Hanging {
    async fn start(change: impl FnOnce(&mut BrokerSettings)) -> Self {
        let broker = TestBroker::start_with(|settings| {
            settings.store.flush_disk_type = FlushDiskType::SyncFlush;
            // Nothing is synced that nobody waits for.
            settings.store.flush_commit_log_thorough_interval = 3_600_000;
            change(settings);
        })
        .await;
        let disk = Holding::new(|act, path| {
            matches!(act, Act::Sync { .. }) && path.parent().is_some_and(|parent| parent.ends_with("commitlog"))
        });
        let watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
        Self { broker, disk, _watch: watch }
    }

    /// Fails where it ends only because a client no longer waits.
    async fn send(&self, properties: &str, body: &str) -> Command {
        let header = SendMessageRequestHeader { properties: Some(properties), ..send_header("T") };
        let request = TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(body.to_owned());
        self.broker.call(request).await
    }

    async fn send_batch(&self, properties: &str, body: &str) -> Command {
        let mut batch = Vec::new();
        for _ in 0..2 {
            BatchMember { flag: 0, body: body.as_bytes(), properties: b"" }.encode(&mut batch).unwrap();
        }
        let header = SendMessageRequestHeader { properties: Some(properties), batch: Some(true), ..send_header("T") };
        self.broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(batch)).await
    }
}

/// Where the message of an answer is; its remark is none, as the reference's.
fn offset(answer: &Command, code: ResponseCode) -> i64 {
    assert_eq!((answer.response_code(), &answer.remark), (code, &None));
    let header: SendMessageResponseHeader<'_> = answer.header().unwrap();
    assert!(!header.msg_id.is_empty());
    header.queue_offset
}

/// Asked apart: one connection may wait for the disk itself.
async fn has(broker: &TestBroker, count: i64) {
    let pull = || TestBroker::request(RequestCode::PULL_MESSAGE, &PullMessageRequestHeader { ..pull_header("G", "T") });
    let expected = count.to_string();
    broker
        .wait_for("all messages", async |broker| {
            (broker.call_apart(pull()).await.field("nextBeginOffset") == Some(&expected)).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_that_is_not_on_disk_in_time_is_stored_and_its_producer_is_told() {
    let hanging = Hanging::start(|settings| settings.store.sync_flush_timeout = 20).await;
    // the topic's first message waits for name servers, too
    hanging.broker.send_with("T", 0, NO_WAIT, "first").await;
    hanging.disk.set(true);
    assert_eq!(offset(&hanging.send("", "second").await, ResponseCode::FLUSH_DISK_TIMEOUT), 1);
    assert_eq!(offset(&hanging.send_batch("", "third").await, ResponseCode::FLUSH_DISK_TIMEOUT), 2);
    assert!(hanging.disk.count() > 0);
    has(&hanging.broker, 4).await;
    hanging.disk.set(false);
    let Hanging { broker, .. } = hanging;
    let broker = broker.restart_with(|settings| settings.store.sync_flush_timeout = 60_000).await;
    assert_eq!(broker.send("T", 0, "fourth").await, 4);
    has(&broker, 5).await;
    broker.stop().await;
}

/// The time-out is longer than the client's patience.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_that_does_not_wait_is_answered_while_the_disk_hangs() {
    let hanging = Hanging::start(|settings| settings.store.sync_flush_timeout = 60_000).await;
    hanging.broker.send("T", 0, "first").await;
    hanging.disk.set(true);
    assert_eq!(offset(&hanging.send(NO_WAIT, "second").await, ResponseCode::SUCCESS), 1);
    assert_eq!(offset(&hanging.send_batch(NO_WAIT, "third").await, ResponseCode::SUCCESS), 2);
    let (waiting, ()) = tokio::join!(hanging.send("", "fourth"), async {
        has(&hanging.broker, 5).await;
        hanging.broker.wait_for("the sync", async |_| (hanging.disk.count() > 0).then_some(())).await;
        hanging.disk.set(false);
    });
    assert_eq!(offset(&waiting, ResponseCode::SUCCESS), 4);
    hanging.broker.stop().await;
}

/// Neither does it wait for a slave: here there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_that_does_not_wait_is_answered_without_a_slave() {
    let hanging = Hanging::start(|settings| {
        settings.store.broker_role = BrokerRole::SyncMaster;
        settings.store.in_sync_replicas = 2;
        settings.store.slave_timeout = 20;
        settings.store.sync_flush_timeout = 20;
    })
    .await;
    assert_eq!(offset(&hanging.send("", "first").await, ResponseCode::FLUSH_SLAVE_TIMEOUT), 0);
    let Hanging { broker, disk, _watch: watch } = hanging;
    let broker = broker.restart_with(|settings| settings.store.slave_timeout = 60_000).await;
    let hanging = Hanging { broker, disk, _watch: watch };
    hanging.disk.set(true);
    assert_eq!(offset(&hanging.send(NO_WAIT, "second").await, ResponseCode::SUCCESS), 1);
    assert_eq!(offset(&hanging.send_batch(NO_WAIT, "third").await, ResponseCode::SUCCESS), 2);
    hanging.disk.set(false);
    hanging.broker.stop().await;
}
