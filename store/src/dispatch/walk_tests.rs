use std::time::{Duration, Instant};

use apogee_remoting::message::sys_flag::{TRANSACTION_PREPARED, TRANSACTION_ROLLBACK};
use tempfile::TempDir;

use super::*;
use crate::dispatch::delay::SCHEDULE_TOPIC;
use crate::dispatch::{Arrival, Dispatcher, FlushIntervals, QueueFlusher, Waker};
use crate::queue::Unit;
use crate::read::memory_log::{MemoryLog, TestRecord};

struct Fixture {
    directory: TempDir,
    log: Arc<MemoryLog>,
}

impl Fixture {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), log: Arc::new(MemoryLog::new(4096)) }
    }

    fn queues(&self) -> Arc<QueueTable> {
        Arc::new(QueueTable::new(self.directory.path().to_owned(), 2000, 8))
    }

    fn dispatch(&self, queues: &Arc<QueueTable>, position: i64) -> Dispatch {
        Dispatch::new(Arc::clone(&self.log) as _, Arc::clone(queues), position)
    }
}

fn units(queues: &QueueTable, topic: &str, queue_id: i32) -> Vec<Unit> {
    let queue = queues.get(topic, queue_id).unwrap();
    queue.iter_from(queue.min_offset()).map(|entry| entry.unwrap().unit).collect()
}

#[test]
fn records_go_to_their_queues_once_whatever_the_start() {
    let fixture = Fixture::new();
    let mut places = Vec::new();
    for n in 0..300 {
        places.push(fixture.log.append(&TestRecord {
            queue_id: n % 3,
            queue_offset: i64::from(n / 3),
            properties: b"TAGS\x01TagA\x02",
            ..TestRecord::default()
        }));
    }
    let queues = fixture.queues();
    let dispatch = fixture.dispatch(&queues, 0);
    assert!(dispatch.behind_bytes() > 0);
    dispatch.catch_up().unwrap();
    assert_eq!(dispatch.behind_bytes(), 0);
    for start in [0, places[150].0, places[299].0] {
        fixture.dispatch(&queues, start).catch_up().unwrap();
    }
    for queue_id in 0..3 {
        let expected: Vec<_> = places
            .iter()
            .skip(queue_id as usize)
            .step_by(3)
            .map(|(physical_offset, size)| Unit {
                physical_offset: *physical_offset,
                size: *size,
                tags_code: 2_598_919,
            })
            .collect();
        assert_eq!(units(&queues, "t", queue_id), expected);
    }
    assert_eq!(dispatch.progress().last_record, places[299].0);
}

#[test]
fn a_scheduled_record_has_its_delivery_time() {
    let fixture = Fixture::new();
    for (offset, properties) in
        [&b"DELAY\x013\x02"[..], b"DELAY\x0199\x02", b"DELAY\x010\x02TAGS\x01Aa\x02"].iter().enumerate()
    {
        fixture.log.append(&TestRecord {
            topic: SCHEDULE_TOPIC,
            queue_offset: offset as i64,
            store_timestamp: 5000,
            properties,
            ..TestRecord::default()
        });
    }
    let queues = fixture.queues();
    fixture.dispatch(&queues, 0).catch_up().unwrap();
    let codes: Vec<_> = units(&queues, SCHEDULE_TOPIC, 0).iter().map(|unit| unit.tags_code).collect();
    assert_eq!(codes, [15_000, 7_205_000, 2112]);
}

#[test]
fn what_is_not_to_be_consumed_is_in_no_queue() {
    let fixture = Fixture::new();
    for sys_flag in [TRANSACTION_PREPARED, TRANSACTION_ROLLBACK, 0x8, 0x30] {
        let queue_offset = i64::from(sys_flag == 0x30);
        fixture.log.append(&TestRecord { queue_offset, sys_flag, ..TestRecord::default() });
    }
    let (damaged_topic, _) = fixture.log.append(&TestRecord { topic: "../out", ..TestRecord::default() });
    let queues = fixture.queues();
    let dispatch = fixture.dispatch(&queues, 0);
    dispatch.catch_up().unwrap();
    assert_eq!(units(&queues, "t", 0).len(), 2);
    assert!(dispatch.position() > damaged_topic);
    assert_eq!(queues.topics().len(), 1);
}

#[test]
fn light_queues_get_units_of_the_record() {
    let fixture = Fixture::new();
    let (place, _) = fixture.log.append(&TestRecord {
        properties: b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b,../x\x02INNER_MULTI_QUEUE_OFFSET\x010,4,0\x02",
        ..TestRecord::default()
    });
    let queues = fixture.queues();
    fixture.dispatch(&queues, 0).with_light_queues(true).catch_up().unwrap();
    assert_eq!(units(&queues, "%LMQ%a", 0)[0].physical_offset, place);
    assert_eq!(queues.get("%LMQ%b", 0).unwrap().min_offset(), 4);
    assert_eq!(queues.topics().len(), 3);
}

#[test]
fn damage_stops_at_its_place_and_part_of_a_record_waits() {
    let fixture = Fixture::new();
    let (first, size) = fixture.log.append(&TestRecord::default());
    let (second, _) = fixture.log.append(&TestRecord { queue_offset: 1, ..TestRecord::default() });
    let queues = fixture.queues();
    let dispatch = fixture.dispatch(&queues, first);
    for part in [1, 7, 8, 50] {
        fixture.log.set_end(second + part);
        dispatch.catch_up().unwrap();
        assert_eq!(dispatch.position(), i64::from(size));
    }
    fixture.log.set_end(second + i64::from(size));
    fixture.log.damage(second);
    assert!(matches!(dispatch.catch_up(), Err(DispatchError::Damaged { position, .. }) if position == second));
    assert_eq!(dispatch.position(), second);
}

#[test]
fn a_record_that_cannot_be_put_is_not_passed_over() {
    let fixture = Fixture::new();
    for queue_offset in [7, 8] {
        fixture.log.append(&TestRecord { queue_offset, ..TestRecord::default() });
    }
    let queues = fixture.queues();
    let dispatch = fixture.dispatch(&queues, 0);
    // its first unit needs a file, for the blanks before it
    let in_the_way = fixture.directory.path().join("t");
    std::fs::write(&in_the_way, "").unwrap();
    for _ in 0..2 {
        assert!(matches!(dispatch.catch_up(), Err(DispatchError::Queue { position: 0, .. })));
    }
    std::fs::remove_file(&in_the_way).unwrap();
    dispatch.catch_up().unwrap();
    assert_eq!((queues.get("t", 0).unwrap().min_offset(), units(&queues, "t", 0).len()), (7, 2));
}

#[test]
fn a_gap_that_began_before_the_walk_is_refused() {
    let fixture = Fixture::new();
    let mut places = Vec::new();
    for queue_offset in 0..40 {
        places.push(fixture.log.append(&TestRecord { queue_offset, ..TestRecord::default() }).0);
    }
    let queues = fixture.queues();
    let first = fixture.dispatch(&queues, 0);
    fixture.log.set_end(places[10]);
    first.catch_up().unwrap();
    fixture.log.set_end(places[39]);
    // units 10 to 19 are missing
    let walk = fixture.dispatch(&queues, places[20]).refusing_gaps();
    let refused = walk.catch_up();
    let Err(DispatchError::UnitsMissing { position, behind }) = refused else { panic!("{refused:?}") };
    assert_eq!((position, behind), (places[20], places[10]));
    fixture.dispatch(&queues, behind).refusing_gaps().catch_up().unwrap();
    assert_eq!(units(&queues, "t", 0).iter().map(|unit| unit.physical_offset).collect::<Vec<_>>(), places[..39]);
}

#[derive(Default)]
struct Arrivals(Mutex<Vec<i64>>);

impl ArrivalListener for Arrivals {
    fn arrived(&self, arrival: &Arrival<'_>) {
        self.0.lock().push(arrival.max_offset);
    }
}

struct Counting(Arc<Mutex<i64>>);

impl RecordConsumer for Counting {
    fn consume(&mut self, _: &RecordFields<'_>) -> io::Result<()> {
        *self.0.lock() += 1;
        Ok(())
    }
}

#[test]
fn the_thread_follows_appends_and_stops_behind_the_last() {
    let fixture = Fixture::new();
    let queues = fixture.queues();
    let arrivals = Arc::new(Arrivals::default());
    let counted = Arc::new(Mutex::new(0));
    let dispatch = fixture
        .dispatch(&queues, 0)
        .with_listener(Arc::clone(&arrivals) as _)
        .with_consumer(Box::new(Counting(Arc::clone(&counted))));
    let dispatch = Arc::new(dispatch);
    let waker = Waker::default();
    let dispatcher = Dispatcher::start(Arc::clone(&dispatch), waker.clone()).unwrap();
    let synced = Arc::new(Mutex::new(Reached::default()));
    let sink = Arc::clone(&synced);
    let flusher =
        QueueFlusher::start(Arc::clone(&queues), Arc::clone(&dispatch), FlushIntervals::default(), move |progress| {
            *sink.lock() = progress;
        })
        .unwrap();

    let deadline = Instant::now() + Duration::from_mins(2);
    for n in 0..2000 {
        fixture.log.append(&TestRecord { queue_offset: n, ..TestRecord::default() });
        waker.wake();
        // now and then let it fall asleep
        while n % 500 == 0 && dispatch.behind_bytes() > 0 {
            assert!(Instant::now() < deadline, "the wake was lost");
            std::thread::yield_now();
        }
    }
    dispatcher.stop();
    flusher.stop().unwrap();
    assert_eq!(dispatch.behind_bytes(), 0);
    assert_eq!(synced.lock().position, dispatch.position());
    assert_eq!(*arrivals.0.lock(), (1..=2000).collect::<Vec<_>>());
    assert_eq!(*counted.lock(), 2000);
    assert_eq!(units(&queues, "t", 0).len(), 2000);
}

struct Reluctant(i64);

impl RecordConsumer for Reluctant {
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()> {
        if record.queue_offset == 1 && self.0 > 0 {
            self.0 -= 1;
            return Err(io::Error::other("not now"));
        }
        Ok(())
    }
}

#[test]
fn a_consumer_that_fails_gets_the_record_again() {
    let fixture = Fixture::new();
    for queue_offset in 0..3 {
        fixture.log.append(&TestRecord { queue_offset, ..TestRecord::default() });
    }
    let queues = fixture.queues();
    let dispatch = fixture.dispatch(&queues, 0).with_consumer(Box::new(Reluctant(1)));
    assert!(matches!(dispatch.catch_up(), Err(DispatchError::Consumer { .. })));
    dispatch.catch_up().unwrap();
    assert_eq!(units(&queues, "t", 0).len(), 3);
}
