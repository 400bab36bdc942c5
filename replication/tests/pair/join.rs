//! Slaves that come, go and come back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use apogee_replication::Options;
use apogee_replication::protocol::encode_report;
use apogee_replication::slave::Fit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::pair::{FILE, Following, Node, Serving, assert_same, caught_up, draft, options, until};
use crate::proxy::Proxy;

#[tokio::test]
async fn a_slave_from_the_beginning_has_all_of_it() {
    let (master, slave) = (Node::new(), Node::new());
    let serving = Serving::start(&master).await;
    let following = Following::start(&slave, &serving.address, Fit::Proved);
    until("the slave is there", || serving.master.slaves().list().len() == 1).await;
    master.append(500);
    assert!(master.store.max_physical_offset() > 3 * i64::from(FILE), "over several files");
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    assert_eq!(slave.store.min_physical_offset(), 0);
    serving.master.acknowledged(master.store.max_physical_offset(), 1).await;
    following.stop().await;
    until("the slave is gone", || serving.master.slaves().list().is_empty()).await;
}

#[tokio::test]
async fn an_empty_slave_begins_with_the_last_file() {
    let (master, slave) = (Node::new(), Node::new());
    master.append(500);
    let last_file = master.store.max_physical_offset() / i64::from(FILE) * i64::from(FILE);
    let serving = Serving::start(&master).await;
    let following = Following::start(&slave, &serving.address, Fit::Unknown);
    caught_up(&master, &slave).await;
    assert_eq!(slave.store.min_physical_offset(), last_file);
    assert_same(&master, &slave);

    following.stop().await;
    let slave = slave.reopen();
    master.append(300);
    let following = Following::start(&slave, &serving.address, Fit::Unknown);
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    following.stop().await;
    slave.store.close().unwrap();
}

#[tokio::test]
async fn old_files_are_sent_as_new_ones_are() {
    let (master, slave) = (Node::large(), Node::large());
    let serving = Serving::start(&master).await;
    let following = Following::start(&slave, &serving.address, Fit::Proved);
    master.append(10);
    caught_up(&master, &slave).await;
    following.stop().await;
    master.append_much();
    let following = Following::start(&slave, &serving.address, Fit::Proved);
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    following.stop().await;
}

#[tokio::test]
async fn one_slave_that_reads_nothing_holds_up_no_other() {
    let (master, slave) = (Node::large(), Node::large());
    let patient = Options { silence: Duration::from_mins(1), ..options() };
    let serving = Serving::with(&master, patient).await;
    let mut deaf = tokio::net::TcpStream::connect(&serving.address).await.unwrap();
    deaf.write_all(&encode_report(0)).await.unwrap();
    until("it is there", || serving.master.slaves().list().len() == 1).await;
    let following = Following::start(&slave, &serving.address, Fit::Proved);
    master.append_much();
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    let slaves = serving.master.slaves().list();
    assert!(slaves.iter().any(|slave| slave.sent() < master.store.max_physical_offset()), "{slaves:?}");
    following.stop().await;
}

#[tokio::test]
async fn a_slave_of_a_slave_has_it_too() {
    let (first, second, third) = (Node::new(), Node::new(), Node::new());
    let (serving, passing_on) = (Serving::start(&first).await, Serving::start(&second).await);
    let following = Following::start(&second, &serving.address, Fit::Proved);
    let last = Following::start(&third, &passing_on.address, Fit::Proved);
    first.append(300);
    caught_up(&first, &second).await;
    caught_up(&second, &third).await;
    assert_same(&first, &third);
    following.stop().await;
    last.stop().await;
}

#[tokio::test]
async fn a_slave_that_cannot_follow_is_refused() {
    let (master, slave) = (Node::new(), Node::new());
    master.append(100);
    let serving = Serving::start(&master).await;
    let end = master.store.max_physical_offset();
    for asked in [end + 1, i64::MAX, -1] {
        assert!(is_refused(&serving, asked).await, "{asked}");
    }
    assert!(!is_refused(&serving, end).await);
    // Its own messages are not the master's.
    slave.append(50);
    slave.store.append(&draft(&[1; 77])).unwrap();
    let own = slave.log_from(0);
    let proxy = Proxy::start(serving.address.clone(), 0, 0).await;
    let following = Following::start(&slave, &proxy.address, Fit::Unknown);
    until("it was tried, and again", || proxy.connections.load(Ordering::Relaxed) > 1).await;
    following.stop().await;
    assert!(slave.log_from(0) == own, "nothing was added to it");
}

#[tokio::test]
async fn a_report_of_what_was_never_sent_is_none() {
    let master = Node::new();
    let serving = Serving::start(&master).await;
    let mut liar = tokio::net::TcpStream::connect(&serving.address).await.unwrap();
    liar.write_all(&encode_report(0)).await.unwrap();
    until("it is there", || serving.master.slaves().list().len() == 1).await;
    liar.write_all(&encode_report(1 << 40)).await.unwrap();
    until("it is gone", || serving.master.slaves().list().is_empty()).await;
}

/// Whether the master closes the connection of a slave whose log ends at `asked`.
async fn is_refused(serving: &Serving, asked: i64) -> bool {
    let mut stream = tokio::net::TcpStream::connect(&serving.address).await.unwrap();
    stream.write_all(&encode_report(asked)).await.unwrap();
    let mut bytes = [0; 12];
    // A heartbeat, or the end.
    stream.read_exact(&mut bytes).await.is_err()
}
