//! How connections and servers end.

mod support;

use std::time::{Duration, Instant};

use apogee_remoting::server::{ConnectionOptions, Server, ServerOptions};
use apogee_remoting::{Command, ResponseCode, Serialization};
use support::{ECHO, Event, LATER, NEVER, request, start};
use tokio::net::TcpStream;

fn idle(idle: Duration) -> ServerOptions {
    ServerOptions { connection: ConnectionOptions { idle, ..Default::default() }, ..ServerOptions::default() }
}

#[tokio::test]
async fn idle_connections_are_closed_whether_they_spoke_or_not() {
    let mut server = start(idle(Duration::from_millis(100))).await;
    let begin = Instant::now();
    let (mut silent, mut spoke) = (server.connect().await, server.connect().await);
    spoke.ask(&request(ECHO, 1, b"")).await;
    assert_eq!(silent.frame().await, None);
    assert_eq!(spoke.frame().await, None);
    assert!(begin.elapsed() >= Duration::from_millis(100));
    server.closed().await;
    server.closed().await;
}

#[tokio::test]
async fn a_connection_with_a_request_in_flight_is_not_idle() {
    let mut server = start(idle(Duration::from_millis(50))).await;
    let (mut raw, mut silent) = (server.connect().await, server.connect().await);
    raw.write(&request(LATER, 1, b"").encode(Serialization::Json)).await;
    let (_, answer) = server.held().await;
    // A connection of the same age was closed, and another one after it.
    assert_eq!(silent.frame().await, None);
    assert_eq!(server.connect().await.frame().await, None);
    answer.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    assert_eq!(raw.command().await.opaque, 1);
    assert_eq!(raw.frame().await, None);
}

#[tokio::test]
async fn half_a_frame_does_not_keep_a_connection_alive() {
    let server = start(idle(Duration::from_millis(50))).await;
    let mut raw = server.connect().await;
    raw.write(&request(ECHO, 1, b"").encode(Serialization::Json)[..30]).await;
    assert_eq!(raw.frame().await, None);
}

#[tokio::test]
async fn shutdown_answers_what_is_in_hand_and_accepts_nothing_more() {
    let mut server = start(ServerOptions::default()).await;
    let (mut raw, mut silent) = (server.connect().await, server.connect().await);
    silent.ask(&request(ECHO, 1, b"")).await;
    raw.write(&request(LATER, 5, b"").encode(Serialization::Json)).await;
    let (_, answer) = server.held().await;
    server.stop();
    // The silent one is told first: the shutdown has begun.
    assert_eq!(silent.frame().await, None);
    assert!(TcpStream::connect(server.address).await.is_err());
    answer.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    assert_eq!(raw.command().await.opaque, 5);
    assert_eq!(raw.frame().await, None);
    drop((raw, silent));
    let mut events = server.stopped().await;
    let mut closed = 0;
    while let Some(event) = events.recv().await {
        assert!(matches!(event, Event::Closed(_)));
        closed += 1;
    }
    assert_eq!(closed, 2);
}

#[tokio::test]
async fn shutdown_does_not_wait_longer_than_its_grace() {
    let grace = Duration::from_millis(50);
    let mut server = start(ServerOptions { shutdown_grace: grace, ..ServerOptions::default() }).await;
    let mut raw = server.connect().await;
    raw.write(&request(LATER, 1, b"").encode(Serialization::Json)).await;
    let (_, mut answer) = server.held().await;
    raw.write(&request(NEVER, 2, b"").encode(Serialization::Json)).await;
    let (peer, _) = server.seen().await;
    let begin = Instant::now();
    let mut events = server.stopped().await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    answer.closed().await;
    assert!(!peer.is_open());
    assert!(matches!(events.recv().await, Some(Event::Closed(id)) if id == peer.id()));
    assert!(events.recv().await.is_none());
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let server = start(ServerOptions::default()).await;
    let address = server.address.to_string();
    let error = Server::bind(&address, ServerOptions::default()).await.err().unwrap();
    assert!(error.to_string().starts_with(&format!("cannot listen on {address}: ")), "{error}");
}

#[tokio::test]
async fn a_port_can_be_bound_again_at_once() {
    let server = start(ServerOptions::default()).await;
    let address = server.address.to_string();
    let mut raw = server.connect().await;
    raw.ask(&request(ECHO, 1, b"")).await;
    server.stopped().await;
    assert!(Server::bind(&address, ServerOptions::default()).await.is_ok());
}
