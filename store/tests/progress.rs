//! A long start tells how far each part of it has come.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;
use apogee_store::{Hooks, IndexKind, KeyQuery, Store};
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What was logged with an estimate: the part, and the places that it had come to.
type Told = Arc<Mutex<BTreeMap<String, Vec<Place>>>>;

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: i64,
    end: i64,
    percent: i64,
    seconds_left: f64,
}

/// Keeps what is logged with an estimate.
struct Ear(Told);

impl Subscriber for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        if words.has_estimate {
            self.0.lock().entry(words.message).or_default().push(words.place);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Words {
    message: String,
    place: Place,
    has_estimate: bool,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        match field.name() {
            "at" => self.place.at = value,
            "end" => self.place.end = value,
            "percent" => self.place.percent = value,
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "seconds_left" {
            (self.place.seconds_left, self.has_estimate) = (value, true);
        }
    }
}

const TOPICS: usize = 20;
const COUNT: usize = 400;

fn open(root: &Path, tell_every: Duration) -> Arc<Store> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 16 * 1024,
        mapped_file_size_consume_queue: 20 * 10,
        max_hash_slot_num: 50,
        max_index_num: 100,
        ..MessageStoreConfig::default()
    };
    Store::open_telling(&config, Hooks::default(), tell_every).unwrap()
}

/// Whether everything can be found, by queue and by key; a query waits for the index.
fn is_whole(store: &Store, count: usize) {
    for topic in 0..TOPICS {
        assert_eq!(store.max_offset(&format!("T{topic}"), 0), (count / TOPICS) as i64);
    }
    let query = KeyQuery { topic: "T0", key: "k", kind: IndexKind::Key, max: count, begin: 0, end: i64::MAX };
    assert_eq!(store.query_by_key(&query).unwrap().records.len(), count / TOPICS);
}

#[test]
fn every_part_tells_how_far_it_has_come_and_how_long_it_will_take() {
    let told = Told::default();
    tracing::subscriber::set_global_default(Ear(Arc::clone(&told))).unwrap();
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path(), Duration::MAX);
    for n in 0..COUNT {
        let topic = format!("T{}", n % TOPICS);
        let draft =
            Draft { properties: b"KEYS\x01k\x02", ..Draft::new(&topic, 0, ([127, 0, 0, 1], 1).into(), &[7; 300]) };
        store.append(&draft).unwrap();
    }
    store.close().unwrap();
    drop(store);
    assert!(told.lock().is_empty());

    // Queues that are there are read; those that are not, and the index, are made.
    let parts = |removed: &[&str]| {
        for name in removed {
            fs::remove_dir_all(root.path().join(name)).unwrap();
        }
        // without a clean stop; the index is completed all the same
        drop(open(root.path(), Duration::ZERO));
        is_whole(&open(root.path(), Duration::MAX), COUNT);
        let told = std::mem::take(&mut *told.lock());
        for (part, places) in &told {
            for place in places {
                assert!(place.end > 0 && (0..=100).contains(&place.percent), "{part} {place:?}");
                assert!(place.seconds_left >= 0.0 && place.seconds_left < 3600.0, "{part} {place:?}");
            }
            let last = places.iter().max_by_key(|place| place.at).unwrap();
            assert!(places.len() > 1 || last.percent == 100, "{part} {places:?}");
        }
        told.into_keys().collect::<BTreeSet<_>>()
    };
    let (log, queues, units, index) = (
        "checking the commit log",
        "reading consume queues",
        "putting messages into consume queues",
        "indexing the commit log",
    );
    let has = |told: &BTreeSet<String>, parts: &[&str]| parts.iter().all(|part| told.contains(*part));
    let clean = parts(&[]);
    assert!(has(&clean, &[log, queues]), "{clean:?}");
    let unclean = parts(&[]);
    assert!(has(&unclean, &[log, queues]), "{unclean:?}");
    let rebuilt = parts(&["consumequeue", "index"]);
    assert!(has(&rebuilt, &[log, units, index]), "{rebuilt:?}");
}
