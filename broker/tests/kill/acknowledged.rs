//! A broker that is killed again and again under load keeps what it acknowledged.
//!
//! Senders fill a queue each, with single messages, several of them on their way together, or in batches, which are records of
//! their own or, in batch queues, one record, through files that roll and expire, with synchronous and asynchronous flush; the
//! broker is killed at any time, also while it starts.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use apogee_remoting::client::Client;
use apogee_remoting::message::batch::{BatchMember, decode};
use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::message::sys_flag::INNER_BATCH;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::query::QueryMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeaderV2;
use apogee_remoting::protocol::topic::CreateTopicRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use futures_util::future::join_all;

use crate::harness::site::Site;
use crate::harness::{TIMEOUT, new_client, pull_header};
use crate::{QUEUES, kills, prepare, some_time};

const TOPIC: &str = "killed";
/// The topic with batch queues.
const BATCHES: &str = "killed-batches";

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_keeps_what_it_acknowledged() {
    let kills = kills();
    let site = Site::new("");
    let queues = (0..QUEUES).map(|id| (TOPIC, id)).chain([(BATCHES, 0), (BATCHES, 1)]);
    let mut senders: Vec<_> = queues.map(|(topic, queue_id)| Sender::new(topic, queue_id)).collect();
    let broker = site.start(&lines(true, false));
    create_batch_queues(&site.address()).await;
    drop(broker);
    prepare(&site, TOPIC).await;
    for round in 0..kills {
        let expiring = round % 5 == 3;
        let lines = lines(round % 2 == 0, expiring);
        for _ in 0..fastrand::u8(..3) {
            // killed while it recovers what the kill before has left
            let starting = site.spawn(&lines);
            some_time(0..60).await;
            drop(starting);
        }
        let broker = site.start(&lines);
        let address = site.address();
        // while files go, what was read a moment ago is no longer there
        for sender in senders.iter_mut().filter(|_| !expiring) {
            sender.check(&address).await;
        }
        let working: Vec<_> = senders
            .into_iter()
            .map(|mut sender| {
                let address = address.clone();
                tokio::spawn(async move {
                    sender.send_until_it_fails(&address).await;
                    sender
                })
            })
            .collect();
        some_time(50..300).await;
        drop(broker);
        senders = Vec::new();
        for sender in working {
            senders.push(sender.await.unwrap());
        }
    }
    let _broker = site.start(&lines(true, false));
    for sender in &mut senders {
        sender.check(&site.address()).await;
    }
    assert!(senders.iter().map(|sender| sender.messages.len()).sum::<usize>() > kills, "nothing was sent");
}

/// What one start is configured with.
fn lines(sync_flush: bool, expiring: bool) -> String {
    let flush = if sync_flush { "SYNC_FLUSH" } else { "ASYNC_FLUSH" };
    let hours: Vec<_> = (0..24).map(|hour| hour.to_string()).collect();
    let expiry = if expiring { format!("fileReservedTime=0\ndeleteWhen={}", hours.join(";")) } else { String::new() };
    format!("flushDiskType={flush}\n{expiry}")
}

async fn create_batch_queues(address: &str) {
    let header = CreateTopicRequestHeader {
        topic: BATCHES,
        default_topic: Some("TBW102"),
        read_queue_nums: 2,
        write_queue_nums: 2,
        perm: 6,
        topic_filter_type: "SINGLE_TAG",
        topic_sys_flag: Some(0),
        order: false,
        attributes: Some("+queue.type=BatchCQ"),
        force: false,
    };
    let create = Command::request(RequestCode::UPDATE_AND_CREATE_TOPIC).with_header(&header);
    let answer = new_client().call(address, create, TIMEOUT).await.unwrap();
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
}

/// The bodies of the messages in a record.
fn bodies(record: &Record<'_>) -> Vec<String> {
    let text = |body: &[u8]| String::from_utf8(body.to_vec()).unwrap();
    if record.sys_flag & INNER_BATCH == 0 {
        return vec![text(record.body)];
    }
    decode(record.body).map(|member| text(member.unwrap().body)).collect()
}

/// Fills one queue.
struct Sender {
    topic: &'static str,
    queue_id: i32,
    /// How many were sent so far, which are numbered.
    sent: usize,
    /// By queue offset: the number of a message that is there for good.
    messages: BTreeMap<i64, usize>,
    /// Numbers of messages that got no answer: they may be there.
    in_doubt: HashSet<usize>,
}

impl Sender {
    fn new(topic: &'static str, queue_id: i32) -> Self {
        Self { topic, queue_id, sent: 0, messages: BTreeMap::new(), in_doubt: HashSet::new() }
    }

    /// Sends message upon message until the broker no longer answers.
    async fn send_until_it_fails(&mut self, address: &str) {
        let client = new_client();
        loop {
            let count = if fastrand::u8(..4) == 0 { fastrand::usize(2..6) } else { 1 };
            let numbers = self.sent..self.sent + count;
            self.sent += count;
            self.in_doubt.extend(numbers.clone());
            // in one request, or in requests that go out together
            let each = if self.topic != BATCHES && fastrand::bool() { 1 } else { count };
            let requests: Vec<_> = numbers.step_by(each).map(|first| first..first + each).collect();
            let mut has_ended = false;
            let calls = requests.iter().map(|numbers| client.call(address, self.request(numbers.clone()), TIMEOUT));
            for (answer, numbers) in join_all(calls).await.into_iter().zip(requests) {
                let Ok(answer) = answer else {
                    has_ended = true;
                    continue;
                };
                if answer.response_code() == ResponseCode::FLUSH_DISK_TIMEOUT {
                    continue;
                }
                assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
                let first: i64 = answer.field("queueOffset").unwrap().parse().unwrap();
                for (offset, number) in (first..).zip(numbers) {
                    self.in_doubt.remove(&number);
                    assert_eq!(self.messages.insert(offset, number), None, "an offset was given twice");
                }
            }
            if has_ended {
                return;
            }
        }
    }

    /// One message, or a batch of several; in batch queues always a batch, whose record has the keys of all its messages.
    fn request(&self, numbers: Range<usize>) -> Command {
        let is_one_record = self.topic == BATCHES;
        let is_batch = numbers.len() > 1 || is_one_record;
        let properties = |number| format!("KEYS\u{1}{}\u{2}", self.key(number));
        let keys: Vec<_> = numbers.clone().map(|number| self.key(number)).collect();
        let properties_of_one = match (is_one_record, is_batch) {
            (true, _) => format!("KEYS\u{1}{}\u{2}UNIQ_KEY\u{1}u{}\u{2}", keys.join(" "), keys[0]),
            (false, true) => String::new(),
            (false, false) => properties(numbers.start),
        };
        let header = SendMessageRequestHeaderV2 {
            producer_group: Some("PG"),
            topic: self.topic,
            default_topic: Some("TBW102"),
            default_topic_queue_nums: Some(QUEUES),
            queue_id: self.queue_id,
            sys_flag: 0,
            born_timestamp: 1_700_000_000_000,
            flag: 0,
            properties: Some(&properties_of_one),
            reconsume_times: None,
            unit_mode: None,
            max_reconsume_times: None,
            batch: Some(is_batch),
            broker_name: None,
        };
        if !is_batch {
            let body = self.body(numbers.start);
            return Command::request(RequestCode::SEND_MESSAGE_V2).with_header(&header).with_body(body);
        }
        let mut batch = Vec::new();
        for number in numbers {
            let (body, properties) = (self.body(number), properties(number));
            let member = BatchMember { flag: 0, body: body.as_bytes(), properties: properties.as_bytes() };
            member.encode(&mut batch).unwrap();
        }
        Command::request(RequestCode::SEND_BATCH_MESSAGE).with_header(&header).with_body(batch)
    }

    fn key(&self, number: usize) -> String {
        format!("{}-{number}", self.queue_id + if self.topic == BATCHES { 100 } else { 0 })
    }

    fn body(&self, number: usize) -> String {
        let length = 20 + number * 37 % 900;
        self.key(number).chars().chain("~".chars().cycle()).take(length).collect()
    }

    /// Compares the queue and the index with what was sent.
    async fn check(&mut self, address: &str) {
        let client = new_client();
        let mut last = None;
        let mut offset = 0;
        let mut found = BTreeMap::new();
        loop {
            let answer = client.call(address, self.pull(offset), TIMEOUT).await.unwrap();
            if answer.response_code() == ResponseCode::TOPIC_NOT_EXIST {
                break;
            }
            let next: i64 = answer.field("nextBeginOffset").unwrap().parse().unwrap();
            match answer.response_code() {
                ResponseCode::SUCCESS => {}
                ResponseCode::PULL_OFFSET_MOVED if next > offset => {
                    offset = next;
                    continue;
                }
                _ => break,
            }
            for record in entries(&answer.body.bytes()) {
                let record = record.unwrap();
                record.verify(false).unwrap();
                assert_eq!((record.queue_id, record.queue_offset), (self.queue_id, offset));
                for body in bodies(&record) {
                    let number = body.split(['-', '~']).nth(1).unwrap().parse().unwrap();
                    assert_eq!(body, self.body(number));
                    assert!(last < Some(number), "{number} after {last:?}");
                    last = Some(number);
                    found.insert(offset, number);
                    offset += 1;
                }
            }
            assert_eq!(offset, next);
        }
        // what expired is gone, from the oldest on
        let first = found.first_key_value().map_or(offset, |(first, _)| *first);
        self.messages = self.messages.split_off(&first);
        for (offset, number) in &self.messages {
            assert_eq!(found.get(offset), Some(number), "queue {} from {first}: {offset} is lost", self.queue_id);
        }
        for (offset, number) in &found {
            assert!(self.messages.contains_key(offset) || self.in_doubt.contains(number), "{number} at {offset}");
        }
        // what is not there now never will be
        self.in_doubt.clear();
        self.messages = found;
        self.check_index(&client, address).await;
    }

    async fn check_index(&self, client: &Client, address: &str) {
        let numbers: Vec<_> = self.messages.values().copied().collect();
        for _ in 0..numbers.len().min(20) {
            let number = numbers[fastrand::usize(..numbers.len())];
            let header = QueryMessageRequestHeader {
                topic: self.topic,
                key: &self.key(number),
                max_num: 8,
                begin_timestamp: 0,
                end_timestamp: i64::MAX,
                index_type: None,
                last_key: None,
                unique_key: None,
            };
            let query = Command::request(RequestCode::QUERY_MESSAGE).with_header(&header);
            let answer = client.call(address, query, TIMEOUT).await.unwrap();
            let bytes = answer.body.bytes();
            let mut found: Vec<_> = entries(&bytes).flat_map(|record| bodies(&record.unwrap())).collect();
            if self.topic == BATCHES {
                assert_eq!(entries(&bytes).count(), 1);
                found.retain(|body| *body == self.body(number));
            }
            assert_eq!(found, [self.body(number)], "by key {}", self.key(number));
        }
    }

    fn pull(&self, queue_offset: i64) -> Command {
        let header = PullMessageRequestHeader { queue_id: self.queue_id, queue_offset, ..pull_header("G", self.topic) };
        Command::request(RequestCode::PULL_MESSAGE).with_header(&header)
    }
}
