//! What a master sends, byte by byte, to a slave that keeps nothing.

use std::pin::pin;
use std::time::{Duration, Instant};

use apogee_replication::protocol::encode_report;
use apogee_replication::{CurrentOptions, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::pair::{FILE, Node, Serving, options, until};

/// A master that waits for long until a slave says something.
fn patient() -> Options {
    Options { silence: Duration::from_mins(1), ..options() }
}

/// A connection that says where a slave's log ends.
async fn connect(serving: &Serving, end: i64) -> TcpStream {
    let mut stream = TcpStream::connect(&serving.address).await.unwrap();
    stream.write_all(&encode_report(end)).await.unwrap();
    stream
}

/// The offset and the body of the next transfer.
async fn transfer(stream: &mut TcpStream) -> (i64, Vec<u8>) {
    let offset = stream.read_i64().await.unwrap();
    let mut body = vec![0; stream.read_i32().await.unwrap() as usize];
    stream.read_exact(&mut body).await.unwrap();
    (offset, body)
}

#[tokio::test]
async fn transfers_are_as_large_as_they_may_be_and_lie_in_one_file() {
    let master = Node::new();
    master.append(500);
    let end = master.store.max_physical_offset();
    // haTransferBatchSize
    let serving = Serving::with(&master, Options { batch: 1000, ..patient() }).await;
    // Behind the first byte of the log, in the middle of a record.
    let mut slave = connect(&serving, 1).await;
    let mut log = Vec::new();
    while (log.len() as i64) < end - 1 {
        let (offset, body) = transfer(&mut slave).await;
        assert_eq!(offset, 1 + log.len() as i64);
        let last = offset + body.len() as i64;
        assert!(body.len() <= 1000 && offset / i64::from(FILE) == (last - 1) / i64::from(FILE), "{offset} to {last}");
        assert!(body.len() == 1000 || last % i64::from(FILE) == 0 || last == end, "{offset} to {last}");
        log.extend(body);
    }
    assert!(log == master.log_from(1));
}

#[tokio::test]
async fn an_idle_master_says_where_it_is() {
    let master = Node::new();
    master.append(5);
    let end = master.store.max_physical_offset();
    let heartbeat = Duration::from_millis(20);
    let serving = Serving::with(&master, Options { heartbeat, ..patient() }).await;
    let begin = Instant::now();
    let mut slave = connect(&serving, end).await;
    for _ in 0..3 {
        assert_eq!(transfer(&mut slave).await, (end, vec![]));
    }
    assert!(begin.elapsed() >= 3 * heartbeat);
}

#[tokio::test]
async fn a_slave_that_reads_all_and_says_nothing_is_given_up() {
    let master = Node::new();
    master.append(5);
    let serving = Serving::start(&master).await;
    let begin = Instant::now();
    let mut slave = connect(&serving, master.store.max_physical_offset()).await;
    let mut heartbeats = Vec::new();
    slave.read_to_end(&mut heartbeats).await.unwrap();
    assert!(begin.elapsed() >= options().silence);
    assert_eq!(heartbeats.len() % 12, 0);
    until("it is given up", || serving.master.slaves().list().is_empty()).await;
}

#[tokio::test]
async fn no_slave_gets_more_in_a_second_than_it_may() {
    let master = Node::new();
    master.append(500);
    // haFlowControlEnable, maxHaTransferByteInSecond
    let serving = Serving::with(&master, Options { bytes_per_second: Some(50_000), ..patient() }).await;
    let begin = Instant::now();
    let mut slave = connect(&serving, 1).await;
    let mut length = 0;
    while length <= 100_000 {
        let (_, body) = transfer(&mut slave).await;
        length += body.len();
    }
    assert!(begin.elapsed() >= Duration::from_secs(1), "{length} bytes in {:?}", begin.elapsed());
}

#[tokio::test]
async fn changed_options_hold_from_the_next_transfer_on() {
    let master = Node::new();
    master.append(50);
    let options = CurrentOptions::from(Options { bytes_per_second: Some(1000), ..patient() });
    let serving = Serving::with(&master, options.clone()).await;
    let mut slave = connect(&serving, 1).await;
    let mut log = transfer(&mut slave).await.1;
    assert_eq!(log.len(), 1000);
    options.set(Options { batch: 100, ..patient() });
    let mut sizes = Vec::new();
    while (log.len() as i64) < master.store.max_physical_offset() - 1 {
        let body = transfer(&mut slave).await.1;
        sizes.push(body.len());
        log.extend(body);
    }
    // One may be on its way by then.
    assert!(sizes.iter().filter(|size| **size > 100).count() <= 1, "{sizes:?}");
    assert!(log == master.log_from(1));
}

#[tokio::test]
async fn a_master_that_stops_waits_for_its_slaves_while_they_are_there() {
    let master = Node::new();
    master.append(5);
    let serving = Serving::with(&master, patient()).await;
    let slave = connect(&serving, 1).await;
    until("it is there", || serving.master.slaves().list().len() == 1).await;
    let limit = Duration::from_mins(1);
    let begin = Instant::now();
    let mut drained = pin!(serving.master.drained(limit));
    assert!(timeout(Duration::ZERO, drained.as_mut()).await.is_err());
    drop(slave);
    drained.await;
    assert!(begin.elapsed() < limit);
}

#[tokio::test]
async fn many_slaves_have_it_all() {
    let master = Node::new();
    master.append(1);
    let serving = Serving::with(&master, patient()).await;
    let begin = master.store.max_physical_offset();
    let mut slaves = Vec::new();
    for _ in 0..MANY {
        slaves.push(connect(&serving, begin).await);
    }
    until("they are there", || serving.master.slaves().list().len() == MANY).await;
    master.append(300);
    let end = master.store.max_physical_offset();
    let everybody = serving.master.acknowledged(end, MANY);
    let follow = async |mut slave: TcpStream| {
        let mut log = Vec::new();
        while (log.len() as i64) < end - begin {
            log.extend(transfer(&mut slave).await.1);
            slave.write_all(&encode_report(begin + log.len() as i64)).await.unwrap();
        }
        (slave, log)
    };
    let mut connected = Vec::new();
    for slave in slaves {
        let (slave, log) = follow(slave).await;
        assert!(log == master.log_from(begin));
        connected.push(slave);
    }
    everybody.await;
}

const MANY: usize = 50;
