//! A listening name server, spoken to over real sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_config::{NamesrvSettings, ServerSettings};
use apogee_namesrv::Listening;
use apogee_remoting::client::{CallError, Client, ClientOptions};
use apogee_remoting::server::{Peer, Reply, Server, ServerOptions, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization};
use tokio::sync::{mpsc, oneshot};

const TIMEOUT: Duration = Duration::from_secs(45);

/// A running server with its files in a folder of its own.
struct Running {
    address: SocketAddr,
    folder: tempfile::TempDir,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start(change: impl FnOnce(&mut NamesrvSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let mut settings = NamesrvSettings::default();
        settings.namesrv.kv_config_path = path("kvConfig.json");
        settings.namesrv.config_store_path = path("namesrv.properties");
        settings.server.bind_address = "127.0.0.1".into();
        settings.server.listen_port = 0;
        change(&mut settings);
        let listening = Listening::start(settings, Serialization::Json).await.unwrap();
        let address = listening.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(listening.run(async { drop(stopped.await) }));
        Self { address, folder, stop, ended }
    }

    async fn call(&self, client: &Client, command: Command) -> Command {
        client.call(&self.address.to_string(), command, TIMEOUT).await.unwrap()
    }

    async fn route(&self, client: &Client, topic: &str) -> Option<String> {
        let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", topic);
        let answer = self.call(client, query).await;
        (answer.code == ResponseCode::SUCCESS.0).then(|| text(&answer))
    }

    /// Waits until the route of T has `marker`, or none of it.
    async fn wait_for(&self, client: &Client, marker: &str, there: bool) {
        let deadline = Instant::now() + TIMEOUT;
        while self.route(client, "T").await.is_some_and(|route| route.contains(marker)) != there {
            assert!(Instant::now() < deadline, "{marker} there: {there}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn client() -> Arc<Client> {
    Arc::new(Client::new(ClientOptions::default()))
}

fn text(command: &Command) -> String {
    String::from_utf8(command.body.bytes().to_vec()).unwrap()
}

fn register(broker: &str, id: i64, address: &str) -> Command {
    let body = r#"{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":2},"topicConfigTable":{"T":{"perm":6,"readQueueNums":4,"topicName":"T","writeQueueNums":4},"U":{"perm":6,"readQueueNums":4,"topicName":"U","writeQueueNums":4}}}}"#;
    Command::request(RequestCode::REGISTER_BROKER)
        .with_field("brokerName", broker)
        .with_field("brokerAddr", address)
        .with_field("clusterName", "C")
        .with_field("haServerAddr", "127.0.0.1:1")
        .with_field("brokerId", &id.to_string())
        .with_field("enableActingMaster", "true")
        .with_body(body.to_owned())
}

fn put(namespace: &str, key: &str, value: &str) -> Command {
    Command::request(RequestCode::PUT_KV_CONFIG)
        .with_field("namespace", namespace)
        .with_field("key", key)
        .with_field("value", value)
}

#[tokio::test]
async fn a_broker_is_in_the_routes_while_its_connection_stands() {
    let server = Running::start(|_| {}).await;
    let (broker, asking) = (client(), client());
    let answer = server.call(&broker, register("a", 0, "127.0.0.1:10911")).await;
    assert_eq!((answer.code, answer.fields.map(|fields| fields.len())), (0, Some(0)));
    assert!(server.route(&asking, "T").await.is_some());
    broker.disconnect(&server.address.to_string());
    server.wait_for(&asking, "10911", false).await;
}

#[tokio::test]
async fn a_silent_broker_goes_and_loses_its_connection() {
    let server = Running::start(|settings| settings.namesrv.scan_not_active_broker_interval = 1).await;
    let (broker, asking) = (client(), client());
    let peer = broker.peer(&server.address.to_string()).await.unwrap();
    let short = register("a", 0, "127.0.0.1:10911").with_field("heartbeatTimeoutMillis", "0");
    server.call(&broker, short).await;
    server.wait_for(&asking, "10911", false).await;
    let deadline = Instant::now() + TIMEOUT;
    while peer.is_open() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn order_topics_are_kept_and_shown_when_that_is_on() {
    let server = Running::start(|settings| settings.namesrv.order_message_enable = true).await;
    let client = client();
    server.call(&client, register("a", 0, "127.0.0.1:10911")).await;
    assert!(!server.route(&client, "T").await.unwrap().contains("orderTopicConf"));
    assert_eq!(server.call(&client, put("ORDER_TOPIC_CONFIG", "T", "a:4")).await.code, 0);
    assert!(server.route(&client, "T").await.unwrap().contains(r#""orderTopicConf":"a:4""#));
    let answer = server.call(&client, register("a", 0, "127.0.0.1:10911")).await;
    assert_eq!(text(&answer), r#"{"table":{"T":"a:4"}}"#);
    let stored = std::fs::read_to_string(server.folder.path().join("kvConfig.json")).unwrap();
    assert_eq!(stored, r#"{"configTable":{"ORDER_TOPIC_CONFIG":{"T":"a:4"}}}"#);
}

#[tokio::test]
async fn routes_wait_for_the_brokers_when_that_is_wanted() {
    let server = Running::start(|settings| settings.namesrv.need_wait_for_service = true).await;
    let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", "T");
    let answer = server.call(&client(), query).await;
    assert_eq!((answer.code, answer.remark.as_deref()), (1, Some("name server not ready")));
}

/// Report 7542, CVE-2023-37582: requests changed where files are written.
#[tokio::test]
async fn b38_paths_are_refused_and_nothing_of_a_mixed_update_happens() {
    let server = Running::start(|_| {}).await;
    let client = client();
    let update = |body: &str| Command::request(RequestCode::UPDATE_NAMESRV_CONFIG).with_body(body.to_owned());
    for key in
        ["configStorePath", "kvConfigPath", "rocketmqHome", "configBlackList", "filterServerNums", "brokerConfigPath"]
    {
        let answer = server.call(&client, update(&format!("enableTopicList=false\n{key}=/tmp/x\n"))).await;
        assert_eq!(answer.code, ResponseCode::NO_PERMISSION.0, "{key}");
        assert_eq!(answer.remark.as_deref(), Some("Can not update config in black list."));
    }
    let answer = server.call(&client, update("enableTopicList=false\nscanNotActiveBrokerInterval=soon\n")).await;
    assert_eq!(answer.code, ResponseCode::INVALID_PARAMETER.0);
    assert!(answer.remark.unwrap().contains("scanNotActiveBrokerInterval"));
    let file = server.folder.path().join("namesrv.properties");
    assert!(!file.exists());
    let settings = text(&server.call(&client, Command::request(RequestCode::GET_NAMESRV_CONFIG)).await);
    assert!(settings.contains("\nenableTopicList=true\n"), "{settings}");

    assert_eq!(server.call(&client, update("enableTopicList=false\n")).await.code, 0);
    assert!(std::fs::read_to_string(file).unwrap().contains("\nenableTopicList=false\n"));
    let list = Command::request(RequestCode::GET_TOPICS_BY_CLUSTER).with_field("cluster", "C");
    assert_eq!(server.call(&client, list).await.remark.as_deref(), Some("disable"));
}

/// Report 10832: short frames and unknown serializations were answered by exceptions.
#[tokio::test]
async fn b01_broken_frames_cost_their_connection_only() {
    let server = Running::start(|_| {}).await;
    let client = client();
    server.call(&client, register("a", 0, "127.0.0.1:10911")).await;
    let frames: [&[u8]; 6] = [
        &[0, 0, 0, 3, 1, 2, 3],
        &[0, 0, 0, 4, 0x7F, 0, 0, 0],
        &[0, 0, 0, 4, 0, 0, 0, 100],
        &[0, 0, 0, 6, 0, 0, 0, 2, b'[', b']'],
        &[0xFF, 0xFF, 0xFF, 0xFF],
        &[0x7F, 0xFF, 0xFF, 0xFF],
    ];
    for frame in frames {
        let address = server.address;
        let frame = frame.to_vec();
        let read = tokio::task::spawn_blocking(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.set_read_timeout(Some(TIMEOUT)).unwrap();
            socket.write_all(&frame).unwrap();
            socket.read(&mut [0; 1]).map_err(|error| error.kind())
        });
        let closed = read.await.unwrap();
        assert!(matches!(closed, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{closed:?}");
        assert!(server.route(&client, "T").await.is_some());
    }
}

#[tokio::test]
async fn the_configured_largest_frame_holds() {
    let limit = |settings: &mut NamesrvSettings| {
        settings.set("com.rocketmq.remoting.frameMaxLength", "8192").unwrap();
    };
    let server = Running::start(limit).await;
    let client = client();
    assert_eq!(server.call(&client, put("N", "k", &"v".repeat(7900))).await.code, 0);
    let larger = client.call(&server.address.to_string(), put("N", "k", &"v".repeat(8192)), TIMEOUT).await;
    assert!(matches!(larger, Err(CallError::Closed(_))), "{larger:?}");
    assert_eq!(server.call(&client, put("N", "k", "v")).await.code, 0);
}

/// A broker's port that notes what it is told.
struct Listener(mpsc::UnboundedSender<Command>);

impl Service for Listener {
    fn call(&self, _: &Arc<Peer>, request: Command) -> Reply {
        let _ = self.0.send(request);
        Reply::Never
    }
}

#[tokio::test]
async fn brokers_are_told_who_has_the_smallest_id() {
    let server = Running::start(|settings| settings.namesrv.notify_min_broker_id_changed = true).await;
    let (told, mut heard) = mpsc::unbounded_channel();
    let port = Server::bind("127.0.0.1:0", ServerOptions::default()).await.unwrap();
    let slave = port.local_addr().to_string();
    tokio::spawn(port.run(Arc::new(Listener(told)), std::future::pending()));

    let client = client();
    server.call(&client, register("a", 0, "127.0.0.1:1")).await;
    server.call(&client, register("a", 2, &slave)).await;
    let leave = Command::request(RequestCode::UNREGISTER_BROKER)
        .with_field("brokerName", "a")
        .with_field("brokerAddr", "127.0.0.1:1")
        .with_field("clusterName", "C")
        .with_field("brokerId", "0");
    server.call(&client, leave).await;
    let push = tokio::time::timeout(TIMEOUT, heard.recv()).await.unwrap().unwrap();
    assert_eq!(push.request_code(), RequestCode::NOTIFY_MIN_BROKER_ID_CHANGE);
    assert!(push.is_one_way());
    assert_eq!((push.field("minBrokerId"), push.field("minBrokerAddr")), (Some("2"), Some(&*slave)));
    assert_eq!((push.field("offlineBrokerAddr"), push.field("haBrokerAddr")), (Some("127.0.0.1:1"), None));
}

#[tokio::test]
async fn stops_within_a_second_with_clients_connected() {
    let mut took = Vec::new();
    // Once is enough, for the machine may be busy for a while.
    while took.last().is_none_or(|took| *took >= Duration::from_secs(1)) {
        assert!(took.len() < 5, "{took:?}");
        let server = Running::start(|_| {}).await;
        let client = client();
        server.call(&client, register("a", 0, "127.0.0.1:10911")).await;
        let begin = Instant::now();
        server.stop.send(()).unwrap();
        server.ended.await.unwrap();
        took.push(begin.elapsed());
    }
}

/// Reports 4522, 10425, 10438: a registration with one topic counted as the whole, and of a registration in parts with one
/// version only the first part arrived.
#[tokio::test]
async fn b32_routes_have_all_topics_after_the_last_part() {
    let server = Running::start(|_| {}).await;
    let (broker, asking) = (client(), client());
    let part = |version: i64, topics: &[&str]| {
        let table: Vec<_> = topics
            .iter()
            .map(|topic| {
                format!(r#""{topic}":{{"perm":6,"readQueueNums":4,"topicName":"{topic}","writeQueueNums":4}}"#)
            })
            .collect();
        let body = format!(
            r#"{{"filterServerList":[],"topicConfigSerializeWrapper":{{"dataVersion":{{"counter":{version},"stateVersion":0,"timestamp":2}},"topicConfigTable":{{{}}}}}}}"#,
            table.join(",")
        );
        register("a", 0, "127.0.0.1:10911").with_body(body)
    };
    // One topic first is refused, and nothing of it stays to be taken for the whole.
    assert_ne!(server.call(&broker, part(5, &["A"])).await.code, ResponseCode::SUCCESS.0);
    assert_eq!(server.route(&asking, "A").await, None);
    for (version, topics) in [(5, ["A", "B"]), (5, ["C", "D"]), (6, ["E", "F"])] {
        assert_eq!(server.call(&broker, part(version, &topics)).await.code, ResponseCode::SUCCESS.0);
    }
    for topic in ["A", "B", "C", "D", "E", "F"] {
        assert!(server.route(&asking, topic).await.is_some(), "{topic}");
    }
}
