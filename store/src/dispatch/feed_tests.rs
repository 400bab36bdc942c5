use std::io;

use apogee_remoting::message::properties::PropertiesBuf;
use apogee_remoting::message::sys_flag::TRANSACTION_PREPARED;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::dispatch::{Arrival, ArrivalListener, Dispatch, RecordConsumer, RecordFields};
use crate::index::keys;
use crate::queue::{QueueTable, Unit};
use crate::read::RecordSource;
use crate::read::memory_log::{MemoryLog, TestRecord};

/// Nobody waits but for the offsets that are a multiple of ten.
#[derive(Default)]
struct Arrivals(Mutex<(i64, Vec<i64>)>);

impl ArrivalListener for Arrivals {
    fn is_waited_for(&self) -> bool {
        let mut arrivals = self.0.lock();
        arrivals.0 += 1;
        arrivals.0 % 10 == 0
    }

    fn arrived(&self, arrival: &Arrival<'_>) {
        self.0.lock().1.push(arrival.max_offset);
    }
}

/// Places of records with the hashes of their keys.
type Found = Vec<(i64, Vec<i32>)>;

#[derive(Default)]
struct Keys(Arc<Mutex<Found>>);

impl RecordConsumer for Keys {
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()> {
        self.0.lock().push((record.physical_offset, keys(record).collect()));
        Ok(())
    }

    fn consume_keys(&mut self, physical_offset: i64, _: i64, keys: &[i32]) -> io::Result<bool> {
        self.0.lock().push((physical_offset, keys.to_vec()));
        Ok(true)
    }
}

fn draft(properties: &[u8]) -> Draft<'_> {
    Draft { properties, ..Draft::new("t", 0, "127.0.0.1:1".parse().unwrap(), b"") }
}

fn known(feed: &Feed, draft: &Draft<'_>, queue: &Queue) -> Option<Known> {
    feed.known(draft, &Marks::of(Properties::new(draft.properties)), queue)
}

fn queues(directory: &TempDir) -> Arc<QueueTable> {
    Arc::new(QueueTable::new(directory.path().to_owned(), 20 * 500, 8))
}

proptest! {
    /// Whichever records are told of, and whenever, queue and index become the same.
    #[test]
    fn told_or_read_is_the_same(told in proptest::collection::vec(any::<bool>(), 1..200), steps in 1usize..50) {
        let directory = TempDir::new().unwrap();
        let (log, table) = (Arc::new(MemoryLog::new(4096)), queues(&directory));
        let queue = table.get_or_create("t", 0).unwrap();
        let feed = Arc::new(Feed::new(false, Some(Arc::default())));
        let (arrivals, found) = (Arc::new(Arrivals::default()), Keys::default());
        let found_keys = Arc::clone(&found.0);
        let dispatch = Dispatch::new(Arc::clone(&log) as _, Arc::clone(&table), 0).with_listener(Arc::clone(&arrivals) as _);
        let index = Dispatch::without_queues(Arc::clone(&log) as _, 0).with_consumer(Box::new(found));
        for walk in [&dispatch, &index] {
            walk.listen(Arc::clone(&feed));
        }
        let mut expected = Vec::new();
        for (n, is_told) in told.iter().enumerate() {
            let properties = format!("UNIQ_KEY\x01u{n}\x02TAGS\x01TagA\x02KEYS\x01k l\x02");
            let record = TestRecord {
                queue_offset: n as i64,
                properties: properties.as_bytes(),
                ..TestRecord::default()
            };
            let known = known(&feed, &draft(properties.as_bytes()), &queue).unwrap();
            let (physical_offset, size) = log.append(&record);
            if *is_told {
                let appended =
                    Appended { physical_offset, size: size as usize, queue_offset: n as i64, store_timestamp: 0 };
                feed.begin().tell(&appended, Arc::clone(&queue), known);
            }
            expected.push((physical_offset, known.keys.as_slice().to_vec()));
            if n % steps == 0 {
                dispatch.catch_up().unwrap();
            }
        }
        dispatch.catch_up().unwrap();
        index.catch_up().unwrap();
        let units: Vec<Unit> = queue.iter_from(0).map(|entry| entry.unwrap().unit).collect();
        prop_assert_eq!(units.iter().map(|unit| unit.physical_offset).collect::<Vec<_>>(), expected.iter().map(|(at, _)| *at).collect::<Vec<_>>());
        prop_assert!(units.iter().all(|unit| unit.tags_code == 2_598_919));
        prop_assert_eq!(&*found_keys.lock(), &expected);
        let arrived = &arrivals.0.lock().1;
        let is_read = |n: &usize| !told[*n];
        prop_assert!((0..told.len()).filter(is_read).all(|n| arrived.contains(&(n as i64 + 1))));
        prop_assert!(arrived.is_sorted());
    }

    #[test]
    fn keys_are_those_of_the_record(properties in "((KEYS|TAGS|UNIQ_KEY|TAG)?[\x01\x02 ab\u{e4}]{0,4}){0,8}") {
        let directory = TempDir::new().unwrap();
        let queue = queues(&directory).get_or_create("t", 0).unwrap();
        let log = MemoryLog::new(4096);
        let (place, size) = log.append(&TestRecord { properties: properties.as_bytes(), ..TestRecord::default() });
        let bytes = log.slice(place, size as usize).unwrap().unwrap();
        let record = RecordFields::of(&bytes).unwrap();
        let expected: Vec<i32> = keys(&record).collect();
        let known = known(&Feed::new(false, Some(Arc::default())), &draft(properties.as_bytes()), &queue);
        // in the form in which they are sent, and in that in which they are stored
        let stored = PropertiesBuf::from_text(properties.as_bytes());
        prop_assert_eq!(Marks::of(Properties::new(properties.as_bytes())), Marks::of(stored.view()));
        match known {
            Some(known) => {
                prop_assert_eq!(known.keys.as_slice(), expected);
                prop_assert_eq!(known.tags_code, crate::dispatch::DelayLevels::default().tags_code(&record));
            }
            None => prop_assert!(expected.len() > MOST_KEYS),
        }
    }
}

#[test]
fn what_is_not_plain_is_read() {
    let directory = TempDir::new().unwrap();
    let queue = queues(&directory).get_or_create("t", 0).unwrap();
    let feed = Feed::new(false, None);
    assert!(known(&feed, &draft(b""), &queue).is_some());
    assert!(known(&feed, &Draft { topic: SCHEDULE_TOPIC, ..draft(b"") }, &queue).is_none());
    for sys_flag in [INNER_BATCH, TRANSACTION_PREPARED] {
        assert!(known(&feed, &Draft { sys_flag, ..draft(b"") }, &queue).is_none());
    }
    assert!(known(&Feed::new(true, None), &draft(b""), &queue).is_none());
}

#[test]
fn a_record_is_not_taken_up_before_it_can_be_read() {
    let directory = TempDir::new().unwrap();
    let (log, table) = (Arc::new(MemoryLog::new(4096)), queues(&directory));
    let queue = table.get_or_create("t", 0).unwrap();
    let feed = Arc::new(Feed::new(false, None));
    let dispatch = Dispatch::new(Arc::clone(&log) as _, Arc::clone(&table), 0);
    dispatch.listen(Arc::clone(&feed));
    let (_, size) = log.append(&TestRecord::default());
    for queue_offset in 0..3 {
        let physical_offset = queue_offset * i64::from(size);
        let appended = Appended { physical_offset, size: size as usize, queue_offset, store_timestamp: 0 };
        feed.begin().tell(&appended, Arc::clone(&queue), known(&feed, &draft(b""), &queue).unwrap());
    }
    for count in 1..=3 {
        dispatch.catch_up().unwrap();
        assert_eq!((queue.max_offset(), dispatch.position()), (count, log.max_offset()));
        log.append(&TestRecord { queue_offset: count, ..TestRecord::default() });
    }
}

/// Who stores a message dispatches it where that needs no file and nobody else is at it.
#[test]
fn who_stores_helps_with_what_takes_no_wait() {
    let directory = TempDir::new().unwrap();
    let (log, table) = (Arc::new(MemoryLog::new(1 << 22)), queues(&directory));
    let queue = table.get_or_create("t", 0).unwrap();
    let feed = Arc::new(Feed::new(false, None));
    let dispatch = Dispatch::new(Arc::clone(&log) as _, Arc::clone(&table), 0);
    dispatch.listen(Arc::clone(&feed));
    let mut helped = 0;
    for queue_offset in 0..500 {
        let (physical_offset, size) = log.append(&TestRecord { queue_offset, ..TestRecord::default() });
        // one that nobody tells of has to be read
        if queue_offset != 300 {
            let appended = Appended { physical_offset, size: size as usize, queue_offset, store_timestamp: 0 };
            feed.begin().tell(&appended, Arc::clone(&queue), known(&feed, &draft(b""), &queue).unwrap());
        }
        if dispatch.help(log.max_offset()) {
            assert_eq!(queue.max_offset(), queue_offset + 1);
            helped += 1;
        } else {
            assert_eq!(queue.max_offset(), queue_offset);
            dispatch.catch_up().unwrap();
        }
    }
    // the last unit of each of the two full pages, and the one that was not told of
    assert_eq!((helped, queue.max_offset(), dispatch.position()), (497, 500, log.max_offset()));
}

#[test]
fn a_line_that_is_full_loses_only_what_can_be_read() {
    let directory = TempDir::new().unwrap();
    let (log, table) = (Arc::new(MemoryLog::new(1 << 22)), queues(&directory));
    let queue = table.get_or_create("t", 0).unwrap();
    let feed = Arc::new(Feed::new(false, None));
    let dispatch = Dispatch::new(Arc::clone(&log) as _, Arc::clone(&table), 0);
    dispatch.listen(Arc::clone(&feed));
    let count = MOST_TOLD as i64 + 10;
    for queue_offset in 0..count {
        let (physical_offset, size) = log.append(&TestRecord { queue_offset, ..TestRecord::default() });
        let appended = Appended { physical_offset, size: size as usize, queue_offset, store_timestamp: 0 };
        feed.begin().tell(&appended, Arc::clone(&queue), known(&feed, &draft(b""), &queue).unwrap());
    }
    dispatch.catch_up().unwrap();
    assert_eq!((queue.max_offset(), dispatch.behind_bytes()), (count, 0));
}
