//! Stores that the reference left in the middle of things are taken over.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use apogee_config::BrokerSettings;
use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::protocol::filter::{ConsumerFilterData, ConsumerFilters};
use apogee_remoting::protocol::heartbeat::{ConsumerData, HeartbeatData};
use apogee_remoting::protocol::offset::{GetMaxOffsetRequestHeader, QueryConsumerOffsetRequestHeader};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::schedule::DelayOffsetSerializeWrapper;
use apogee_remoting::protocol::send_back::ConsumerSendMsgBackRequestHeader;
use apogee_remoting::protocol::subscription::SubscriptionData;
use apogee_remoting::protocol::transaction::{CheckTransactionStateRequestHeader, EndTransactionRequestHeader};
use apogee_remoting::{Command, RequestCode, json};
use harness::producer::Producer;
use harness::{TestBroker, pull_header};
use serde::Deserialize;

const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";

/// By now all of them are due: each is delivered once, those that were delivered before the stop are not again.
#[tokio::test(flavor = "multi_thread")]
async fn pending_delays_are_delivered() {
    for name in ["delay", "delay-4x"] {
        let broker = TestBroker::start_with(|settings| unpack(name, settings)).await;
        let mut levels = BTreeMap::new();
        for level in 1..=18 {
            levels.insert(level, end(&broker, SCHEDULE_TOPIC, level - 1).await);
        }
        broker
            .wait_for("all levels to be delivered", async |broker| {
                let answer = broker.ok(Command::request(RequestCode::GET_ALL_DELAY_OFFSET)).await;
                let offsets: DelayOffsetSerializeWrapper = json::from_slice(&answer.body.bytes()).unwrap();
                (offsets.offset_table == levels).then_some(())
            })
            .await;
        let sent: i64 = levels.values().sum();
        broker
            .wait_for("each message once", async |broker| {
                let mut delivered = 0;
                for topic in ["GoldenDelayA", "GoldenDelayB"] {
                    delivered += ends(broker, topic).await;
                }
                assert!(delivered <= sent, "{name}: {delivered} of {sent}");
                (delivered == sent).then_some(())
            })
            .await;
        broker.stop().await;
    }
}

/// Four retries wait: they come once, the group goes on behind what it had consumed, and what it gives up is a dead letter.
#[tokio::test(flavor = "multi_thread")]
async fn pending_retries_are_delivered() {
    const GROUP: &str = "GoldenRetryGroup";
    for name in ["retry-dlq", "retry-dlq-4x"] {
        let broker = TestBroker::start_with(|settings| unpack(name, settings)).await;
        let (retry, dead) = (format!("%RETRY%{GROUP}"), format!("%DLQ%{GROUP}"));
        let committed = committed(&broker, GROUP, &retry, 0).await;
        assert_eq!(committed, 19, "{name}");
        broker.wait_for("the retries", async |broker| (end(broker, &retry, 0).await >= 23).then_some(())).await;
        let broker = broker.restart().await;
        let header = PullMessageRequestHeader { queue_offset: committed, ..pull_header(GROUP, &retry) };
        let pulled = broker.ok(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
        let bytes = pulled.body.bytes();
        let retries: Vec<_> = entries(&bytes).map(Result::unwrap).collect();
        let numbers: BTreeSet<i32> = retries.iter().filter_map(|retry| retry.properties.get_number("n")).collect();
        assert_eq!((retries.len(), numbers), (4, BTreeSet::from([2, 8, 14, 20])), "{name}");
        for retry in &retries {
            assert_eq!((retry.reconsume_times, retry.properties.get_str("RETRY_TOPIC")), (1, Some("GoldenRetry")));
        }
        assert_eq!((end(&broker, &retry, 0).await, end(&broker, &dead, 0).await), (23, 9), "{name}");
        for queue_id in 0..2 {
            let at = self::committed(&broker, GROUP, "GoldenRetry", queue_id).await;
            assert_eq!((at, end(&broker, "GoldenRetry", queue_id).await), (12, 12), "{name}");
        }
        let back = ConsumerSendMsgBackRequestHeader {
            offset: retries[0].physical_offset,
            group: GROUP,
            delay_level: -1,
            origin_msg_id: None,
            origin_topic: Some("GoldenRetry"),
            unit_mode: false,
            max_reconsume_times: None,
        };
        broker.ok(TestBroker::request(RequestCode::CONSUMER_SEND_MSG_BACK, &back)).await;
        broker.wait_for("the dead letter", async |broker| (end(broker, &dead, 0).await == 10).then_some(())).await;
        broker.stop().await;
    }
}

/// Two halves wait, forty had ended: the producer is asked about the two, and what it commits is there once.
#[tokio::test(flavor = "multi_thread")]
async fn pending_halves_are_checked_back() {
    let broker = TestBroker::start_with(|settings| {
        unpack("transaction-4x", settings);
        settings.broker.transaction_check_interval = 100;
        settings.broker.transaction_time_out = 0;
    })
    .await;
    let before = ends(&broker, "GoldenTx").await;
    let mut producer = Producer::connect(&broker.address, "GoldenTxProducer").await.unwrap();

    let mut numbers = BTreeSet::new();
    while numbers.len() < 2 {
        let question = producer.question().await;
        let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
        let bytes = question.body.bytes();
        let message = Record::parse(&bytes).unwrap();
        assert_eq!(message.topic, "GoldenTx");
        numbers.insert(message.properties.get_number::<i32>("n").unwrap());
        let end = EndTransactionRequestHeader {
            topic: Some("GoldenTx"),
            producer_group: Some("GoldenTxProducer"),
            tran_state_table_offset: header.tran_state_table_offset,
            commit_log_offset: header.commit_log_offset,
            commit_or_rollback: 8,
            from_transaction_check: true,
            msg_id: None,
            transaction_id: None,
        };
        broker.ok(TestBroker::request(RequestCode::END_TRANSACTION, &end)).await;
    }
    assert_eq!(numbers, BTreeSet::from([42, 43]));
    broker.wait_for("both", async |broker| (ends(broker, "GoldenTx").await == before + 2).then_some(())).await;
    broker.stop().await;
}

/// Expressions that are registered in the file, and others, let the same messages pass as in the reference.
#[tokio::test(flavor = "multi_thread")]
async fn filters_let_the_same_pass() {
    for name in ["filter", "filter-4x"] {
        let broker = TestBroker::start_with(|settings| {
            unpack(name, settings);
            settings.broker.enable_property_filter = true;
            settings.broker.filter_data_clean_time_span = i64::MAX;
        })
        .await;
        let golden: Golden =
            json::from_slice(&std::fs::read(golden_folder().join(format!("{name}.json"))).unwrap()).unwrap();
        let pulls = golden.filtered_pull.iter().filter(|pull| pull.kind == "SQL92");
        assert!(pulls.clone().count() > 0);
        for pull in pulls {
            assert_eq!(served(&broker, pull, true).await, pull.served, "{name} {} {}", pull.expression, pull.queue_id);
        }
        // A group that comes back has its expression since it came first.
        let before = consumer_filters(&broker);
        for filter in &before {
            broker.ok(Command::request(RequestCode::HEART_BEAT).with_body(heartbeat(filter))).await;
            let registered = |pull: &&FilteredPull| {
                pull.group == filter.consumer_group && pull.expression == filter.expression && pull.kind == "SQL92"
            };
            for pull in golden.filtered_pull.iter().filter(registered) {
                assert_eq!(served(&broker, pull, false).await, pull.served, "{name} {} registered", pull.expression);
            }
        }
        let broker = broker.restart().await;
        let after = consumer_filters(&broker);
        assert_eq!(after.len(), 3);
        for (before, after) in before.into_iter().zip(after) {
            assert!(after.dead && after.dead_time > before.dead_time);
            assert_eq!(ConsumerFilterData { dead_time: before.dead_time, dead: before.dead, ..after }, before);
        }
        broker.stop().await;
    }
}

/// Made anew from the log, the extensions of queues are what the reference wrote, bit maps and all.
#[tokio::test(flavor = "multi_thread")]
async fn bit_maps_of_filters_are_the_same() {
    for name in ["filter", "filter-4x"] {
        let mut written = BTreeMap::new();
        let broker = TestBroker::start_with(|settings| {
            unpack(name, settings);
            settings.store.enable_consume_queue_ext = true;
            settings.store.mapped_file_size_consume_queue_ext = 49_152;
            settings.broker.enable_calc_filter_bit_map = true;
            settings.broker.filter_data_clean_time_span = i64::MAX;
            let store = Path::new(&settings.store.store_path_root_dir);
            written = extensions(store);
            for queues in ["consumequeue", "consumequeue_ext"] {
                std::fs::remove_dir_all(store.join(queues)).unwrap();
            }
        })
        .await;
        assert_eq!(written.len(), 3);
        broker
            .wait_for("the queues to be made anew", async |broker| {
                (ends(broker, "GoldenFilter").await == 400).then_some(())
            })
            .await;
        let store = broker.store().to_owned();
        let broker = broker.restart().await;
        assert!(extensions(&store) == written, "{name}");
        broker.stop().await;
    }
}

/// The first file of each extension in `GoldenFilter`.
fn extensions(store: &Path) -> BTreeMap<i32, Vec<u8>> {
    let queues = (0..4).map(|queue| (queue, store.join(format!("consumequeue_ext/GoldenFilter/{queue}/{:020}", 0))));
    queues.filter_map(|(queue, file)| Some((queue, std::fs::read(file).ok()?))).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Golden {
    filtered_pull: Vec<FilteredPull>,
}

/// Queue offsets of the messages that pass.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilteredPull {
    group: String,
    topic: String,
    queue_id: i32,
    #[serde(rename = "type")]
    kind: String,
    expression: String,
    served: Vec<i64>,
}

/// What passes the expression, that the pull brings along or that its group registered.
async fn served(broker: &TestBroker, pull: &FilteredPull, brings: bool) -> Vec<i64> {
    let (mut served, mut offset) = (Vec::new(), 0);
    let max = end(broker, &pull.topic, pull.queue_id).await;
    while offset < max {
        let header = PullMessageRequestHeader {
            queue_id: pull.queue_id,
            queue_offset: offset,
            sys_flag: if brings { 0x4 } else { 0 },
            subscription: brings.then_some(&pull.expression),
            expression_type: brings.then_some(&pull.kind),
            ..pull_header(&pull.group, &pull.topic)
        };
        let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
        let bytes = answer.body.bytes();
        served.extend(entries(&bytes).map(|record| record.unwrap().queue_offset));
        offset = answer.field("nextBeginOffset").unwrap().parse().unwrap();
    }
    served
}

fn consumer_filters(broker: &TestBroker) -> Vec<ConsumerFilterData> {
    let text = std::fs::read(broker.store().join("config/consumerFilter.json")).unwrap();
    let filters: ConsumerFilters = json::from_slice(&text).unwrap();
    filters.filter_data_by_topic.into_values().flat_map(|topic| topic.group_filter_data.into_values()).collect()
}

fn heartbeat(filter: &ConsumerFilterData) -> Vec<u8> {
    let subscription = SubscriptionData {
        topic: filter.topic.clone(),
        sub_string: filter.expression.clone(),
        expression_type: filter.expression_type.clone(),
        sub_version: filter.client_version,
        ..SubscriptionData::default()
    };
    let consumer = ConsumerData {
        group_name: filter.consumer_group.clone(),
        subscription_data_set: vec![subscription],
        ..ConsumerData::default()
    };
    let data = HeartbeatData { client_id: "C".into(), consumer_data_set: vec![consumer], ..HeartbeatData::default() };
    json::to_vec(&data)
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/golden")
}

/// Puts a golden store where the broker will look for its own, with the sizes that it was written with.
fn unpack(name: &str, settings: &mut BrokerSettings) {
    let store = &mut settings.store;
    let packed = File::open(golden_folder().join(format!("{name}.tar.zst"))).unwrap();
    let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    tar::Archive::new(unpacked).unpack(Path::new(&store.store_path_root_dir).parent().unwrap()).unwrap();
    store.mapped_file_size_commit_log = 262_144;
    store.mapped_file_size_consume_queue = 1200;
    store.max_hash_slot_num = 100;
    store.max_index_num = 400;
    store.file_reserved_time = 87_600;
}

/// How far a group is with a queue.
async fn committed(broker: &TestBroker, group: &str, topic: &str, queue_id: i32) -> i64 {
    let header =
        QueryConsumerOffsetRequestHeader { consumer_group: group, topic, queue_id, set_zero_if_not_found: None };
    let answer = broker.ok(TestBroker::request(RequestCode::QUERY_CONSUMER_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}

/// Number of messages that ever were in the first four queues of a topic.
async fn ends(broker: &TestBroker, topic: &str) -> i64 {
    let mut sum = 0;
    for queue_id in 0..4 {
        sum += end(broker, topic, queue_id).await;
    }
    sum
}

/// The offset behind a queue's last message.
async fn end(broker: &TestBroker, topic: &str, queue_id: i32) -> i64 {
    let header = GetMaxOffsetRequestHeader { topic, queue_id, committed: true };
    let answer = broker.ok(TestBroker::request(RequestCode::GET_MAX_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}
