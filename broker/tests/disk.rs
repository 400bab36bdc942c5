//! A disk that is full, fails or hangs: what producers are told, and that consumers go on.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use apogee_config::{BrokerSettings, FlushDiskType};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use apogee_store::watch::{Act, Answer, Holding, Watch, Watcher};
use harness::replication::runtime_info;
use harness::{TIMEOUT, TestBroker, new_client, pull_header, send_header};

/// A disk that fails at what is chosen, while it is told to, and is as full as it is told.
struct Disk {
    fails: AtomicBool,
    chosen: fn(Act<'_>, &Path) -> bool,
    error: io::ErrorKind,
    used: AtomicI32,
}

impl Disk {
    fn new(error: io::ErrorKind, chosen: fn(Act<'_>, &Path) -> bool) -> Arc<Self> {
        Arc::new(Self { fails: AtomicBool::new(false), chosen, error, used: AtomicI32::new(10) })
    }

    fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::Release);
    }
}

impl Watcher for Disk {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if self.fails.load(Ordering::Acquire) && (self.chosen)(act, path) {
            return Err(self.error.into());
        }
        Ok(Answer::GoOn)
    }

    fn used_percent(&self, _: &Path) -> Option<i32> {
        Some(self.used.load(Ordering::Acquire))
    }
}

fn is_in(path: &Path, directory: &str) -> bool {
    path.components().any(|part| part.as_os_str() == directory)
}

async fn start(change: impl FnOnce(&mut BrokerSettings)) -> TestBroker {
    TestBroker::start_with(|settings| {
        // nothing goes by itself
        settings.store.clean_resource_interval = 3_600_000;
        change(settings);
    })
    .await
}

async fn send(broker: &TestBroker, properties: &str) -> Command {
    let header = SendMessageRequestHeader { properties: Some(properties), ..send_header("T") };
    broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("m".repeat(1000))).await
}

/// The send is refused as the reference does, with the reason behind it.
async fn is_refused(broker: &TestBroker, reason: &str) {
    let answer = send(broker, "").await;
    let remark = answer.remark.as_deref().unwrap_or_default();
    assert_eq!(answer.response_code(), ResponseCode::SERVICE_NOT_AVAILABLE, "{remark}");
    assert!(remark.starts_with("service not available now. ") && remark.contains(reason), "{remark}");
}

/// Waits until so many messages can be consumed.
async fn has(broker: &TestBroker, count: i64) {
    let all = async |broker: &TestBroker| {
        let header = PullMessageRequestHeader { queue_offset: count - 1, ..pull_header("G", "T") };
        let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
        let is_last = answer.field("nextBeginOffset") == Some(&count.to_string());
        (answer.response_code() == ResponseCode::SUCCESS && is_last).then_some(())
    };
    broker.wait_for("all messages", all).await;
}

/// Has the broker look how full the disk is, which it does each second by itself, too.
async fn look(broker: &TestBroker) {
    let update = Command::request(RequestCode::UPDATE_BROKER_CONFIG);
    broker.ok(update.with_body("maxTransferCountOnMessageInMemory=32\n".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_watermark_sends_are_refused_and_consumers_go_on() {
    let broker = start(|_| {}).await;
    let disk = Disk::new(io::ErrorKind::Other, |_, _| false);
    let _watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::SUCCESS);
    disk.used.store(95, Ordering::Release);
    look(&broker).await;
    is_refused(&broker, "95 % full, above diskSpaceWarningLevelRatio=90").await;
    has(&broker, 1).await;
    disk.used.store(90, Ordering::Release);
    look(&broker).await;
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::SUCCESS);
    has(&broker, 2).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_sync_sends_are_refused_until_a_restart() {
    let broker = start(|settings| {
        settings.store.flush_disk_type = FlushDiskType::SyncFlush;
        // However slow the disk is: it is failing that is told.
        settings.store.sync_flush_timeout = 30_000;
    })
    .await;
    let disk = Disk::new(io::ErrorKind::Other, is_sync_of_log);
    let watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::SUCCESS);
    disk.fail(true);
    // It is stored, and nobody knows whether it is on disk.
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::FLUSH_DISK_TIMEOUT);
    is_refused(&broker, "the disk failed").await;
    disk.fail(false);
    is_refused(&broker, "the disk failed").await;
    has(&broker, 2).await;
    drop(watch);
    let broker = broker.restart().await;
    assert_eq!(send(&broker, "").await.field("queueOffset"), Some("2"));
    has(&broker, 3).await;
    broker.stop().await;
}

/// A sync of the log that is held up, and then fails.
struct FailingLate {
    holding: Arc<Holding>,
    fails: AtomicBool,
}

impl Watcher for FailingLate {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        let is_sync = is_sync_of_log(act, path);
        self.holding.before(act, path)?;
        if is_sync && self.fails.load(Ordering::Acquire) { Err(io::ErrorKind::Other.into()) } else { Ok(Answer::GoOn) }
    }

    fn end(&self) {
        self.holding.end();
    }
}

fn is_sync_of_log(act: Act<'_>, path: &Path) -> bool {
    matches!(act, Act::Sync { .. }) && is_in(path, "commitlog")
}

/// Whoever waits behind it is told that its message is stored only if it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_waits_behind_a_sync_that_fails_is_stored_or_refused() {
    let broker = start(|settings| {
        settings.store.flush_disk_type = FlushDiskType::SyncFlush;
        settings.store.sync_flush_timeout = 30_000;
    })
    .await;
    let disk = Arc::new(FailingLate { holding: Holding::new(is_sync_of_log), fails: AtomicBool::new(false) });
    let watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::SUCCESS);
    disk.holding.set(true);
    let address = broker.address.clone();
    let sends: Vec<_> = (0..9)
        .map(|_| {
            let request = TestBroker::request(RequestCode::SEND_MESSAGE, &send_header("T")).with_body("m".repeat(1000));
            let address = address.clone();
            tokio::spawn(async move { new_client().call(&address, request, TIMEOUT).await.unwrap() })
        })
        .collect();
    broker
        .wait_for("all sends", async |broker| {
            (runtime_info(broker, "putMessageTimesTotal").await == "10" && disk.holding.count() > 0).then_some(())
        })
        .await;
    disk.fails.store(true, Ordering::Release);
    disk.holding.set(false);
    let mut stored = 1;
    for send in sends {
        let answer = send.await.unwrap();
        let remark = answer.remark.as_deref().unwrap_or_default();
        match answer.response_code() {
            ResponseCode::FLUSH_DISK_TIMEOUT => stored += 1,
            ResponseCode::SERVICE_NOT_AVAILABLE => assert!(remark.contains("the disk failed"), "{remark}"),
            other => panic!("{other:?} {remark}"),
        }
    }
    has(&broker, stored).await;
    drop(watch);
    let broker = broker.restart().await;
    has(&broker, stored).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_for_the_next_file_sends_are_refused_until_there_is() {
    let broker = start(|settings| settings.store.mapped_file_size_commit_log = 16 * 1024).await;
    let disk =
        Disk::new(io::ErrorKind::StorageFull, |act, path| matches!(act, Act::Allocate) && is_in(path, "commitlog"));
    let _watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    assert_eq!(send(&broker, "").await.response_code(), ResponseCode::SUCCESS);
    disk.fail(true);
    let mut count = 1;
    // The next file may be there already.
    while count < 40 && send(&broker, "").await.response_code() == ResponseCode::SUCCESS {
        count += 1;
    }
    is_refused(&broker, "the disk is full").await;
    has(&broker, count).await;
    disk.fail(false);
    let taken =
        async |broker: &TestBroker| (send(broker, "").await.response_code() == ResponseCode::SUCCESS).then_some(());
    broker.wait_for("room", taken).await;
    has(&broker, count + 1).await;
    broker.stop().await;
}

/// Whoever queries waits for it, and nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_written_holds_up_neither_sends_nor_consumers() {
    let broker = start(|settings| settings.store.max_index_num = 10).await;
    let disk = Holding::new(|act, path| matches!(act, Act::Write) && is_in(path, "index"));
    let _watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    disk.set(true);
    for _ in 0..20 {
        assert_eq!(send(&broker, "KEYS\u{1}k\u{2}").await.response_code(), ResponseCode::SUCCESS);
    }
    broker.wait_for("a full file of the index", async |_| (disk.count() > 0).then_some(())).await;
    for _ in 0..20 {
        assert_eq!(send(&broker, "KEYS\u{1}k\u{2}").await.response_code(), ResponseCode::SUCCESS);
    }
    has(&broker, 40).await;
    disk.set(false);
    let query =
        [("topic", "T"), ("key", "k"), ("maxNum", "64"), ("beginTimestamp", "0"), ("endTimestamp", "9000000000000")];
    let query = query
        .into_iter()
        .fold(Command::request(RequestCode::QUERY_MESSAGE), |query, (name, value)| query.with_field(name, value));
    let found = broker.ok(query).await.body.bytes();
    assert_eq!(apogee_remoting::message::record::entries(&found).count(), 40);
    broker.stop().await;
}
