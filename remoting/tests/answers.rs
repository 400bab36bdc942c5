//! When and in which order answers, pushes and calls leave a server.

mod support;

use std::time::Duration;

use apogee_remoting::server::{CallError, ServerOptions};
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization};
use support::{
    ECHO, FORGOTTEN, LATER, NEVER, PANIC, PANIC_LATER, PANIC_TOGETHER, PANIC_UNASKED, PUSH, PUT_OFF, request, soon,
    start,
};

const LONG: Duration = Duration::from_secs(20);

fn done(text: &'static str) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(text.to_owned())
}

#[tokio::test]
async fn later_answers_come_when_they_are_ready_and_hold_nobody_up() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    for opaque in [1, 2, 3] {
        raw.write(&request(LATER, opaque, b"").encode(Serialization::Json)).await;
    }
    let mut held = Vec::new();
    for opaque in [1, 2, 3] {
        let (seen, answer) = server.held().await;
        assert_eq!(seen.opaque, opaque);
        held.push((opaque, answer));
    }
    assert_eq!(raw.ask(&request(ECHO, 4, b"now")).await.opaque, 4);
    for at in [1, 1, 0] {
        let (opaque, answer) = held.remove(at);
        answer.send(done("later")).unwrap();
        let response = raw.command().await;
        assert_eq!((response.opaque, response.flag, response.body.len()), (opaque, 1, 5));
    }
}

#[tokio::test]
async fn pushes_of_a_handler_leave_before_its_answer() {
    let server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    let frames = [request(ECHO, 1, b""), request(PUSH, 2, b""), request(ECHO, 3, b"")];
    raw.write(&frames.map(|f| f.encode(Serialization::Json)).concat()).await;
    let mut order = Vec::new();
    for _ in 0..6 {
        let command = raw.command().await;
        order.push(if command.is_response() { command.opaque } else { -command.code });
    }
    assert_eq!(order, [1, -40, -40, -40, 2, 3]);
}

#[tokio::test]
async fn answers_that_are_put_off_come_behind_those_of_what_came_together() {
    let server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    let frames = [(PUT_OFF, 1), (ECHO, 2), (PUT_OFF, 3), (PANIC, 4), (PUT_OFF, 5)];
    let frames = frames.map(|(code, opaque)| request(code, opaque, b"").encode(Serialization::Json));
    let one_way = request(PUT_OFF, 6, b"").one_way().encode(Serialization::Json);
    raw.write(&[&frames.concat()[..], &one_way, &request(ECHO, 7, b"").encode(Serialization::Json)].concat()).await;
    let mut order = Vec::new();
    for _ in 0..6 {
        let answer = raw.command().await;
        let is_put_off = [1, 3, 5].contains(&answer.opaque);
        assert_eq!(answer.body.bytes(), if is_put_off { "4" } else { "" });
        order.push(answer.opaque);
    }
    // they come in one write, which one read of the server takes
    assert_eq!(order, [2, 4, 7, 1, 3, 5]);
    assert_eq!(raw.ask(&request(PUT_OFF, 8, b"")).await.body.bytes(), "1");
}

#[tokio::test]
async fn a_connection_ends_whose_answers_are_lost() {
    for lost in [FORGOTTEN, PANIC_TOGETHER] {
        let mut server = start(ServerOptions::default()).await;
        let mut raw = server.connect().await;
        let frames = [(PUT_OFF, 1), (lost, 2), (PUT_OFF, 3), (ECHO, 4)];
        let frames = frames.map(|(code, opaque)| request(code, opaque, b"").encode(Serialization::Json));
        raw.write(&frames.concat()).await;
        // what is answered reaches it
        assert_eq!(raw.command().await.opaque, 4);
        assert_eq!(raw.command().await.opaque, 1);
        server.closed().await;
        assert_eq!(server.connect().await.ask(&request(PUT_OFF, 5, b"")).await.body.bytes(), "1");
    }
}

#[tokio::test]
async fn what_is_put_off_is_not_left_to_another_connection() {
    let mut server = start(ServerOptions { max_requests_in_flight: 1, ..ServerOptions::default() }).await;
    let mut first = server.connect().await;
    first.write(&request(LATER, 1, b"").encode(Serialization::Json)).await;
    let (_, held) = server.held().await;
    let mut second = server.connect().await;
    let frames = [(PUT_OFF, 2), (PANIC_UNASKED, 3)];
    second.write(&frames.map(|(code, opaque)| request(code, opaque, b"").encode(Serialization::Json)).concat()).await;
    server.closed().await;
    assert_eq!(first.ask(&request(PUT_OFF, 4, b"")).await.body.bytes(), "1");
    held.send(done("later")).unwrap();
}

#[tokio::test]
async fn one_way_requests_get_no_answer() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    for code in [ECHO, PANIC, PANIC_LATER, LATER] {
        raw.write(&request(code, 1, b"").one_way().encode(Serialization::Json)).await;
    }
    server.held().await.1.send(done("nobody reads this")).unwrap();
    assert_eq!(raw.ask(&request(ECHO, 2, b"")).await.opaque, 2);
}

#[tokio::test]
async fn a_panic_is_a_system_error_of_its_request_only() {
    let server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    for code in [PANIC, PANIC_LATER] {
        let answer = raw.ask(&request(code, 7, b"")).await;
        assert_eq!((answer.response_code(), answer.opaque), (ResponseCode::SYSTEM_ERROR, 7));
        assert_eq!(raw.ask(&request(ECHO, 8, b"")).await.opaque, 8);
    }
}

#[tokio::test]
async fn calls_to_the_peer_are_paired_by_opaque() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    raw.write(&request(NEVER, 1, b"").encode(Serialization::Json)).await;
    let (peer, _) = server.seen().await;
    let ask = || Command::request(RequestCode::GET_CONSUMER_RUNNING_INFO);
    let (first, second) = (peer.submit(ask()).unwrap(), peer.submit(ask()).unwrap());
    let (one, two) = (raw.command().await, raw.command().await);
    assert_ne!(one.opaque, two.opaque);
    for (asked, text) in [(two, "second"), (one, "first")] {
        let mut answer = done(text);
        answer.opaque = asked.opaque;
        raw.write(&answer.encode(Serialization::Json)).await;
    }
    assert_eq!(soon(first).await.unwrap().body.bytes(), &b"first"[..]);
    assert_eq!(soon(second).await.unwrap().body.bytes(), &b"second"[..]);
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time_and_its_late_answer_is_ignored() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    raw.write(&request(NEVER, 1, b"").encode(Serialization::Json)).await;
    let (peer, _) = server.seen().await;
    let short = Duration::from_millis(20);
    let ask = Command::request(RequestCode::GET_CONSUMER_RUNNING_INFO);
    assert_eq!(peer.request(ask, short).await, Err(CallError::Timeout(peer.address(), short)));
    let asked = raw.command().await;
    let mut late = done("late");
    late.opaque = asked.opaque;
    raw.write(&late.encode(Serialization::Json)).await;
    assert_eq!(raw.ask(&request(ECHO, 2, b"")).await.opaque, 2);
}

#[tokio::test]
async fn the_peers_close_ends_what_is_in_flight_and_is_told_once() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    raw.write(&request(LATER, 1, b"").encode(Serialization::Json)).await;
    raw.write(&request(NEVER, 2, b"").encode(Serialization::Json)).await;
    let (_, mut answer) = server.held().await;
    let (peer, _) = server.seen().await;
    let call = peer.submit(Command::request(RequestCode::GET_CONSUMER_RUNNING_INFO)).unwrap();
    drop(raw);
    soon(answer.closed()).await;
    assert_eq!(soon(call).await, Err(CallError::Closed(peer.address())));
    assert_eq!(server.closed().await, peer.id());
    assert!(!peer.is_open());
    let ask = Command::request(RequestCode::GET_CONSUMER_RUNNING_INFO);
    assert_eq!(peer.send(ask.clone()), Err(CallError::Closed(peer.address())));
    assert_eq!(peer.request(ask, LONG).await, Err(CallError::Closed(peer.address())));
    assert!(server.stopped().await.recv().await.is_none(), "closed was told twice");
}

#[tokio::test]
async fn closing_from_a_handlers_side_writes_what_is_queued_first() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    raw.write(&request(NEVER, 1, b"").encode(Serialization::Json)).await;
    let (peer, _) = server.seen().await;
    for _ in 0..100 {
        peer.send(Command::request(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED).with_body(vec![1; 5000])).unwrap();
    }
    peer.close();
    for _ in 0..100 {
        assert_eq!(raw.command().await.body.len(), 5000);
    }
    assert_eq!(raw.frame().await, None);
    assert_eq!(server.closed().await, peer.id());
}
