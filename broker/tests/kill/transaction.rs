//! Committed messages come at least once, rolled back ones never, and none before its commit, wherever an end or a check was
//! interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_remoting::client::Client;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::Record;
use apogee_remoting::protocol::offset::{GetMaxOffsetRequestHeader, QueryConsumerOffsetRequestHeader};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::transaction::{CheckTransactionStateRequestHeader, EndTransactionRequestHeader};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use parking_lot::Mutex;

use crate::harness::producer::Producer;
use crate::harness::site::Site;
use crate::harness::{TIMEOUT, new_client};
use crate::{QUEUES, Reader, found, header, kills, pace, prepare, send, some_time};

const TOPIC: &str = "Ended";
const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
const COMMIT: i32 = 8;
const ROLLBACK: i32 = 12;
/// Checks soon and often, and gives none up.
const LINES: &str = "transactionTimeOut=100\ntransactionCheckInterval=200\ntransactionCheckMax=1000000\n\
                     transactionOpBatchInterval=20\nflushConsumerOffsetInterval=10";
/// Longest wait until all halves have ended.
const PATIENCE: Duration = Duration::from_mins(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_delivers_what_is_committed_and_nothing_else() {
    let site = Site::new(LINES);
    prepare(&site, TOPIC).await;
    let committing = Arc::new(Mutex::new(BTreeSet::new()));
    let mut senders: Vec<_> = (0..QUEUES)
        .map(|queue_id| Sender { queue_id, sent: 0, stored: Vec::new(), committing: Arc::clone(&committing) })
        .collect();
    let mut reader = Reader::default();
    for _ in 0..kills() {
        let broker = site.start("");
        let producer = tokio::spawn(answer_checks(site.address(), Arc::clone(&committing)));
        let working: Vec<_> = senders.into_iter().map(|sender| tokio::spawn(sender.work(site.address()))).collect();
        some_time(50..400).await;
        let new = reader.read_on(&new_client(), &site.address(), TOPIC).await;
        assert!(new.iter().all(|number| committing.lock().contains(number)), "seen before its commit");
        some_time(0..100).await;
        drop(broker);
        senders = Vec::new();
        for sender in working {
            senders.push(sender.await.unwrap());
        }
        producer.abort();
    }
    let _broker = site.start("");
    let producer = tokio::spawn(answer_checks(site.address(), Arc::clone(&committing)));
    let client = new_client();
    let stored: Vec<_> = senders.iter().flat_map(|sender| &sender.stored).copied().collect();
    assert!(stored.len() > kills(), "nothing was sent");
    let started = Instant::now();
    let lost = |visible: &BTreeMap<usize, usize>| {
        stored.iter().copied().find(|number| fate(*number) == COMMIT && !visible.contains_key(number))
    };
    while let Some(number) = lost(&reader.found) {
        if started.elapsed() >= PATIENCE {
            let (all, there, halves) = (stored.len(), reader.found.len(), progress(&client, &site.address()).await);
            panic!("{number} is committed and lost, of {all} there are {there}, halves: {halves:?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        reader.read_on(&client, &site.address(), TOPIC).await;
    }
    all_ended(&client, &site.address()).await;
    producer.abort();
    reader.read_on(&client, &site.address(), TOPIC).await;
    let visible = found(&client, &site.address(), TOPIC).await;
    for (number, times) in &reader.found {
        assert!(
            visible.get(number) >= Some(times),
            "{number} came {times} times and is there {:?} times",
            visible.get(number)
        );
    }
    assert!(visible.keys().all(|number| fate(*number) == COMMIT), "what was rolled back is there: {visible:?}");
}

/// How a half ends, by its number. Every second one is ended only when the broker asks.
fn fate(number: usize) -> i32 {
    if (number / 8).is_multiple_of(2) { COMMIT } else { ROLLBACK }
}

/// Waits until the broker is behind all halves, so that each has ended but for those that are just stored anew.
async fn all_ended(client: &Client, address: &str) {
    let started = Instant::now();
    loop {
        let [ended, end] = progress(client, address).await;
        if end.is_some() && ended == end {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "halves up to {end:?}, ended up to {ended:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Up to which half all have ended, and how many there are.
async fn progress(client: &Client, address: &str) -> [Option<String>; 2] {
    let ended = QueryConsumerOffsetRequestHeader {
        consumer_group: "CID_RMQ_SYS_TRANS",
        topic: HALF_TOPIC,
        queue_id: 0,
        set_zero_if_not_found: None,
    };
    let ended = Command::request(RequestCode::QUERY_CONSUMER_OFFSET).with_header(&ended);
    let end = GetMaxOffsetRequestHeader { topic: HALF_TOPIC, queue_id: 0, committed: true };
    let end = Command::request(RequestCode::GET_MAX_OFFSET).with_header(&end);
    let mut offsets = [None, None];
    for (request, offset) in [ended, end].into_iter().zip(&mut offsets) {
        *offset = client.call(address, request, TIMEOUT).await.unwrap().field("offset").map(str::to_owned);
    }
    offsets
}

/// Sends halves into one queue, and ends half of them.
struct Sender {
    queue_id: i32,
    sent: usize,
    /// Numbers of halves that the broker acknowledged.
    stored: Vec<usize>,
    /// Numbers that somebody began to commit.
    committing: Arc<Mutex<BTreeSet<usize>>>,
}

impl Sender {
    /// Sends until the broker no longer answers.
    async fn work(mut self, address: String) -> Self {
        let client = new_client();
        let mut pace = pace(3);
        loop {
            pace.tick().await;
            let number = self.sent * QUEUES as usize + self.queue_id as usize;
            self.sent += 1;
            let properties = format!("TRAN_MSG\u{1}true\u{2}PGROUP\u{1}PG\u{2}UNIQ_KEY\u{1}{number}\u{2}");
            let half = header(TOPIC, self.queue_id, &properties);
            let half = SendMessageRequestHeader { sys_flag: 0x4, born_timestamp: now(), ..half };
            let Ok(answer) = client.call(&address, send(&half, number), TIMEOUT).await else { return self };
            assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
            self.stored.push(number);
            if (number / 4).is_multiple_of(2) {
                let id: OffsetMessageId = answer.field("msgId").unwrap().parse().unwrap();
                let offset = answer.field("queueOffset").unwrap().parse().unwrap();
                let end = end(number, id.offset, offset, false, &self.committing);
                let Ok(answer) = client.call(&address, end, TIMEOUT).await else { return self };
                // A check may have stored the half anew before this came.
                assert!(matches!(answer.response_code(), ResponseCode::SUCCESS | ResponseCode::SYSTEM_ERROR));
            }
        }
    }
}

fn end(
    number: usize,
    commit_log_offset: i64,
    tran_state_table_offset: i64,
    from_transaction_check: bool,
    committing: &Mutex<BTreeSet<usize>>,
) -> Command {
    let commit_or_rollback = fate(number);
    if commit_or_rollback == COMMIT {
        committing.lock().insert(number);
    }
    Command::request(RequestCode::END_TRANSACTION).with_header(&EndTransactionRequestHeader {
        topic: Some(TOPIC),
        producer_group: Some("PG"),
        tran_state_table_offset,
        commit_log_offset,
        commit_or_rollback,
        from_transaction_check,
        msg_id: None,
        transaction_id: None,
    })
}

/// A producer that ends what it is asked about, until the broker no longer answers.
async fn answer_checks(address: String, committing: Arc<Mutex<BTreeSet<usize>>>) {
    let Ok(mut producer) = Producer::connect(&address, "PG").await else { return };
    loop {
        let question = producer.any_question().await;
        let header: CheckTransactionStateRequestHeader<'_> = question.header().unwrap();
        let bytes = question.body.bytes();
        let number = std::str::from_utf8(Record::parse(&bytes).unwrap().body).unwrap().parse().unwrap();
        let end = end(number, header.commit_log_offset, header.tran_state_table_offset, true, &committing);
        if producer.client.call(&address, end, TIMEOUT).await.is_err() {
            return;
        }
    }
}

/// Halves that are very old are not asked about.
#[expect(clippy::disallowed_methods, reason = "the broker compares it with the time of day")]
fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}
