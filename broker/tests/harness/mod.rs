//! A broker in this process, spoken to over real sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(dead_code, reason = "each test file uses a part")]

pub mod log;
mod ports;
pub mod producer;
pub mod replication;
pub mod site;

use std::path::Path;
use std::time::{Duration, Instant};

use apogee_broker::{Running, StartError};
use apogee_config::{BrokerSettings, NamesrvSettings};
use apogee_namesrv::Listening;
use apogee_remoting::client::{Client, ClientOptions};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, EncodeHeader, RequestCode, ResponseCode, Serialization};
pub use ports::free_ports;
use tempfile::TempDir;

/// How long a test waits for anything before it fails: on a slow disk, where each file that is written down may take seconds,
/// several of them. Less than the minute that some servers here wait for what never comes.
pub const TIMEOUT: Duration = Duration::from_secs(45);

/// A running master with its files in a folder of its own and a client of it.
pub struct TestBroker {
    /// `127.0.0.1:listenPort`.
    pub address: String,
    /// The connections of the test.
    pub client: Client,
    folder: TempDir,
    settings: BrokerSettings,
    serialization: Serialization,
    running: Running,
}

impl TestBroker {
    /// Starts a broker without name servers.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same with changed settings.
    pub async fn start_with(change: impl FnOnce(&mut BrokerSettings)) -> Self {
        Self::start_speaking(Serialization::Json, change).await
    }

    /// The same, registered at a name server.
    pub async fn start_at(name_server: &TestNameServer, change: impl FnOnce(&mut BrokerSettings)) -> Self {
        let address = name_server.address.clone();
        let start = Self::start_with(|settings| {
            settings.broker.namesrv_addr = Some(address);
            change(settings);
        });
        Box::pin(start).await
    }

    /// The same with headers written so.
    pub async fn start_speaking(serialization: Serialization, change: impl FnOnce(&mut BrokerSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = BrokerSettings::default();
        settings.broker.broker_name = "broker-a".into();
        settings.broker.broker_ip1 = "127.0.0.1".into();
        settings.broker.broker_ip2 = "127.0.0.1".into();
        settings.server.bind_address = "127.0.0.1".into();
        settings.store.store_path_root_dir = folder.path().join("store").to_string_lossy().into_owned();
        settings.store.store_path_commit_log = None;
        settings.store.mapped_file_size_commit_log = 1 << 20;
        settings.config_file = Some(folder.path().join("broker.properties"));
        change(&mut settings);
        let port = i32::from(free_ports());
        settings.server.listen_port = port;
        settings.broker.listen_port = port;
        settings.store.ha_listen_port = port + 1;
        Box::pin(Self::run(folder, settings, serialization)).await
    }

    /// Ends the broker as a signal does and starts it again on the same files and ports.
    pub async fn restart(self) -> Self {
        Box::pin(self.pause().await.go_on()).await
    }

    /// The same with changed settings.
    pub async fn restart_with(mut self, change: impl FnOnce(&mut BrokerSettings)) -> Self {
        change(&mut self.settings);
        Box::pin(self.restart()).await
    }

    /// Ends the broker, lets `change` at its store folder, and starts it again, if it starts.
    pub async fn restart_after(self, change: impl FnOnce(&Path)) -> Result<Self, StartError> {
        let paused = self.pause().await;
        change(Path::new(&paused.settings.store.store_path_root_dir));
        Box::pin(Self::try_run(paused.folder, paused.settings, paused.serialization)).await
    }

    /// Ends the broker as a signal does.
    pub async fn stop(self) {
        drop(self.client);
        self.running.stop().await;
    }

    /// Ends the broker as a signal does; its files and ports stay.
    pub async fn pause(self) -> Paused {
        drop(self.client);
        self.running.stop().await;
        Paused { folder: self.folder, settings: self.settings, serialization: self.serialization }
    }

    async fn run(folder: TempDir, settings: BrokerSettings, serialization: Serialization) -> Self {
        Self::try_run(folder, settings, serialization).await.unwrap()
    }

    async fn try_run(
        folder: TempDir,
        settings: BrokerSettings,
        serialization: Serialization,
    ) -> Result<Self, StartError> {
        let address = format!("127.0.0.1:{}", settings.server.listen_port);
        let running = Box::pin(Running::start(settings.clone(), serialization)).await?;
        Ok(Self { address, client: new_client(), folder, settings, serialization, running })
    }

    /// The folder of its store.
    pub fn store(&self) -> &Path {
        Path::new(&self.settings.store.store_path_root_dir)
    }

    /// Sends a request and gives its answer, whatever it says.
    pub async fn call(&self, request: Command) -> Command {
        self.client.call(&self.address, request, TIMEOUT).await.unwrap()
    }

    /// The same on a connection of its own.
    pub async fn call_apart(&self, request: Command) -> Command {
        new_client().call(&self.address, request, TIMEOUT).await.unwrap()
    }

    /// Like [`Self::call`], for an answer that must say SUCCESS.
    pub async fn ok(&self, request: Command) -> Command {
        let answer = self.call(request).await;
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
        answer
    }

    /// A request of `code` with this header, for [`Self::call`] and [`Self::ok`].
    pub fn request(code: RequestCode, header: &impl EncodeHeader) -> Command {
        Command::request(code).with_header(header)
    }

    /// Sends one message without properties and gives its queue offset.
    pub async fn send(&self, topic: &str, queue_id: i32, body: &str) -> i64 {
        self.send_with(topic, queue_id, "", body).await
    }

    /// The same with properties as the wire has them (name, byte 1, value, byte 2).
    pub async fn send_with(&self, topic: &str, queue_id: i32, properties: &str, body: &str) -> i64 {
        let header = SendMessageRequestHeader { queue_id, properties: Some(properties), ..send_header(topic) };
        let request = Self::request(RequestCode::SEND_MESSAGE, &header).with_body(body.to_owned());
        self.ok(request).await.field("queueOffset").unwrap().parse().unwrap()
    }

    /// Asks until `answers` gives a value: for what the broker does a little later by itself.
    pub async fn wait_for<T>(&self, what: &str, mut answers: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(value) = answers(self).await {
                return value;
            }
            assert!(Instant::now() < deadline, "in vain waited for: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A broker that ended and may go on.
pub struct Paused {
    folder: TempDir,
    settings: BrokerSettings,
    serialization: Serialization,
}

impl Paused {
    /// Starts it again.
    pub async fn go_on(self) -> TestBroker {
        Box::pin(TestBroker::run(self.folder, self.settings, self.serialization)).await
    }
}

/// A running name server with its files in a folder of its own.
pub struct TestNameServer {
    /// `127.0.0.1:port`.
    pub address: String,
    client: Client,
    _folder: TempDir,
}

impl TestNameServer {
    /// Starts it; it ends with the test.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let mut settings = NamesrvSettings::default();
        settings.namesrv.kv_config_path = path("kvConfig.json");
        settings.namesrv.config_store_path = path("namesrv.properties");
        settings.server.bind_address = "127.0.0.1".into();
        settings.server.listen_port = 0;
        let listening = Listening::start(settings, Serialization::Json).await.unwrap();
        let address = listening.local_addr().to_string();
        tokio::spawn(listening.run(std::future::pending()));
        Self { address, client: new_client(), _folder: folder }
    }

    /// What it says when it is asked for the route of a topic.
    pub async fn route(&self, topic: &str) -> ResponseCode {
        self.ask_route(topic).await.response_code()
    }

    /// The route of a topic, as text.
    pub async fn route_body(&self, topic: &str) -> String {
        String::from_utf8_lossy(&self.ask_route(topic).await.body.bytes()).into_owned()
    }

    async fn ask_route(&self, topic: &str) -> Command {
        let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", topic);
        self.client.call(&self.address, query, TIMEOUT).await.unwrap()
    }
}

/// A client with connections of its own.
pub fn new_client() -> Client {
    Client::new(ClientOptions::default())
}

/// A send as a Java producer makes it, into queue 0 of an automatic topic.
pub fn send_header(topic: &str) -> SendMessageRequestHeader<'_> {
    SendMessageRequestHeader {
        producer_group: Some("PG"),
        topic,
        default_topic: Some("TBW102"),
        default_topic_queue_nums: Some(4),
        queue_id: 0,
        sys_flag: 0,
        born_timestamp: 1_700_000_000_000,
        flag: 0,
        properties: Some(""),
        reconsume_times: Some(0),
        unit_mode: Some(false),
        batch: Some(false),
        max_reconsume_times: None,
    }
}

/// An admin's wish for a topic with so many queues.
pub fn topic(name: &str, queues: i32) -> Command {
    let queues = queues.to_string();
    let fields = [
        ("topic", name),
        ("defaultTopic", "TBW102"),
        ("perm", "6"),
        ("topicFilterType", "SINGLE_TAG"),
        ("readQueueNums", &queues),
        ("writeQueueNums", &queues),
        ("order", "false"),
    ];
    let request = Command::request(RequestCode::UPDATE_AND_CREATE_TOPIC);
    fields.into_iter().fold(request, |request, (name, value)| request.with_field(name, value))
}

/// A pull as a Java consumer makes it, of everything in queue 0, answered at once.
pub fn pull_header<'a>(group: &'a str, topic: &'a str) -> PullMessageRequestHeader<'a> {
    PullMessageRequestHeader {
        consumer_group: group,
        topic,
        lite_topic: None,
        queue_id: 0,
        queue_offset: 0,
        max_msg_nums: 32,
        // The subscription comes with the request.
        sys_flag: 0x4,
        commit_offset: Some(0),
        suspend_timeout_millis: Some(0),
        subscription: Some("*"),
        sub_version: Some(0),
        expression_type: Some("TAG"),
        max_msg_bytes: None,
        request_source: None,
        proxy_froward_client_id: None,
    }
}
