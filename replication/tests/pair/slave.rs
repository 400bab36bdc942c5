//! What a slave sends, byte by byte, to a master that is played here.

use std::time::{Duration, Instant};

use apogee_replication::Options;
use apogee_replication::protocol::Transfer;
use apogee_replication::slave::Fit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::pair::{FILE, Following, Node, options, until};

/// A slave's next connection, and how far it says that its log goes.
async fn next(listener: &TcpListener) -> (TcpStream, i64) {
    let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    let end = stream.read_i64().await.unwrap();
    (stream, end)
}

async fn send(stream: &mut TcpStream, offset: i64, body: &[u8]) {
    let mut transfer = Transfer { offset, size: body.len() as i32 }.encode().to_vec();
    transfer.extend_from_slice(body);
    stream.write_all(&transfer).await.unwrap();
}

/// Ends when the slave has left; what it said before does not count, nor how it left.
async fn left(mut stream: TcpStream) {
    let reading = async { stream.read_to_end(&mut Vec::new()).await };
    let _ = timeout(PATIENCE, reading).await.unwrap();
}

#[tokio::test]
async fn a_slave_says_where_it_is_and_comes_back_later_each_time() {
    let (master, slave) = (Node::new(), Node::new());
    master.append(10);
    let log = master.log_from(0);
    let end = log.len() as i64;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let patient = Options { silence: Duration::from_mins(1), ..options() };
    let following = Following::with(&slave, &listener.local_addr().unwrap().to_string(), Fit::Unknown, patient);

    let (mut stream, at) = next(&listener).await;
    assert_eq!(at, 0, "it is empty");
    // An empty log begins where the master says.
    let begin = i64::from(FILE) * 3;
    let (some, rest) = log.split_at(log.len() - 5);
    let sent = Instant::now();
    send(&mut stream, begin, some).await;
    // Records say themselves where they belong, and these belong elsewhere.
    left(stream).await;
    assert_eq!(slave.store.max_physical_offset(), 0);

    let (mut stream, at) = next(&listener).await;
    assert!(at == 0 && sent.elapsed() >= FIRST_WAIT, "it waits before it comes back");
    // Whole records are taken and reported, in whatever pieces they come.
    send(&mut stream, 0, some).await;
    let mut reported = 0;
    while reported == 0 {
        reported = stream.read_i64().await.unwrap();
    }
    assert!(reported < end - 5, "the last record is not whole");
    send(&mut stream, end - 5, rest).await;
    while stream.read_i64().await.unwrap() < end {}
    assert!(slave.log_from(0) == log);
    // With nothing to say it says the same again and again.
    for _ in 0..3 {
        assert_eq!(stream.read_i64().await.unwrap(), end);
    }
    // A master's sign of life asks for nothing.
    send(&mut stream, end, &[]).await;
    assert_eq!(stream.read_i64().await.unwrap(), end);

    // What does not follow on its log ends the connection, and it waits longer each time that it comes to nothing.
    let sent = Instant::now();
    for _ in 0..2 {
        send(&mut stream, end + 1, &[]).await;
        left(stream).await;
        let (again, at) = next(&listener).await;
        assert_eq!(at, end);
        stream = again;
    }
    assert!(sent.elapsed() >= 3 * FIRST_WAIT, "{:?}", sent.elapsed());
    assert!(slave.log_from(0) == log);
    drop(stream);
    following.stop().await;
    until("all is in queues", || slave.store.dispatch_behind_bytes() == 0).await;
    assert_eq!(slave.store.max_offset("T", 0), 10);
}

const FIRST_WAIT: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(20);

/// What answers where a slave looks for its master may be anything.
#[tokio::test]
async fn what_is_no_master_gives_a_slave_nothing_and_is_tried_again() {
    let last_file = i64::MAX / i64::from(FILE) * i64::from(FILE);
    let transfer = |offset, size, body: &[u8]| [&Transfer { offset, size }.encode()[..], body].concat();
    let answers = [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec(),
        transfer(0, -1, b""),
        transfer(0, i32::MAX, &vec![0xAA; 100_000]),
        transfer(last_file, 0, b""),
        transfer(last_file, 200, &[0x55; 200]),
        transfer(i64::MAX - 300, 300, &[0; 300]),
        transfer(i64::MAX / 2, 0, &transfer(i64::MAX / 2, 300, &[0; 300])),
    ];
    let each = answers.map(|answer| async move {
        let slave = Node::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let following = Following::start(&slave, &listener.local_addr().unwrap().to_string(), Fit::Unknown);
        for _ in 0..2 {
            let (mut stream, at) = next(&listener).await;
            assert_eq!(at, 0, "{answer:?}");
            // It may leave before it has read all.
            let _ = stream.write_all(&answer).await;
            left(stream).await;
        }
        assert_eq!(slave.store.max_physical_offset(), 0, "{answer:?}");
        following.stop().await;
    });
    for answered in each.map(tokio::spawn) {
        answered.await.unwrap();
    }
}
