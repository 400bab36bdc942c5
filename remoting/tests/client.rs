//! The client against a real server.
#![allow(clippy::unwrap_used, reason = "clippy sees no test in helper functions")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_remoting::client::{Client, ClientOptions, NameServers};
use apogee_remoting::server::{CallError, Peer, Reply, ServerOptions, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use futures_util::future::join_all;
use support::{ECHO, LATER, NEVER, request, soon, start};
use tokio::net::TcpListener;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(30);

fn quick() -> ClientOptions {
    ClientOptions { first_back_off: SHORT, ..ClientOptions::default() }
}

/// An address that refuses connections.
async fn nobody() -> String {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
}

#[tokio::test]
async fn many_calls_at_once_share_one_connection_and_get_their_own_answers() {
    let mut server = start(ServerOptions::default()).await;
    let client = Client::new(ClientOptions::default());
    let address = server.address.to_string();
    let calls = (0..500).map(async |i: i32| {
        let answer = client.call(&address, request(ECHO, 0, &i.to_be_bytes()), LONG).await.unwrap();
        assert_eq!(answer.body.bytes(), &i.to_be_bytes()[..]);
    });
    join_all(calls).await;
    drop(client);
    server.closed().await;
    assert!(server.stopped().await.recv().await.is_none(), "more than one connection");
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_the_connection_stays() {
    let mut server = start(ServerOptions::default()).await;
    let client = Client::new(ClientOptions::default());
    let address = server.address.to_string();
    let error = client.call(&address, request(LATER, 0, b""), SHORT).await;
    assert_eq!(error, Err(CallError::Timeout(server.address, SHORT)));
    let (_, answer) = server.held().await;
    answer.send(Command::response(ResponseCode::SUCCESS)).unwrap();
    client.call(&address, request(ECHO, 0, b""), LONG).await.unwrap();
    assert!(server.events.try_recv().is_err());
}

#[tokio::test]
async fn one_way_requests_arrive() {
    let mut server = start(ServerOptions::default()).await;
    let client = Client::new(ClientOptions::default());
    client.send_one_way(&server.address.to_string(), request(NEVER, 0, b"x"), LONG).await.unwrap();
    assert!(server.seen().await.1.is_one_way());
}

#[tokio::test]
async fn connects_again_after_the_server_closed() {
    let mut server = start(ServerOptions::default()).await;
    let client = Client::new(quick());
    let address = server.address.to_string();
    client.send_one_way(&address, request(NEVER, 0, b""), LONG).await.unwrap();
    let (peer, _) = server.seen().await;
    let waiting = client.call(&address, request(NEVER, 0, b""), LONG);
    let closing = async {
        server.seen().await;
        peer.close();
    };
    assert_eq!(tokio::join!(waiting, closing).0, Err(CallError::Closed(server.address)));
    client.call(&address, request(ECHO, 0, b""), LONG).await.unwrap();
}

#[tokio::test]
async fn an_address_that_fails_is_left_alone_for_a_while() {
    let address = nobody().await;
    let options = ClientOptions { first_back_off: Duration::from_hours(1), ..ClientOptions::default() };
    let options = ClientOptions { last_back_off: Duration::from_hours(1), ..options };
    let client = Client::new(options);
    let first = client.call(&address, request(ECHO, 0, b""), LONG).await.unwrap_err();
    assert!(matches!(&first, CallError::Connect { address: named, .. } if *named == address), "{first}");
    // Somebody listens now, but is not tried yet.
    let _listener = TcpListener::bind(&address).await.unwrap();
    assert_eq!(client.call(&address, request(ECHO, 0, b""), LONG).await, Err(first));
}

#[tokio::test]
async fn a_host_that_does_not_resolve_is_named() {
    let client = Client::new(ClientOptions::default());
    let error = client.call("no-such-host.invalid:9876", request(ECHO, 0, b""), LONG).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot connect to no-such-host.invalid:9876: "), "{error}");
}

struct Answering;

impl Service for Answering {
    fn call(&self, _: &Arc<Peer>, request: Command) -> Reply {
        Command::response(ResponseCode::SUCCESS).with_body(request.body.bytes()).into()
    }
}

#[tokio::test]
async fn requests_of_the_server_go_to_the_clients_service() {
    let mut server = start(ServerOptions::default()).await;
    let client = Client::with_service(ClientOptions::default(), Arc::new(Answering));
    let bare = Client::new(ClientOptions::default());
    let address = server.address.to_string();
    for (client, expected) in [(&client, ResponseCode::SUCCESS), (&bare, ResponseCode::REQUEST_CODE_NOT_SUPPORTED)] {
        client.send_one_way(&address, request(NEVER, 0, b""), LONG).await.unwrap();
        let (peer, _) = server.seen().await;
        let ask = Command::request(RequestCode::GET_CONSUMER_RUNNING_INFO);
        assert_eq!(soon(peer.request(ask, LONG)).await.unwrap().response_code(), expected);
    }
}

#[tokio::test]
async fn any_name_server_that_answers_will_do_and_is_kept() {
    let (server, dead) = (start(ServerOptions::default()).await, nobody().await);
    let list = [dead.clone(), server.address.to_string(), dead];
    for _ in 0..5 {
        let servers = NameServers::new(Arc::new(Client::new(quick())), list.clone());
        for _ in 0..3 {
            servers.call_any(request(ECHO, 0, b""), LONG).await.unwrap();
        }
    }
    let servers = NameServers::new(Arc::new(Client::new(quick())), []);
    assert_eq!(servers.call_any(request(ECHO, 0, b""), LONG).await, Err(CallError::NoNameServer));
    servers.set_addresses(list);
    servers.call_any(request(ECHO, 0, b""), LONG).await.unwrap();
}

#[tokio::test]
async fn all_name_servers_are_asked_at_once() {
    let (mut one, mut two, dead) =
        (start(ServerOptions::default()).await, start(ServerOptions::default()).await, nobody().await);
    let list = [one.address.to_string(), dead.clone(), two.address.to_string()];
    let servers = NameServers::new(Arc::new(Client::new(quick())), list.clone());
    let begin = Instant::now();
    let asking = servers.call_all(request(LATER, 0, b""), LONG);
    let answering = async {
        // Neither answers before both were asked.
        let (first, second) = (one.held().await, two.held().await);
        first.1.send(Command::response(ResponseCode::SUCCESS)).unwrap();
        second.1.send(Command::error(ResponseCode::SYSTEM_ERROR, "no")).unwrap();
    };
    let answers = tokio::join!(asking, answering).0;
    assert!(begin.elapsed() < LONG);
    let (addresses, results): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    assert_eq!(addresses, list);
    assert_eq!(results[0].as_ref().unwrap().response_code(), ResponseCode::SUCCESS);
    assert!(matches!(results[1], Err(CallError::Connect { .. })));
    assert_eq!(results[2].as_ref().unwrap().response_code(), ResponseCode::SYSTEM_ERROR);
    assert_eq!(servers.send_one_way_all(request(NEVER, 0, b""), LONG).await.len(), 1);
    servers.set_addresses([list[0].clone()]);
    // The connection to the one that is no longer listed is closed once its request is written.
    two.seen().await;
    two.closed().await;
    assert!(NameServers::parse_list(" a:1; ;b:2;") == ["a:1", "b:2"]);
}
