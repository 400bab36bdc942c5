//! Cleaning up after messages that are gone.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::fs;
use std::path::Path;

use apogee_remoting::message::record::Record;
use apogee_remoting::protocol::offset::GetMinOffsetRequestHeader;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::{TestBroker, pull_header};

/// Bytes of a file of the log, and units of a file of a queue.
const LOG_FILE: i32 = 16 * 1024;
const UNITS: i32 = 20;

/// Queues whose messages went with the log's first files lose the files that nothing points into, and begin where messages do.
#[tokio::test(flavor = "multi_thread")]
async fn queues_are_cleaned_of_messages_that_are_gone() {
    let broker = TestBroker::start_with(|settings| {
        settings.store.mapped_file_size_commit_log = LOG_FILE;
        settings.store.mapped_file_size_consume_queue = UNITS * 20;
        // Nothing is cleaned that nobody asks for.
        settings.store.clean_resource_interval = 3_600_000;
    })
    .await;
    let body = "m".repeat(200);
    for number in 0..100 {
        assert_eq!(broker.send("T", 0, &body).await, number);
    }
    assert_eq!(broker.send("Old", 0, &body).await, 0);
    for number in 100..200 {
        assert_eq!(broker.send("T", 0, &body).await, number);
    }
    // The first three of four files, with about 50 messages each.
    let gone = |store: &Path| {
        let mut files: Vec<_> =
            fs::read_dir(store.join("commitlog")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.into_iter().take(3).for_each(|file| fs::remove_file(file).unwrap());
    };
    let broker = broker.restart_after(gone).await.unwrap();
    let files = || fs::read_dir(broker.store().join("consumequeue/T/0")).map_or(0, Iterator::count);
    assert_eq!(files(), 10);
    for _ in 0..2 {
        broker.ok(Command::request(RequestCode::CLEAN_EXPIRED_CONSUMEQUEUE)).await;
    }
    let first = min_offset(&broker, "T").await;
    assert!((101..200).contains(&first), "the first message that is left is {first}");
    assert_eq!(files(), 10 - first as usize / UNITS as usize);
    let header = PullMessageRequestHeader { queue_offset: first, ..pull_header("G", "T") };
    let pulled = broker.ok(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
    assert_eq!(Record::parse(&pulled.body.bytes()).unwrap().queue_offset, first);
    // A queue without any message left goes on where it was.
    assert_eq!(broker.send("Old", 0, "new").await, 1);
    broker.stop().await;
}

/// Asked by hand, old files go whatever the hour and however much room there is, and consumers are sent to what is left.
#[tokio::test(flavor = "multi_thread")]
async fn old_files_go_when_an_administrator_asks() {
    let broker = TestBroker::start_with(|settings| {
        settings.store.mapped_file_size_commit_log = LOG_FILE;
        settings.store.file_reserved_time = 0;
        // Not by itself.
        settings.store.delete_when = String::new();
        settings.store.disk_max_used_space_ratio = 95;
        settings.store.clean_resource_interval = 3_600_000;
        settings.store.delete_commit_log_files_interval = 0;
        settings.store.flush_interval_commit_log = 1;
    })
    .await;
    let body = "m".repeat(200);
    for number in 0..200 {
        assert_eq!(broker.send("T", 0, &body).await, number);
    }
    assert_eq!(min_offset(&broker, "T").await, 0);
    let gone = broker
        .wait_for("all files but the last are gone", async |broker| {
            // What is not on disk yet stays: it is asked again.
            broker.ok(Command::request(RequestCode::DELETE_EXPIRED_COMMITLOG)).await;
            let first = min_offset(broker, "T").await;
            (first >= 150).then_some(first)
        })
        .await;
    let header = PullMessageRequestHeader { queue_offset: 0, ..pull_header("G", "T") };
    let pulled = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
    assert_eq!(pulled.response_code(), ResponseCode::PULL_OFFSET_MOVED);
    assert_eq!(pulled.field("nextBeginOffset"), Some(&*gone.to_string()));
    assert_eq!(broker.send("T", 0, &body).await, 200);
    broker.stop().await;
}

async fn min_offset(broker: &TestBroker, topic: &str) -> i64 {
    let header = GetMinOffsetRequestHeader { topic, queue_id: 0 };
    let answer = broker.ok(TestBroker::request(RequestCode::GET_MIN_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}
