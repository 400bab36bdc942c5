//! What name servers are told, and those that do not answer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_remoting::protocol::register::{RegisterBrokerBody, RegisterBrokerRequestHeader};
use apogee_remoting::server::{Peer, Reply, Server, ServerOptions, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TIMEOUT, TestBroker, TestNameServer};
use tokio::sync::mpsc;

/// A name server that was restarted does not know the broker: told one new topic, it must not take that for all there are. It
/// refuses, as the reference does (trap 24), and is told the whole at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_server_that_refuses_a_single_topic_is_told_all() {
    let (address, mut told) = StandIn::start(|_, topics| {
        Some(if topics == Some(1) { ResponseCode::SYSTEM_ERROR } else { ResponseCode::SUCCESS })
    })
    .await;
    let broker = TestBroker::start_with(|settings| settings.broker.namesrv_addr = Some(address)).await;
    let (_, all) = told.recv().await.unwrap();
    broker.send("T", 0, "m").await;
    let all = all.unwrap();
    let register = RequestCode::REGISTER_BROKER;
    for topics in [1, all + 1] {
        assert_eq!(tokio::time::timeout(TIMEOUT, told.recv()).await.unwrap(), Some((register, Some(topics))));
    }
    broker.stop().await;
}

/// One that takes connections and never answers delays neither the start for its whole time, nor what the others hear.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_name_server_holds_up_nobody() {
    let (silent, mut told) = StandIn::start(|_, _| None).await;
    let other = TestNameServer::start().await;
    let addresses = format!("{silent};{}", other.address);
    let began = Instant::now();
    let broker = TestBroker::start_with(|settings| {
        settings.broker.namesrv_addr = Some(addresses);
        settings.broker.register_broker_timeout_mills = 120_000;
    })
    .await;
    for topic in ["A", "B", "C"] {
        broker.send(topic, 0, "m").await;
        assert_eq!(other.route(topic).await, ResponseCode::SUCCESS, "{topic}");
    }
    broker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(110), "{:?}", began.elapsed());
    // It was told all the same; the broker does not wait for it to listen.
    let unregistered = async { while told.recv().await.unwrap().0 != RequestCode::UNREGISTER_BROKER {} };
    tokio::time::timeout(TIMEOUT, unregistered).await.unwrap();
}

/// Told to take the broker for dead after ten seconds, a name server has to hear of it more often than every half minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_others_stand_in_for_sends_heartbeats() {
    let (address, mut told) = StandIn::start(|_, _| Some(ResponseCode::SUCCESS)).await;
    let broker = TestBroker::start_with(|settings| {
        settings.broker.namesrv_addr = Some(address);
        settings.broker.enable_slave_acting_master = true;
        settings.broker.broker_heartbeat_interval = 10;
    })
    .await;
    let heartbeat = async { while told.recv().await.unwrap().0 != RequestCode::BROKER_HEARTBEAT {} };
    tokio::time::timeout(TIMEOUT, heartbeat).await.unwrap();
    broker.stop().await;
}

/// What a name server was asked, and how many topics a registration named.
type Told = (RequestCode, Option<usize>);

/// Stands in for a name server: notes what it is told and answers as the test wants.
struct StandIn<F> {
    told: mpsc::UnboundedSender<Told>,
    answer: F,
}

impl<F: Fn(RequestCode, Option<usize>) -> Option<ResponseCode> + Send + Sync + 'static> StandIn<F> {
    /// Serves until the test ends; gives the address.
    async fn start(answer: F) -> (String, mpsc::UnboundedReceiver<Told>) {
        let (told, received) = mpsc::unbounded_channel();
        let server = Server::bind("127.0.0.1:0", ServerOptions::default()).await.unwrap();
        let address = server.local_addr().to_string();
        tokio::spawn(server.run(Arc::new(Self { told, answer }), std::future::pending()));
        (address, received)
    }
}

impl<F: Fn(RequestCode, Option<usize>) -> Option<ResponseCode> + Send + Sync + 'static> Service for StandIn<F> {
    fn call(&self, _: &Arc<Peer>, request: Command) -> Reply {
        let code = request.request_code();
        let topics = (code == RequestCode::REGISTER_BROKER).then(|| {
            let header: RegisterBrokerRequestHeader<'_> = request.header().unwrap();
            let body = RegisterBrokerBody::decode(&request.body.bytes(), header.compressed, request.version).unwrap();
            body.topic_config_serialize_wrapper.topic_config_table.len()
        });
        // The test may be over.
        let _ = self.told.send((code, topics));
        (self.answer)(code, topics).map_or(Reply::Never, |code| Command::response(code).into())
    }
}
