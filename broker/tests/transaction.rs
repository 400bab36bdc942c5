//! Transactions over a socket.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::collections::BTreeSet;
use std::path::Path;

use apogee_config::BrokerSettings;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::protocol::offset::{ConsumerOffsetSerializeWrapper, GetMaxOffsetRequestHeader};
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::transaction::{
    CheckTransactionStateRequestHeader, EndTransactionRequestHeader, TransactionMetricsSerializeWrapper,
};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use harness::producer::Producer;
use harness::{TestBroker, pull_header, send_header};

const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
const NOTES_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
const GIVEN_UP_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
const COMMIT: i32 = 8;
const ROLLBACK: i32 = 12;
const HALF: &str = "TRAN_MSG\u{1}true\u{2}PGROUP\u{1}PG\u{2}UNIQ_KEY\u{1}U\u{2}";

/// Checks as good as never: what is seen is the producer's doing.
fn unchecked(settings: &mut BrokerSettings) {
    settings.broker.transaction_check_interval = 3_600_000;
    settings.broker.transaction_op_batch_interval = 10;
}

/// Checks all the time, and every half that is there.
fn checked(settings: &mut BrokerSettings) {
    settings.broker.transaction_check_interval = 20;
    settings.broker.transaction_time_out = 0;
    settings.broker.transaction_op_batch_interval = 10;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_is_seen_only_when_it_is_committed() {
    let broker = TestBroker::start_with(unchecked).await;
    let half = Half::send(&broker, HALF, 2).await;
    let stored = Message::wait(&broker, HALF_TOPIC, 0, 0).await;
    assert_eq!((stored.sys_flag, stored.flag), (0, 5));
    assert!(stored.has("__transactionId__\u{1}U\u{2}REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}2\u{2}"));
    assert!(is_empty(&broker, "T", 2).await);

    let answer = broker.ok(half.end(COMMIT)).await;
    assert_eq!((answer.fields, answer.remark), (None, None));
    let message = Message::wait(&broker, "T", 2, 0).await;
    assert_eq!((message.sys_flag, message.flag, message.half), (COMMIT, 5, half.place));
    assert!(message.has("TRAN_MSG\u{1}true\u{2}") && !message.has("REAL_TOPIC") && !message.has("REAL_QID"));
    let note = Message::wait(&broker, NOTES_TOPIC, 0, 0).await;
    assert_eq!((note.body.as_str(), note.has("TAGS\u{1}d\u{2}")), ("0,", true));

    // The same answer once more, to a check for instance, delivers nothing.
    broker.ok(half.end(COMMIT)).await;
    let second = Half::send(&broker, HALF, 2).await;
    broker.ok(second.end(COMMIT)).await;
    assert_eq!(Message::wait(&broker, "T", 2, 1).await.half, second.place);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_says_of_a_half_is_not_its_producers_to_say() {
    let broker = TestBroker::start_with(unchecked).await;
    let own = "REAL_QID\u{1}7\u{2}REAL_TOPIC\u{1}X\u{2}__transactionId__\u{1}Z\u{2}KEYS\u{1}K\u{2}";
    let half = Half::send(&broker, &format!("{own}{HALF}"), 1).await;
    let stored = Message::wait(&broker, HALF_TOPIC, 0, 0).await;
    let expected = "__transactionId__\u{1}U\u{2}REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}1\u{2}";
    assert!(stored.properties.ends_with(expected), "{}", stored.properties);
    assert!(stored.properties.starts_with("KEYS\u{1}K\u{2}TRAN_MSG"), "{}", stored.properties);
    broker.ok(half.end(COMMIT)).await;
    assert_eq!(Message::wait(&broker, "T", 1, 0).await.half, half.place);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_that_is_rolled_back_is_never_seen() {
    let broker = TestBroker::start_with(unchecked).await;
    let half = Half::send(&broker, HALF, 0).await;
    broker.ok(half.end(ROLLBACK)).await;
    let note = Message::wait(&broker, NOTES_TOPIC, 0, 0).await;
    assert_eq!(note.body, "0,");
    let other = Half::send(&broker, HALF, 0).await;
    broker.ok(other.end(COMMIT)).await;
    assert_eq!(Message::wait(&broker, "T", 0, 0).await.half, other.place);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_has_to_fit_its_half() {
    let broker = TestBroker::start_with(unchecked).await;
    let half = Half::send(&broker, HALF, 0).await;
    broker.send("T", 0, "no half").await;
    let end = |change: &dyn Fn(&mut EndTransactionRequestHeader<'static>)| {
        let mut header = half.header(COMMIT);
        change(&mut header);
        TestBroker::request(RequestCode::END_TRANSACTION, &header)
    };
    let wrong = [
        (end(&|header| header.producer_group = Some("other")), "The producer group wrong"),
        (end(&|header| header.tran_state_table_offset += 1), "The transaction state table offset wrong"),
        (end(&|header| header.commit_log_offset += 1), "Find prepared transaction message failed"),
        (end(&|header| header.commit_log_offset = i64::MIN), "Find prepared transaction message failed"),
    ];
    for (request, remark) in wrong {
        let answer = broker.call(request).await;
        assert_eq!((answer.response_code(), answer.remark.as_deref()), (ResponseCode::SYSTEM_ERROR, Some(remark)));
    }
    broker.ok(half.end(COMMIT)).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_can_be_switched_off() {
    let broker = TestBroker::start_with(|settings| settings.broker.reject_transaction_message = true).await;
    let header = SendMessageRequestHeader { properties: Some(HALF), ..send_header("T") };
    let answer = broker.call(TestBroker::request(RequestCode::SEND_MESSAGE, &header)).await;
    assert_eq!(answer.response_code(), ResponseCode::NO_PERMISSION);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_is_asked_and_its_late_answer_counts_once() {
    let broker = TestBroker::start_with(checked).await;
    let mut producer = Producer::connect(&broker.address, "PG").await.unwrap();
    let half = Half::send(&broker, HALF, 1).await;
    let question = producer.question().await;
    let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
    assert_eq!((header.topic, header.msg_id, header.transaction_id), (Some(HALF_TOPIC), Some("U"), Some("U")));
    let bytes = question.body.bytes();
    let message = Record::parse(&bytes).unwrap();
    assert_eq!((message.topic, message.queue_id, message.body, message.flag), ("T", 1, &b"half"[..], 5));
    assert_eq!(message.queue_offset, header.tran_state_table_offset);
    assert_eq!(message.properties.get_str("TRANSACTION_CHECK_TIMES"), Some("1"));

    // The answer to the question, and late the end that the producer sent before it was asked.
    let answer = Half { place: header.commit_log_offset, offset: header.tran_state_table_offset };
    broker.ok(answer.end(COMMIT)).await;
    broker.ok(half.end(COMMIT)).await;
    let first = Message::wait(&broker, "T", 1, 0).await;
    assert_eq!((first.flag, first.half), (5, answer.place));
    let other = Half::send(&broker, HALF, 1).await;
    broker.ok(other.end(COMMIT)).await;
    assert_eq!(Message::wait(&broker, "T", 1, 1).await.half, other.place);
    broker.stop().await;
}

/// The reference asks about them until their ends are noted, and delivers again what is committed again.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_about_a_half_whose_end_is_not_noted_yet() {
    let broker = TestBroker::start_with(|settings| {
        checked(settings);
        settings.broker.transaction_op_batch_interval = 3_600_000;
    })
    .await;
    let ended = Half::send(&broker, HALF, 1).await;
    broker.ok(ended.end(COMMIT)).await;
    let mut producer = Producer::connect(&broker.address, "PG").await.unwrap();
    Half::send(&broker, &HALF.replace("\u{1}U", "\u{1}V"), 1).await;
    let question = producer.question().await;
    let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
    assert_eq!(header.msg_id, Some("V"));
    assert!(is_empty(&broker, NOTES_TOPIC, 0).await);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_that_nobody_ends_is_given_up_and_can_be_taken_up_again() {
    let broker = TestBroker::start_with(|settings| {
        checked(settings);
        settings.broker.transaction_check_max = 2;
    })
    .await;
    Half::send(&broker, HALF, 0).await;
    let given_up = Message::wait(&broker, GIVEN_UP_TOPIC, 0, 0).await;
    assert!(given_up.has("TRANSACTION_CHECK_TIMES\u{1}2\u{2}") && given_up.has("REAL_TOPIC\u{1}T\u{2}"));

    let mut producer = Producer::connect(&broker.address, "PG").await.unwrap();
    let resume = Command::request(RequestCode::RESUME_CHECK_HALF_MESSAGE).with_field("msgId", &given_up.id);
    broker.ok(resume).await;
    let question = producer.question().await;
    let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
    let half = Half { place: header.commit_log_offset, offset: header.tran_state_table_offset };
    broker.ok(half.end(COMMIT)).await;
    Message::wait(&broker, "T", 0, 0).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_knows_which_halves_ended() {
    let broker = TestBroker::start_with(unchecked).await;
    let committed = Half::send(&broker, HALF, 0).await;
    let rolled_back = Half::send(&broker, HALF, 0).await;
    let pending = Half::send(&broker, &HALF.replace("\u{1}U", "\u{1}V"), 0).await;
    broker.ok(committed.end(COMMIT)).await;
    broker.ok(rolled_back.end(ROLLBACK)).await;
    let broker = broker
        .restart_with(|settings| {
            checked(settings);
            settings.broker.transaction_check_interval = 1500;
        })
        .await;
    let mut producer = Producer::connect(&broker.address, "PG").await.unwrap();
    let question = producer.question().await;
    let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
    assert_eq!(header.msg_id, Some("V"), "the one that is pending");
    // A slow producer misses the first question.
    assert!(header.tran_state_table_offset >= 3, "stored again");
    broker.ok(pending.end(COMMIT)).await;
    assert_eq!(Message::wait(&broker, "T", 0, 0).await.half, committed.place);
    assert_eq!(Message::wait(&broker, "T", 0, 1).await.half, pending.place);
    broker.stop().await;
}

/// A check stores halves again. A stop in the middle of one must not leave both where the next start checks: the producer
/// would be asked about both, and commit both.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_of_a_check_leaves_each_half_once() {
    const HALVES: i64 = 200;
    let broker = TestBroker::start_with(|settings| {
        checked(settings);
        settings.broker.transaction_check_interval = 1;
        settings.broker.transaction_check_max = i32::MAX;
    })
    .await;
    let keys: BTreeSet<_> = (0..HALVES).map(|number| format!("U{number}")).collect();
    for key in &keys {
        Half::send(&broker, &format!("TRAN_MSG\u{1}true\u{2}PGROUP\u{1}PG\u{2}UNIQ_KEY\u{1}{key}\u{2}"), 0).await;
    }
    broker.wait_for("checks", async |broker| (end(broker, HALF_TOPIC).await > 2 * HALVES).then_some(())).await;
    let broker = broker.restart_with(unchecked).await;

    let offsets = broker.ok(Command::request(RequestCode::GET_ALL_CONSUMER_OFFSET)).await;
    let offsets: ConsumerOffsetSerializeWrapper = json::from_slice(&offsets.body.bytes()).unwrap();
    let mut offset = offsets.offset_table[&format!("{HALF_TOPIC}@CID_RMQ_SYS_TRANS")][&0];
    let mut left = Vec::new();
    while offset < end(&broker, HALF_TOPIC).await {
        let answer = broker.ok(pull(HALF_TOPIC, 0, offset)).await;
        offset = answer.field("nextBeginOffset").unwrap().parse().unwrap();
        let bytes = answer.body.bytes();
        left.extend(entries(&bytes).map(|half| half.unwrap().properties.get_str("UNIQ_KEY").unwrap().to_owned()));
    }
    left.sort_unstable();
    assert_eq!(left, keys.into_iter().collect::<Vec<_>>());
    broker.stop().await;
}

/// How many halves of each topic wait is kept over a restart.
#[tokio::test(flavor = "multi_thread")]
async fn pending_transactions_are_counted() {
    let pending = |store: &Path| {
        let table = std::fs::read(store.join("config/transactionMetrics")).unwrap();
        let table: TransactionMetricsSerializeWrapper = json::from_slice(&table).unwrap();
        table.transaction_count["T"].count
    };
    let broker = TestBroker::start_with(unchecked).await;
    let [half, rolled_back] = [Half::send(&broker, HALF, 0).await, Half::send(&broker, HALF, 0).await];
    Half::send(&broker, HALF, 0).await;
    broker.ok(half.end(COMMIT)).await;
    broker.ok(rolled_back.end(ROLLBACK)).await;
    let broker = broker.restart_after(|store| assert_eq!(pending(store), 1)).await.unwrap();
    Half::send(&broker, HALF, 0).await;
    let broker = broker.restart_after(|store| assert_eq!(pending(store), 2)).await.unwrap();
    broker.stop().await;
}

/// A first half as its producer knows it.
struct Half {
    /// Physical offset.
    place: i64,
    /// Queue offset.
    offset: i64,
}

impl Half {
    async fn send(broker: &TestBroker, properties: &str, queue_id: i32) -> Self {
        let header = SendMessageRequestHeader {
            queue_id,
            flag: 5,
            sys_flag: 0x4,
            properties: Some(properties),
            // Checks go by the birth of a message.
            born_timestamp: now() - 1,
            ..send_header("T")
        };
        let answer =
            broker.ok(TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body("half".to_owned())).await;
        let id: OffsetMessageId = answer.field("msgId").unwrap().parse().unwrap();
        Self { place: id.offset, offset: answer.field("queueOffset").unwrap().parse().unwrap() }
    }

    fn header(&self, commit_or_rollback: i32) -> EndTransactionRequestHeader<'static> {
        EndTransactionRequestHeader {
            topic: Some("T"),
            producer_group: Some("PG"),
            tran_state_table_offset: self.offset,
            commit_log_offset: self.place,
            commit_or_rollback,
            from_transaction_check: false,
            msg_id: None,
            transaction_id: None,
        }
    }

    fn end(&self, commit_or_rollback: i32) -> Command {
        TestBroker::request(RequestCode::END_TRANSACTION, &self.header(commit_or_rollback))
    }
}

struct Message {
    id: String,
    flag: i32,
    sys_flag: i32,
    half: i64,
    body: String,
    properties: String,
}

impl Message {
    /// Waits for the message at an offset of a queue.
    async fn wait(broker: &TestBroker, topic: &str, queue_id: i32, offset: i64) -> Self {
        broker
            .wait_for(topic, async |broker| {
                let answer = broker.call(pull(topic, queue_id, offset)).await;
                (answer.response_code() == ResponseCode::SUCCESS).then(|| Self::read(&answer.body.bytes()))
            })
            .await
    }

    fn read(bytes: &[u8]) -> Self {
        let record = Record::parse(bytes).unwrap();
        let place = OffsetMessageId { store_host: record.store_host, offset: record.physical_offset };
        Self {
            id: place.to_string(),
            flag: record.flag,
            sys_flag: record.sys_flag,
            half: record.prepared_transaction_offset,
            body: String::from_utf8(record.body.to_vec()).unwrap(),
            properties: String::from_utf8(record.properties.as_bytes().to_vec()).unwrap(),
        }
    }

    fn has(&self, property: &str) -> bool {
        self.properties.contains(property)
    }
}

/// The offset behind the newest message of queue 0.
async fn end(broker: &TestBroker, topic: &str) -> i64 {
    let header = GetMaxOffsetRequestHeader { topic, queue_id: 0, committed: true };
    let answer = broker.ok(TestBroker::request(RequestCode::GET_MAX_OFFSET, &header)).await;
    answer.field("offset").unwrap().parse().unwrap()
}

async fn is_empty(broker: &TestBroker, topic: &str, queue_id: i32) -> bool {
    broker.call(pull(topic, queue_id, 0)).await.response_code() != ResponseCode::SUCCESS
}

fn pull(topic: &str, queue_id: i32, queue_offset: i64) -> Command {
    let header = PullMessageRequestHeader { queue_id, queue_offset, ..pull_header("Reader", topic) };
    TestBroker::request(RequestCode::PULL_MESSAGE, &header)
}

#[expect(clippy::disallowed_methods, reason = "what the broker says is compared with the time of day")]
fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}
