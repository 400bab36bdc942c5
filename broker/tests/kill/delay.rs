//! Delayed messages come at least once, wherever their delivery was interrupted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use apogee_remoting::ResponseCode;

use crate::harness::site::Site;
use crate::harness::{TIMEOUT, new_client};
use crate::{QUEUES, Reader, header, kills, pace, prepare, send, some_time};

const TOPIC: &str = "Delayed";
/// One of two levels, so that both are delivered while messages of both are sent.
const DELAYS: [&str; 2] = ["DELAY\u{1}1\u{2}", "DELAY\u{1}2\u{2}"];
/// Longest wait for the delivery of all; the delays are a second and two.
const PATIENCE: Duration = Duration::from_mins(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_delivers_what_was_delayed() {
    let site = Site::new("messageDelayLevel=1s 2s\nflushDelayOffsetInterval=10\nenableScheduleAsyncDeliver=true");
    prepare(&site, TOPIC).await;
    let mut senders: Vec<_> = (0..QUEUES).map(|queue_id| Sender { queue_id, sent: 0, stored: Vec::new() }).collect();
    for _ in 0..kills() {
        let broker = site.start("");
        let working: Vec<_> = senders.into_iter().map(|sender| tokio::spawn(sender.work(site.address()))).collect();
        some_time(100..700).await;
        drop(broker);
        senders = Vec::new();
        for sender in working {
            senders.push(sender.await.unwrap());
        }
    }
    let _broker = site.start("");
    let (client, started) = (new_client(), Instant::now());
    let stored: Vec<_> = senders.iter().flat_map(|sender| &sender.stored).copied().collect();
    assert!(stored.len() > kills(), "nothing was sent");
    let mut reader = Reader::default();
    while !stored.iter().all(|number| reader.found.contains_key(number)) {
        assert!(started.elapsed() < PATIENCE, "of {} messages came {}", stored.len(), reader.found.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
        reader.read_on(&client, &site.address(), TOPIC).await;
    }
    check(&reader.found, &senders);
}

/// Nothing comes that was not sent, and nothing more often than it was begun to be delivered.
fn check(found: &BTreeMap<usize, usize>, senders: &[Sender]) {
    for (number, times) in found {
        let sender = &senders[number % QUEUES as usize];
        assert!(number / (QUEUES as usize) < sender.sent, "{number} was not sent");
        assert!(*times <= kills() + 1, "{number} came {times} times");
    }
}

/// Fills one queue.
struct Sender {
    queue_id: i32,
    /// How many were sent so far.
    sent: usize,
    /// Numbers that the broker acknowledged.
    stored: Vec<usize>,
}

impl Sender {
    /// Sends until the broker no longer answers.
    async fn work(mut self, address: String) -> Self {
        let client = new_client();
        let mut pace = pace(2);
        loop {
            pace.tick().await;
            let number = self.sent * QUEUES as usize + self.queue_id as usize;
            self.sent += 1;
            let header = header(TOPIC, self.queue_id, DELAYS[self.sent % 2]);
            let Ok(answer) = client.call(&address, send(&header, number), TIMEOUT).await else { return self };
            assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
            self.stored.push(number);
        }
    }
}
