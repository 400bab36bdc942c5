//! Peers that send too much, read too little, or are too many.

mod support;

use std::time::Duration;

use apogee_remoting::server::{CallError, ConnectionOptions, ServerOptions};
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization};
use support::{ECHO, LARGE, LATER, NEVER, VITAL, request, soon, start};
use tokio::io::AsyncWriteExt;

fn connection(options: ConnectionOptions) -> ServerOptions {
    ServerOptions { connection: options, send_buffer: 64 << 10, receive_buffer: 64 << 10, ..ServerOptions::default() }
}

#[tokio::test]
async fn a_peer_that_never_reads_is_held_back_and_then_closed() {
    let options = ConnectionOptions { max_unsent: 256 << 10, stall: Duration::from_millis(200), ..Default::default() };
    let mut server = start(connection(options)).await;
    let mut raw = server.connect().await;
    // 60 MB if it were answered; the requests alone do not fit what sockets buffer once reading stops.
    let batch = request(ECHO, 1, &[0; 6000]).encode(Serialization::Json).repeat(10);
    let mut written = 0;
    while written < 1 << 30 {
        match soon(raw.socket.write(&batch)).await {
            Ok(n) => written += n,
            Err(_) => break,
        }
    }
    assert!(written < 32 << 20, "the server went on reading: {written} bytes");
    server.closed().await;
}

#[tokio::test]
async fn a_slow_reader_gets_everything_in_order_in_the_end() {
    let options = ConnectionOptions { max_unsent: 64 << 10, ..Default::default() };
    let server = start(connection(options)).await;
    let mut raw = server.connect().await;
    // Small requests with large answers: far more than the bound and the socket buffers.
    for opaque in 0..200 {
        raw.write(&request(LARGE, opaque, b"100000").encode(Serialization::Json)).await;
    }
    for opaque in 0..200 {
        let answer = raw.command().await;
        assert_eq!((answer.opaque, answer.body.len()), (opaque, 100_000));
    }
    assert_eq!(raw.ask(&request(ECHO, 7, b"")).await.opaque, 7);
}

#[tokio::test]
async fn pushes_to_a_peer_that_does_not_read_are_refused_at_the_bound() {
    let options = ConnectionOptions { max_unsent: 256 << 10, ..Default::default() };
    let mut server = start(connection(options)).await;
    let mut raw = server.connect().await;
    raw.write(&request(NEVER, 1, b"").encode(Serialization::Json)).await;
    let (peer, _) = server.seen().await;
    let push = Command::request(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED).with_body(vec![0; 4000]);
    let mut sent = 0;
    let refusal = loop {
        match peer.send(push.clone()) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 100_000, "never refused");
        tokio::task::yield_now().await;
    };
    assert_eq!(refusal, CallError::Congested(peer.address()));
    for _ in 0..sent {
        assert_eq!(raw.command().await.body.len(), 4000);
    }
    // Writable again by itself.
    while peer.send(push.clone()).is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(raw.command().await.body.len(), 4000);
}

#[tokio::test]
async fn no_more_requests_are_read_while_too_many_are_in_flight() {
    let options = ConnectionOptions { max_in_flight: 2, ..Default::default() };
    let mut server = start(connection(options)).await;
    let (mut raw, mut other) = (server.connect().await, server.connect().await);
    for opaque in 1..=4 {
        raw.write(&request(LATER, opaque, b"").encode(Serialization::Json)).await;
    }
    let (first, second) = (server.held().await, server.held().await);
    assert_eq!(other.ask(&request(ECHO, 1, b"")).await.opaque, 1);
    assert!(server.events.try_recv().is_err(), "the third was taken");
    second.1.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    assert_eq!(raw.command().await.opaque, 2);
    let third = server.held().await;
    assert_eq!(third.0.opaque, 3);
    first.1.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    third.1.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    server.held().await.1.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    let mut rest = [raw.command().await.opaque, raw.command().await.opaque, raw.command().await.opaque];
    rest.sort_unstable();
    assert_eq!(rest, [1, 3, 4]);
}

#[tokio::test]
async fn beyond_the_servers_limit_requests_are_refused_but_vital_ones() {
    for (requests, bytes) in [(1, usize::MAX), (usize::MAX, 500)] {
        let options =
            ServerOptions { max_requests_in_flight: requests, max_bytes_in_flight: bytes, ..ServerOptions::default() };
        let mut server = start(options).await;
        let (mut raw, mut other) = (server.connect().await, server.connect().await);
        raw.write(&request(LATER, 1, &[0; 500]).encode(Serialization::Json)).await;
        let (_, answer) = server.held().await;
        let refusal = other.ask(&request(ECHO, 2, b"")).await;
        assert_eq!((refusal.response_code(), refusal.opaque), (ResponseCode::SYSTEM_BUSY, 2));
        assert_eq!(refusal.remark.as_deref(), Some("[OVERLOAD]system busy, start flow control for a while"));
        assert_eq!(other.ask(&request(VITAL, 3, b"")).await.response_code(), ResponseCode::SUCCESS);
        answer.send(Command::response(ResponseCode::SUCCESS)).unwrap();
        assert_eq!(raw.command().await.opaque, 1);
        assert_eq!(other.ask(&request(ECHO, 4, b"")).await.response_code(), ResponseCode::SUCCESS);
        // A connection that goes gives back what it had in flight.
        raw.write(&request(LATER, 5, &[0; 500]).encode(Serialization::Json)).await;
        let _held = server.held().await;
        drop(raw);
        server.closed().await;
        assert_eq!(other.ask(&request(ECHO, 6, b"")).await.response_code(), ResponseCode::SUCCESS);
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed() {
    let mut server = start(ServerOptions { max_connections: 2, ..ServerOptions::default() }).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    first.ask(&request(ECHO, 1, b"")).await;
    second.ask(&request(ECHO, 1, b"")).await;
    assert_eq!(server.connect().await.frame().await, None);
    drop(first);
    server.closed().await;
    // The place is free once the server has seen its task end.
    let admitted = async {
        loop {
            let mut raw = server.connect().await;
            let _ = raw.socket.write_all(&request(ECHO, 9, b"").encode(Serialization::Json)).await;
            if raw.frame().await.is_some() {
                break;
            }
        }
    };
    soon(admitted).await;
    second.ask(&request(ECHO, 2, b"")).await;
}

#[tokio::test]
async fn a_flood_on_one_connection_leaves_others_their_turn() {
    // One worker for everything: the flood must give it up by itself.
    let server = start(ServerOptions::default()).await;
    let (mut flood, mut other) = (server.connect().await, server.connect().await);
    let batch = request(ECHO, 1, b"").one_way().encode(Serialization::Json).repeat(1000);
    let flooding = async {
        loop {
            flood.write(&batch).await;
        }
    };
    let asking = async {
        for opaque in 0..5 {
            assert_eq!(other.ask(&request(ECHO, opaque, b"")).await.opaque, opaque);
        }
    };
    tokio::select! {
        () = flooding => unreachable!("the flood has no end"),
        () = asking => {}
    }
}
