//! What was given to a store, and what must come out of it.

use std::collections::HashMap;
use std::sync::Arc;

use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::{Draft, Record, entries};
use fastrand::Rng;

use crate::{Appended, GetRequest, GetStatus, IndexKind, KeyQuery, Marks, Store};

pub(super) const TOPIC: &str = "power";
pub(super) const QUEUES: i32 = 3;

/// All messages of a store's lives.
#[derive(Default)]
pub(super) struct History {
    messages: Vec<Message>,
}

struct Message {
    queue_id: i32,
    place: Appended,
    body: Vec<u8>,
    state: MessageState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    /// It need not survive, and then is gone for ever.
    Unsynced,
    /// It must be there.
    Kept,
    /// It may be there again if its file is.
    Expired,
    /// It was not there after a start.
    Lost,
}

impl History {
    /// Appends one or some messages to a queue.
    pub(super) fn append(&mut self, store: &Store, rng: &mut Rng) {
        let queue_id = rng.i32(0..QUEUES);
        let count = if rng.u8(..4) == 0 { rng.usize(2..6) } else { 1 };
        let first = self.messages.len();
        let bodies: Vec<_> = (first..first + count).map(|number| body(number, rng)).collect();
        let properties: Vec<_> = (first..first + count)
            .map(|number| format!("UNIQ_KEY\x01{}\x02KEYS\x01all\x02TAGS\x01t{number}\x02", key(number)))
            .collect();
        let drafts = bodies.iter().zip(&properties).map(|(body, properties)| Draft {
            properties: properties.as_bytes(),
            ..Draft::new(TOPIC, queue_id, ([127, 0, 0, 1], 10_911).into(), body)
        });
        let places = if count == 1 && rng.bool() {
            let draft = drafts.clone().next().unwrap();
            [store.append_awaited(&draft, &Marks::of(Properties::new(draft.properties))).unwrap()].into_iter().collect()
        } else {
            store.append_all(TOPIC, queue_id, drafts).unwrap()
        };
        for (place, body) in places.into_iter().zip(bodies) {
            self.messages.push(Message { queue_id, place, body, state: MessageState::Unsynced });
        }
    }

    /// Everything before an offset is acknowledged; messages before `min` are no longer in the log.
    pub(super) fn synced(&mut self, flushed: i64, min: i64) {
        for message in &mut self.messages {
            if message.state == MessageState::Unsynced && message.place.end() <= flushed {
                message.state = MessageState::Kept;
            }
            if message.state == MessageState::Kept && message.place.physical_offset < min {
                message.state = MessageState::Expired;
            }
        }
    }

    /// Compares a store that was just opened with what must be in it. What else is in it is so for good.
    pub(super) fn check(&mut self, store: &Arc<Store>) {
        assert_eq!(store.dispatch_behind_bytes(), 0);
        let mut found = HashMap::new();
        for queue_id in 0..QUEUES {
            for (offset, record) in all(store, queue_id) {
                let record = Record::parse(&record).unwrap();
                record.verify(false).unwrap();
                assert_eq!((record.topic, record.queue_id, record.queue_offset), (TOPIC, queue_id, offset));
                found.insert(record.physical_offset, (queue_id, offset, record.body.to_vec()));
            }
        }
        for (number, message) in self.messages.iter_mut().enumerate() {
            let place = message.place;
            let expected = (message.queue_id, place.queue_offset, message.body.clone());
            let is_there = found.get(&place.physical_offset) == Some(&expected);
            let what = format!("message {number}, {:?}, at {place:?}", message.state);
            match message.state {
                MessageState::Kept => assert!(is_there, "{what} is lost: {:?}", found.get(&place.physical_offset)),
                MessageState::Lost => assert!(!is_there, "{what} came back"),
                MessageState::Expired => {}
                MessageState::Unsynced if is_there => message.state = MessageState::Kept,
                MessageState::Unsynced => message.state = MessageState::Lost,
            }
            if is_there {
                found.remove(&place.physical_offset);
                let query =
                    KeyQuery { topic: TOPIC, key: &key(number), kind: IndexKind::Key, max: 8, begin: 0, end: i64::MAX };
                let result = store.query_by_key(&query).unwrap();
                let offsets: Vec<_> =
                    result.records.iter().map(|record| Record::parse(record).unwrap().physical_offset).collect();
                assert_eq!(offsets, [place.physical_offset], "{what} in the index");
            }
        }
        assert!(found.is_empty(), "nobody sent {found:?}");
    }
}

/// All messages of a queue, with the offsets at which they are served.
fn all(store: &Store, queue_id: i32) -> Vec<(i64, Vec<u8>)> {
    let mut messages = Vec::new();
    let mut offset = store.min_offset(TOPIC, queue_id);
    while offset < store.max_offset(TOPIC, queue_id) {
        let request = GetRequest { topic: TOPIC, queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
        let result = store.get(&request, None).unwrap();
        if result.status != GetStatus::Found {
            assert!(result.next_offset > offset, "{:?} {offset} {}", result.status, result.next_offset);
            offset = result.next_offset;
            continue;
        }
        for run in &result.runs {
            for record in entries(run) {
                let record = record.unwrap();
                let at = record.physical_offset;
                messages.push((record.queue_offset, store.record_at(at).unwrap().unwrap().to_vec()));
            }
        }
        offset = result.next_offset;
    }
    assert!(messages.is_sorted_by_key(|(offset, _)| *offset));
    messages
}

fn key(number: usize) -> String {
    format!("key-{number}")
}

fn body(number: usize, rng: &mut Rng) -> Vec<u8> {
    let length = if rng.u8(..5) == 0 { rng.usize(500..3000) } else { rng.usize(10..300) };
    format!("message {number} ").into_bytes().into_iter().cycle().take(length).collect()
}
