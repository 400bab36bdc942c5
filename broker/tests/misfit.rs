//! Slaves whose log is not the beginning of their master's: they are not fed, and the log says what to do.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use std::fs;

use harness::replication::{caught_up, ha_port, log_end, slave, status};
use harness::{TestBroker, TestNameServer, log};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn send(master: &TestBroker, bodies: &[&str]) {
    for body in bodies {
        master.send("T", 0, body).await;
    }
}

/// Waits until the log says `what`; the slave is as it was, and the master has none.
async fn is_refused(slave: &TestBroker, master: &TestBroker, end: i64, what: &str) {
    let said = async |_: &TestBroker| (log::count(what) > 0).then_some(());
    slave.wait_for(what, said).await;
    assert_eq!(log_end(slave).await, end);
    assert_eq!(status(master).await.ha_connection_info, []);
}

#[tokio::test]
async fn a_slave_that_does_not_fit_is_refused_and_the_log_says_why() {
    log::keep();
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    send(&master, &["1", "2", "3"]).await;
    caught_up(&master, &slave).await;
    let end = log_end(&slave).await;

    // The master loses its disk, and is behind its slave.
    let empty = |store: &std::path::Path| fs::remove_dir_all(store).unwrap();
    let slave = slave.pause().await;
    let master = master.restart_after(empty).await.unwrap();
    send(&master, &["4"]).await;
    let behind = log_end(&master).await;
    let slave = slave.go_on().await;
    let what = format!("this slave's log ends at {end}, and that of {} at {behind}: the master lost", master.address);
    is_refused(&slave, &master, end, &what).await;

    // Messages come, so that only the bytes tell.
    send(&master, &["5", "6", "7", "8"]).await;
    let what = format!("the last one of this slave, is not what {} has there", master.address);
    is_refused(&slave, &master, end, &what).await;

    // One that does not look itself, as the reference's.
    let mut other = TcpStream::connect(("127.0.0.1", ha_port(&master))).await.unwrap();
    let ahead = log_end(&master).await + 1;
    other.write_all(&ahead.to_be_bytes()).await.unwrap();
    assert!(other.read_u8().await.is_err(), "it is sent nothing");
    let what = format!("the slave's log ends at {ahead}, and this master's at {}", ahead - 1);
    is_refused(&slave, &master, end, &what).await;

    // What would follow is deleted at the master. Files of the log have 1 MiB here.
    let slave = slave.pause().await;
    let body = "x".repeat(600_000);
    send(&master, &[&*body; 3]).await;
    let first_file = "commitlog/00000000000000000000";
    let master = master.restart_after(|store| fs::remove_file(store.join(first_file)).unwrap()).await.unwrap();
    let slave = slave.go_on().await;
    let what = format!("this slave's log ends at {end}, and that of {} begins at {}", master.address, 1 << 20);
    is_refused(&slave, &master, end, &what).await;

    // As the log says: its store is emptied.
    let slave = slave.restart_after(empty).await.unwrap();
    caught_up(&master, &slave).await;
    slave.stop().await;
    master.stop().await;
}
