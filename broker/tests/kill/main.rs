//! Brokers that are killed again and again, at any time: what they promised holds afterwards. `APOGEE_KILLS` says how often (5).

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod acknowledged;
mod buffer;
mod creation;
mod delay;
#[path = "../harness/mod.rs"]
mod harness;
mod transaction;

use std::collections::BTreeMap;
use std::time::Duration;

use apogee_remoting::client::Client;
use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::site::Site;
use harness::{TIMEOUT, new_client, pull_header, send_header};
use tokio::time::{Interval, MissedTickBehavior, interval};

fn kills() -> usize {
    std::env::var("APOGEE_KILLS").map_or(5, |kills| kills.parse().unwrap())
}

/// Waits up to the moment of a kill.
async fn some_time(millis: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(millis))).await;
}

/// Makes a topic with four queues, and the group of [`found`]. On a slow disk that takes longer than a broker lives that is
/// killed soon; where they are there, messages need no file to be synced.
async fn prepare(site: &Site, topic: &str) {
    let _broker = site.start("");
    let client = new_client();
    let fields = [("topic", topic), ("defaultTopic", "TBW102"), ("readQueueNums", "4"), ("writeQueueNums", "4")];
    let more = [("perm", "6"), ("topicFilterType", "SINGLE_TAG"), ("topicSysFlag", "0"), ("order", "false")];
    let create = Command::request(RequestCode::UPDATE_AND_CREATE_TOPIC);
    let create = fields.into_iter().chain(more).fold(create, |create, (name, value)| create.with_field(name, value));
    let answer = client.call(&site.address(), create, TIMEOUT).await.unwrap();
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    assert!(found(&client, &site.address(), topic).await.is_empty());
}

/// Ticks every so many ms; what a busy machine misses does not come in a burst.
fn pace(millis: u64) -> Interval {
    let mut pace = interval(Duration::from_millis(millis));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// A message whose body is its number.
fn send(header: &SendMessageRequestHeader<'_>, number: usize) -> Command {
    Command::request(RequestCode::SEND_MESSAGE).with_header(header).with_body(number.to_string())
}

fn header<'a>(topic: &'a str, queue_id: i32, properties: &'a str) -> SendMessageRequestHeader<'a> {
    SendMessageRequestHeader { queue_id, properties: Some(properties), ..send_header(topic) }
}

/// How often each number is there, in the first four queues of a topic.
async fn found(client: &Client, address: &str, topic: &str) -> BTreeMap<usize, usize> {
    let mut reader = Reader::default();
    reader.read_on(client, address, topic).await;
    reader.found
}

/// Reads the first four queues of a topic, each message once: what was read stays where it is.
#[derive(Default)]
struct Reader {
    /// Where each queue goes on.
    offsets: [i64; QUEUES as usize],
    /// How often each number came.
    found: BTreeMap<usize, usize>,
}

impl Reader {
    /// Reads what came since, and returns its numbers.
    async fn read_on(&mut self, client: &Client, address: &str, topic: &str) -> Vec<usize> {
        let mut new = Vec::new();
        for (queue_id, queue_offset) in (0..).zip(&mut self.offsets) {
            loop {
                let header =
                    PullMessageRequestHeader { queue_id, queue_offset: *queue_offset, ..pull_header("Reader", topic) };
                let pull = Command::request(RequestCode::PULL_MESSAGE).with_header(&header);
                let answer = client.call(address, pull, TIMEOUT).await.unwrap();
                let next: i64 = answer.field("nextBeginOffset").map_or(0, |next| next.parse().unwrap());
                if answer.response_code() != ResponseCode::SUCCESS {
                    assert!(next >= *queue_offset, "queue {queue_id} ends at {next}, it was read up to {queue_offset}");
                    break;
                }
                for record in entries(&answer.body.bytes()) {
                    let number = std::str::from_utf8(record.unwrap().body).unwrap().parse().unwrap();
                    *self.found.entry(number).or_default() += 1;
                    new.push(number);
                }
                *queue_offset = next;
            }
        }
        new
    }
}

const QUEUES: i32 = 4;
