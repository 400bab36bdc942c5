//! A master, a slave, and what both hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_config::{BrokerRole, MessageStoreConfig};
use apogee_remoting::message::record::Draft;
use apogee_replication::master::{self, Master};
use apogee_replication::slave::{Fit, Replica};
use apogee_replication::{CurrentOptions, Options};
use apogee_store::{GetRequest, Hooks, Store};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Bytes of a file of the log.
pub const FILE: i32 = 64 << 10;
/// How long a test waits for anything before it fails.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A store in a folder of its own.
pub struct Node {
    pub folder: TempDir,
    pub store: Arc<Store>,
}

impl Node {
    pub fn new() -> Self {
        Self::open(tempfile::tempdir().unwrap(), FILE)
    }

    /// One whose files are large: making a file takes time.
    pub fn large() -> Self {
        Self::open(tempfile::tempdir().unwrap(), 4 << 20)
    }

    pub fn open(folder: TempDir, file_size: i32) -> Self {
        let config = MessageStoreConfig {
            store_path_root_dir: folder.path().join("store").to_string_lossy().into_owned(),
            mapped_file_size_commit_log: file_size,
            ..MessageStoreConfig::default()
        };
        let store = Store::open(&config, Hooks::default()).unwrap();
        Self { folder, store }
    }

    /// Closes the store and opens it again.
    pub fn reopen(self) -> Self {
        self.store.close().unwrap();
        drop(self.store);
        Self::open(self.folder, FILE)
    }

    /// Appends messages to queue 0 of topic T.
    pub fn append(&self, count: usize) {
        for n in 0..count {
            let body = vec![n as u8; 20 + n * 37 % 900];
            self.store.append(&draft(&body)).unwrap();
        }
    }

    /// Appends more than is sent from memory, and than stays mapped.
    pub fn append_much(&self) {
        let body = vec![7; 30_000];
        while self.store.max_physical_offset() < 20 << 20 {
            self.store.append(&draft(&body)).unwrap();
        }
    }

    /// Everything in the log from an offset on.
    pub fn log_from(&self, from: i64) -> Vec<u8> {
        let root = self.folder.path().join("store/commitlog");
        let mut files: Vec<_> = std::fs::read_dir(root).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let start: i64 = files[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
        let bytes: Vec<u8> = files.iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
        bytes[(from - start) as usize..(self.store.max_physical_offset() - start) as usize].to_vec()
    }

    /// All messages of queue 0 of topic T from an offset on.
    pub fn queue_from(&self, offset: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut request = GetRequest { topic: "T", queue_id: 0, offset, max_count: 1000, max_bytes: 1 << 20 };
        loop {
            let found = self.store.get(&request, None).unwrap();
            if found.count == 0 {
                return bytes;
            }
            found.runs.iter().for_each(|run| bytes.extend_from_slice(run));
            request.offset = found.next_offset;
        }
    }
}

pub fn draft(body: &[u8]) -> Draft<'_> {
    Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), body)
}

pub fn options() -> Options {
    let (heartbeat, silence) = (Duration::from_millis(50), Duration::from_millis(200));
    Options { heartbeat, silence, ..Options::from_config(&MessageStoreConfig::default()) }
}

/// A master that serves.
pub struct Serving {
    pub address: String,
    pub master: Master,
    task: JoinHandle<()>,
}

impl Serving {
    pub async fn start(node: &Node) -> Self {
        Self::with(node, options()).await
    }

    pub async fn with(node: &Node, options: impl Into<CurrentOptions>) -> Self {
        let listener = master::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let master = Master::new(Arc::clone(&node.store), options);
        let task = tokio::spawn(master.clone().run(listener));
        Self { address, master, task }
    }

    /// Ends it with all its connections.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// A slave that follows.
pub struct Following {
    task: JoinHandle<()>,
}

impl Following {
    pub fn start(node: &Node, address: &str, fit: Fit) -> Self {
        Self::with(node, address, fit, options())
    }

    pub fn with(node: &Node, address: &str, fit: Fit, options: Options) -> Self {
        node.store.set_refused(Some("this is a slave"));
        let replica = Replica::new(Arc::clone(&node.store), options);
        replica.set_master(Some(address));
        let task = tokio::spawn(async move { replica.run(|| async move { Ok(fit) }).await });
        Self { task }
    }

    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Waits until both logs end at the same place and are dispatched.
pub async fn caught_up(master: &Node, slave: &Node) {
    until("the slave has everything", || {
        master.store.max_physical_offset() == slave.store.max_physical_offset()
            && [master, slave].iter().all(|node| node.store.dispatch_behind_bytes() == 0)
    })
    .await;
}

pub async fn until(what: &str, is_true: impl Fn() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_true() {
        assert!(Instant::now() < deadline, "in vain waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The options of a master whose producers wait for slaves.
pub fn urgent() -> Options {
    let config = MessageStoreConfig { broker_role: BrokerRole::SyncMaster, ..MessageStoreConfig::default() };
    Options { is_urgent: Options::from_config(&config).is_urgent, ..options() }
}

/// Whether the slave's log is the master's from its first file on, and its queue holds the same messages.
pub fn assert_same(master: &Node, slave: &Node) {
    let from = slave.store.min_physical_offset();
    assert!(master.log_from(from) == slave.log_from(from), "the logs differ");
    let offset = slave.store.min_offset("T", 0);
    assert!(master.queue_from(offset) == slave.queue_from(offset), "the queues differ");
}
