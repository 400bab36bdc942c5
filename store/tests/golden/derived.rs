//! What is made from the log alone: the reference's queue and index files, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use apogee_store::queue::ExtensionUnit;
use apogee_store::read::RecordFields;
use apogee_store::{BitMaps, GetRequest, GetStatus, Hooks, MessageFilter, QueueKind, Store};
use serde_json::Value;

use crate::expectation::{Golden, number, text};
use crate::served::config;

/// Where the log begins later, the reference's queues have more, and the bit maps of 4.9.4 are not known.
#[test]
fn queues_made_again_are_equal() {
    let known = |name: &&&str| {
        !name.starts_with("crashed-no-")
            && !name.starts_with("expired")
            && !["first-files-gone", "filter-4x"].contains(name)
    };
    for name in crate::STORES.iter().filter(known) {
        let golden = Golden::unpack(name);
        let before = queues(&golden);
        for directory in QUEUES {
            let _ = fs::remove_dir_all(golden.root().join(directory));
        }
        open(&golden).close().unwrap();
        same(name, &before, &queues(&golden));
    }
}

/// The index of 4.9.4 has no entries for tags.
#[test]
fn index_files_made_again_are_equal() {
    let known =
        |name: &&&str| !name.ends_with("-4x") && !["crashed-no-derived", "expired", "first-files-gone"].contains(name);
    for name in crate::STORES.iter().filter(known) {
        let golden = Golden::unpack(name);
        // a file's name is a time
        let index = || {
            let files = golden.files().into_iter();
            files.filter(|(path, _)| path.starts_with(golden.root().join("index"))).map(|(_, bytes)| bytes)
        };
        let before: Vec<_> = index().collect();
        fs::remove_dir_all(golden.root().join("index")).unwrap();
        open(&golden).close().unwrap();
        let after: Vec<_> = index().collect();
        assert_eq!(before.len(), after.len(), "{name}");
        for (n, (before, after)) in before.iter().zip(&after).enumerate() {
            assert!(before == after, "{name}: file {n} differs");
        }
    }
}

/// As after a kill that came between the last flush and the next message.
#[test]
fn an_unclean_stop_alone_changes_nothing() {
    for name in ["batchcq", "filter"] {
        let golden = Golden::unpack(name);
        let before = queues(&golden);
        fs::write(golden.root().join("abort"), "1").unwrap();
        open(&golden).close().unwrap();
        same(name, &before, &queues(&golden));
    }
}

/// A kill lost the last units of queues and extensions, or left extensions longer than the queues.
#[test]
fn lost_units_are_made_again() {
    for name in ["batchcq", "filter"] {
        for directory in QUEUES {
            let golden = Golden::unpack(name);
            let before = queues(&golden);
            let of_kind = before.keys().filter(|path| path.starts_with(golden.root().join(directory)));
            // of each queue the last file
            let files: BTreeMap<_, _> = of_kind.map(|path| (path.parent().unwrap(), path)).collect();
            for last in files.values() {
                let size = if directory == "batchconsumequeue" { 46 } else { 20 };
                let file = fs::File::options().write(true).open(last).unwrap();
                let length = file.metadata().unwrap().len();
                // from a unit in its middle on, there are zeros
                file.set_len(size * 5).unwrap();
                file.set_len(length).unwrap();
            }
            fs::write(golden.root().join("abort"), "1").unwrap();
            let _ = fs::remove_file(golden.root().join("checkpoint"));
            open(&golden).close().unwrap();
            same(&format!("{name} {directory}"), &before, &queues(&golden));
        }
    }
}

#[test]
fn any_message_of_a_batch_leads_to_it() {
    let golden = Golden::unpack("batchcq");
    let store = open(&golden);
    for expected in golden.list("messages") {
        let (topic, queue_id) = (text(expected, "topic"), number(expected, "queueId") as i32);
        let count = expected["properties"]["INNER_NUM"].as_str().map_or(1, |count| count.parse().unwrap());
        let base = number(expected, "queueOffset");
        for offset in base..base + count {
            let request = GetRequest { topic, queue_id, offset, max_count: 1, max_bytes: 1 };
            let found = store.get(&request, None).unwrap();
            assert_eq!((found.status, found.count as i64), (GetStatus::Found, count), "{topic} {queue_id} {offset}");
            assert_eq!(found.next_offset, base + count);
            let record = RecordFields::of(&found.runs[0]).unwrap();
            assert_eq!((record.queue_offset, found.runs.len()), (base, 1));
            assert_eq!(store.store_time(topic, queue_id, offset).unwrap(), number(expected, "storeTimestamp"));
        }
    }
}

/// What filters see of a message is what the reference stored, whoever made the extension.
#[test]
fn filters_get_what_the_extension_has() {
    struct Expects<'a>(Vec<&'a Value>, std::cell::Cell<usize>);
    impl MessageFilter for Expects<'_> {
        fn matches_queue(&self, tags_code: i64, extension: Option<&ExtensionUnit>) -> bool {
            let unit = self.0[self.1.get()];
            let content: Value = serde_json::from_str(unit[3].as_str().unwrap()).unwrap();
            let extension = extension.unwrap();
            assert_eq!(tags_code, number(&content, "tagsCode"));
            assert_eq!(extension.store_timestamp, number(&content, "msgStoreTime"));
            if let Some(bits) = bits(&content) {
                assert_eq!(extension.bit_map, bits);
            }
            self.1.set(self.1.get() + 1);
            true
        }
    }
    for name in ["filter", "filter-4x"] {
        let golden = Golden::unpack(name);
        let store = open(&golden);
        for queue in golden.list("consumeQueue").iter().filter(|queue| text(queue, "topic") == "GoldenFilter") {
            let queue_id = number(queue, "queueId") as i32;
            let mut offset = number(queue, "firstIndex");
            let filter = Expects(queue["units"].as_array().unwrap().iter().collect(), 0.into());
            while offset < store.max_offset("GoldenFilter", queue_id) {
                filter.1.set(offset as usize);
                let request = GetRequest { topic: "GoldenFilter", queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
                let found = store.get(&request, Some(&filter)).unwrap();
                assert_eq!(found.status, GetStatus::Found, "{name} {queue_id} {offset}");
                offset = found.next_offset;
            }
            assert_eq!(offset as usize, filter.0.len());
        }
    }
}

/// The files of all queues and their extensions.
fn queues(golden: &Golden) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = golden.files();
    files.retain(|path, _| QUEUES.iter().any(|directory| path.starts_with(golden.root().join(directory))));
    files
}

fn same(name: &str, before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{name}");
    for (path, bytes) in before {
        assert!(after.get(path) == Some(bytes), "{name}: {} differs", path.display());
    }
}

fn open(golden: &Golden) -> Arc<Store> {
    let of_topic = |topic: &str| Some(if topic == "GoldenBcq" { QueueKind::Batch } else { QueueKind::Simple });
    let hooks =
        Hooks { queue_kinds: Arc::new(of_topic), bit_maps: Some(Arc::new(KnownBits::of(golden))), ..Hooks::default() };
    Store::open(&config(golden), hooks).unwrap()
}

/// The bit maps that the reference made, by the record's place.
struct KnownBits(BTreeMap<i64, Vec<u8>>);

impl KnownBits {
    fn of(golden: &Golden) -> Self {
        let units = golden.list("consumeQueue").iter().flat_map(|queue| queue["units"].as_array().unwrap());
        let known = units.filter_map(|unit| {
            let content = serde_json::from_str::<Value>(unit.get(3)?.as_str()?).ok()?;
            Some((unit[0].as_i64()?, bits(&content)?))
        });
        Self(known.collect())
    }
}

impl BitMaps for KnownBits {
    fn bit_map(&self, record: &RecordFields<'_>) -> Option<Vec<u8>> {
        self.0.get(&record.physical_offset).cloned()
    }
}

/// A bit map as 5.5.0 shows it; 4.9.4 has another form.
fn bits(content: &Value) -> Option<Vec<u8>> {
    content["filterBitMap"].as_array().map(|bytes| bytes.iter().map(|byte| byte.as_i64().unwrap() as u8).collect())
}

const QUEUES: [&str; 3] = ["consumequeue", "batchconsumequeue", "consumequeue_ext"];
