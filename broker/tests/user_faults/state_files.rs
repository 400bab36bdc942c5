//! Tables on disk that a power loss damaged.

use std::path::Path;

use apogee_remoting::protocol::schedule::DelayOffsetSerializeWrapper;
use apogee_remoting::{RequestCode, json};

use crate::harness::TestBroker;
use crate::{messages, pull, readable, request};

/// What power losses left in reports: nothing, half of it, a stale tail behind it, blocks of zeros.
fn damages(good: &[u8]) -> [Vec<u8>; 5] {
    let (half, _) = good.split_at(good.len() / 2);
    [
        Vec::new(),
        half.to_vec(),
        [good, b"alTopics\":1}}"].concat(),
        vec![0; good.len()],
        [half, &vec![0; good.len() - half.len()]].concat(),
    ]
}

/// B16 (1498, 2531, 3401, 6096, 9328): after a power loss the broker died with a null pointer, or began without offsets.
#[tokio::test(flavor = "multi_thread")]
async fn b16_a_damaged_table_comes_from_its_backup_or_stops_the_start() {
    for name in ["topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"] {
        let mut broker = TestBroker::start().await;
        fill(&broker).await;
        broker = broker.restart().await;
        let mut good = Vec::new();
        let mut path = std::path::PathBuf::new();
        broker = broker
            .restart_after(|store| {
                path = store.join("config").join(name);
                good = std::fs::read(&path).unwrap();
            })
            .await
            .unwrap();
        for damaged in damages(&good) {
            // A good backup takes its place.
            broker = broker
                .restart_after(|_| {
                    std::fs::write(&path, &damaged).unwrap();
                    std::fs::write(backup(&path), &good).unwrap();
                })
                .await
                .unwrap_or_else(|error| panic!("{name} {damaged:?}: {error}"));
            check(&broker).await;
        }
        let (first, rest) = (damages(&good)[1].clone(), damages(&good)[4].clone());
        let refused = broker
            .restart_after(|_| {
                std::fs::write(&path, first).unwrap();
                std::fs::write(backup(&path), rest).unwrap();
            })
            .await;
        let error = refused.err().expect("both are bad").to_string();
        assert!(error.contains(name) && !error.contains('\n'), "{error}");
    }
}

fn backup(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".bak");
    name.into()
}

/// One entry of each table.
async fn fill(broker: &TestBroker) {
    broker.send("T", 0, "x").await;
    let group = r#"{"groupName":"G","retryMaxTimes":7}"#;
    broker.ok(request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, &[]).with_body(group.to_owned())).await;
    let at = [("consumerGroup", "G"), ("topic", "T"), ("queueId", "0"), ("commitOffset", "1")];
    broker.ok(request(RequestCode::UPDATE_CONSUMER_OFFSET, &at)).await;
    // The first level is a second.
    broker.send_with("Delayed", 0, "DELAY\u{1}1\u{2}", "x").await;
    readable(broker, "Delayed", 1).await;
}

async fn check(broker: &TestBroker) {
    broker.ok(request(RequestCode::GET_TOPIC_CONFIG, &[("topic", "T")])).await;
    let group = broker.ok(request(RequestCode::GET_SUBSCRIPTIONGROUP_CONFIG, &[("group", "G")])).await;
    assert!(String::from_utf8_lossy(&group.body.bytes()).contains(r#""retryMaxTimes":7"#));
    let at = [("consumerGroup", "G"), ("topic", "T"), ("queueId", "0"), ("setZeroIfNotFound", "false")];
    assert_eq!(broker.ok(request(RequestCode::QUERY_CONSUMER_OFFSET, &at)).await.field("offset"), Some("1"));
    let delays = broker.ok(request(RequestCode::GET_ALL_DELAY_OFFSET, &[])).await;
    let delays: DelayOffsetSerializeWrapper = json::from_slice(&delays.body.bytes()).unwrap();
    assert_eq!(delays.offset_table.get(&1), Some(&1));
}

/// Sibling of B16: operators who mistrust the consume queues remove their folder, and have them built anew.
#[tokio::test(flavor = "multi_thread")]
async fn b16_removed_consume_queues_are_built_anew() {
    let broker = TestBroker::start().await;
    for _ in 0..3 {
        broker.send("T", 0, "x").await;
    }
    let remove = |store: &Path| std::fs::remove_dir_all(store.join("consumequeue")).unwrap();
    let broker = broker.restart_after(remove).await.unwrap();
    assert_eq!(messages(&broker.call(pull("T", 0, "*", 0)).await, |record| record.queue_offset), [0, 1, 2]);
    assert_eq!(broker.send("T", 0, "x").await, 3);
    broker.stop().await;
}
