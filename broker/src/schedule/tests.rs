//! Delivery with times that the tests choose.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use apogee_config::MessageStoreConfig;
use apogee_config::state_file::StateFile;
use apogee_remoting::json;
use apogee_remoting::message::record::{Draft, Record};
use apogee_store::Hooks;

use super::alarm::NEVER;
use super::message::{Delivery, Elsewhere};
use super::*;
use crate::clock::Clock;
use crate::replication::NotTaken;

struct Fixture {
    folder: tempfile::TempDir,
    store: Arc<Store>,
    schedule: Schedule,
}

impl Fixture {
    fn new(levels: &str) -> Self {
        Self::open(tempfile::tempdir().unwrap(), levels)
    }

    fn open(folder: tempfile::TempDir, levels: &str) -> Self {
        let config = MessageStoreConfig {
            store_path_root_dir: folder.path().to_string_lossy().into_owned(),
            mapped_file_size_commit_log: 1 << 20,
            message_delay_level: levels.to_owned(),
            ..MessageStoreConfig::default()
        };
        let store = Store::open(&config, Hooks::default()).unwrap();
        let file = offsets_file(folder.path());
        let saved = file.read(json::from_slice).unwrap().unwrap_or_default();
        let offsets = DelayOffsets::new(file, saved, Clock);
        let levels = DelayLevels::parse(levels).unwrap();
        let schedule = Schedule::new(levels, offsets, Arc::default(), &store);
        Self { folder, store, schedule }
    }

    fn reopen(self, levels: &str) -> Self {
        if let Some(unsaved) = self.schedule.offsets.unsaved() {
            self.schedule.offsets.save(&unsaved).unwrap();
        }
        self.store.close().unwrap();
        let Self { folder, store, schedule } = self;
        drop((store, schedule));
        Self::open(folder, levels)
    }

    /// Stores a message for `T` queue 3 with a delay; gives its store time.
    fn send(&self, level: i32, body: &str) -> i64 {
        let mut properties = PropertiesBuf::from_text(b"a\x01b\x02");
        let queue_id = self.schedule.delay(&mut properties, level, "T", 3).unwrap();
        self.append(names::SCHEDULE_TOPIC, queue_id, properties.as_bytes(), body)
    }

    fn append(&self, topic: &str, queue_id: i32, properties: &[u8], body: &str) -> i64 {
        let host = "127.0.0.1:10911".parse().unwrap();
        let draft = Draft {
            topic,
            queue_id,
            flag: 7,
            sys_flag: 0,
            born_timestamp: 1,
            born_host: host,
            store_host: host,
            reconsume_times: 2,
            prepared_transaction_offset: 0,
            body: body.as_bytes(),
            body_crc: None,
            properties,
        };
        let stored = self.store.append(&draft).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.store.max_offset(topic, queue_id) <= stored.queue_offset {
            assert!(Instant::now() < deadline, "not dispatched");
            std::thread::yield_now();
        }
        stored.store_timestamp
    }

    /// Delivers all that is due at `now`; gives the time at which there will be more.
    fn deliver(&self, now: i64) -> i64 {
        loop {
            let next = self.turn(now);
            if next > now {
                return next;
            }
        }
    }

    fn turn(&self, now: i64) -> i64 {
        let delivered = |_: &str, _, _| {};
        self.schedule.deliver(&mut Delivery { store: &self.store, version_step: 1, delivered, elsewhere: None }, now)
    }

    /// Bodies that were delivered, in their order.
    fn delivered(&self) -> Vec<String> {
        self.records()
            .iter()
            .map(|bytes| String::from_utf8(Record::parse(bytes).unwrap().body.to_vec()).unwrap())
            .collect()
    }

    fn records(&self) -> Vec<bytes::Bytes> {
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.store.dispatch_behind_bytes() > 0 {
            assert!(Instant::now() < deadline, "not dispatched");
            std::thread::yield_now();
        }
        let units = self.store.units("T", 3, 0, 1000).unwrap();
        units.into_iter().map(|(_, unit)| self.store.record_of(unit).unwrap().unwrap()).collect()
    }
}

fn offsets_file(folder: &Path) -> StateFile {
    StateFile::new(folder.join("config/delayOffset.json"))
}

#[test]
fn a_message_is_delivered_as_it_was_sent_when_it_is_due() {
    let fixture = Fixture::new("1s 5s");
    let stored = fixture.send(2, "m");
    assert_eq!(fixture.deliver(stored + 4999), stored + 5000);
    assert!(fixture.delivered().is_empty());
    assert_eq!(fixture.deliver(stored + 5000), NEVER);
    let records = fixture.records();
    let record = Record::parse(&records[0]).unwrap();
    assert_eq!((record.flag, record.born_timestamp, record.reconsume_times, record.queue_offset), (7, 1, 2, 0));
    // As the reference's golden stores have it: the delay stays, too.
    assert_eq!(record.properties.as_bytes(), b"a\x01b\x02DELAY\x012\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02");
    assert_eq!(fixture.schedule.offsets.all(), BTreeMap::from([(2, 1)]));
}

#[test]
fn levels_are_capped_and_override_other_times() {
    let fixture = Fixture::new("1s 5s");
    let mut properties = PropertiesBuf::from_text(b"TIMER_DELAY_SEC\x0110\x02DELAY\x0120\x02REAL_TOPIC\x01forged\x02");
    assert_eq!(fixture.schedule.delay(&mut properties, 20, "T", 0), Some(1));
    assert_eq!(properties.as_bytes(), b"DELAY\x012\x02REAL_TOPIC\x01T\x02REAL_QID\x010\x02");
    for level in [0, -1] {
        assert_eq!(fixture.schedule.delay(&mut properties, level, "T", 0), None);
    }
}

#[test]
fn a_level_keeps_its_order_and_does_not_hold_up_others() {
    let fixture = Fixture::new("1s 2s");
    let many: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    let stored = many.iter().map(|body| fixture.send(1, body)).max().unwrap();
    let stored = stored.max(fixture.send(2, "other"));
    assert_eq!(fixture.turn(stored + 2000), stored + 2000, "there is more");
    assert!(fixture.delivered().contains(&"other".to_owned()), "after one turn of each level");
    assert_eq!(fixture.deliver(stored + 2000), NEVER);
    let delivered: Vec<String> = fixture.delivered().into_iter().filter(|body| body != "other").collect();
    assert_eq!(delivered, many);
}

/// What `enableScheduleAsyncDeliver` is for.
#[test]
fn a_level_whose_messages_are_refused_keeps_its_order_and_holds_up_no_other() {
    let fixture = Fixture::new("1s 2s");
    let stored = ["busy", "after"].map(|body| fixture.send(1, body)).into_iter().max().unwrap();
    let stored = stored.max(fixture.send(2, "other"));
    let (taken, is_busy) = (RefCell::new(Vec::new()), Cell::new(true));
    let elsewhere = |draft: &Draft<'_>| {
        let body = String::from_utf8(draft.body.to_vec()).unwrap();
        if body == "busy" && is_busy.get() {
            return Err(NotTaken::Nobody(draft.topic.to_owned()));
        }
        taken.borrow_mut().push(body);
        Ok(())
    };
    let turn = |now| {
        let delivered = |_: &str, _, _| {};
        let elsewhere: Option<&Elsewhere<'_>> = Some(&elsewhere);
        fixture.schedule.deliver(&mut Delivery { store: &fixture.store, version_step: 1, delivered, elsewhere }, now)
    };
    turn(stored + 2000);
    assert_eq!(*taken.borrow(), ["other"]);
    let stored = stored.max(fixture.send(2, "another"));
    turn(stored + 4000);
    assert_eq!(*taken.borrow(), ["other", "another"]);
    assert_eq!(fixture.schedule.offsets.all(), BTreeMap::from([(2, 2)]));
    is_busy.set(false);
    assert_eq!(turn(stored + 4100), stored + 4100, "there is more");
    turn(stored + 4100);
    assert_eq!(*taken.borrow(), ["other", "another", "busy", "after"]);
    assert_eq!(fixture.schedule.offsets.all(), BTreeMap::from([(1, 2), (2, 2)]));
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let fixture = Fixture::new("1s");
    let stored = fixture.send(1, "before");
    fixture.deliver(stored + 1000);
    let stored = fixture.send(1, "after");
    let fixture = fixture.reopen("1s");
    assert_eq!(fixture.deliver(stored + 999), stored + 1000);
    fixture.deliver(stored + 1000);
    assert_eq!(fixture.delivered(), ["before", "after"]);
    let text = String::from_utf8(std::fs::read(offsets_file(fixture.folder.path()).path()).unwrap()).unwrap();
    assert!(text.contains("\"offsetTable\":{\n\t\t1:1\n\t}"), "{text}");
}

#[test]
fn a_table_that_became_shorter_delivers_what_waits() {
    let fixture = Fixture::new("1s 1h 2h");
    let stored = fixture.send(2, "shorter").max(fixture.send(3, "gone"));
    let fixture = fixture.reopen("1s 10s");
    // What the level allows now is less than what was asked for then.
    fixture.deliver(stored);
    assert_eq!(fixture.delivered(), ["shorter"]);
    fixture.deliver(stored + 7_200_000);
    assert_eq!(fixture.delivered(), ["shorter", "gone"]);
}

#[test]
fn offsets_that_the_queue_does_not_have_are_corrected() {
    let folder = tempfile::tempdir().unwrap();
    offsets_file(folder.path()).write(br#"{"offsetTable":{1:99}}"#).unwrap();
    let fixture = Fixture::open(folder, "1s");
    let stored = fixture.send(1, "lost sight of");
    fixture.deliver(stored);
    assert_eq!(fixture.schedule.offsets.all(), BTreeMap::from([(1, 1)]));
    let stored = fixture.send(1, "next");
    fixture.deliver(stored + 1000);
    assert_eq!(fixture.delivered(), ["next"]);
}

#[test]
fn a_store_that_refuses_is_asked_again() {
    let fixture = Fixture::new("1s");
    let stored = fixture.send(1, "m");
    fixture.store.close().unwrap();
    assert_eq!(fixture.turn(stored + 1000), stored + 1100);
    assert_eq!(fixture.turn(stored + 1050), stored + 1100, "not before its time");
    assert!(fixture.schedule.offsets.all().is_empty());
    let fixture = fixture.reopen("1s");
    fixture.deliver(stored + 1000);
    assert_eq!(fixture.delivered(), ["m"]);
}

#[test]
fn messages_that_nobody_can_deliver_are_passed_over() {
    let fixture = Fixture::new("1s");
    fixture.append(names::SCHEDULE_TOPIC, 0, b"DELAY\x011\x02", "for no topic");
    fixture.append(names::SCHEDULE_TOPIC, 0, b"DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x01x\x02", "for no queue");
    let half = b"DELAY\x011\x02REAL_TOPIC\x01RMQ_SYS_TRANS_HALF_TOPIC\x02REAL_QID\x010\x02";
    fixture.append(names::SCHEDULE_TOPIC, 0, half, "for the half topic");
    let stored = fixture.send(1, "m");
    fixture.deliver(stored + 1000);
    assert_eq!(fixture.delivered(), ["m"]);
}

#[test]
fn nothing_is_delivered_after_the_stop() {
    let fixture = Fixture::new("1s");
    let stored = fixture.send(1, "m");
    fixture.schedule.stop();
    assert_eq!(fixture.turn(stored + 1000), NEVER);
    assert!(fixture.delivered().is_empty());
}
