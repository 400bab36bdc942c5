//! A store from its first message to its next start.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Draft, entries};
use apogee_store::{AppendError, Appended, Arrival, ArrivalListener, GetRequest, GetStatus, Store};

const FILE: i32 = 64 * 1024;

#[derive(Default)]
struct Arrivals(AtomicI64);

impl ArrivalListener for Arrivals {
    fn arrived(&self, arrival: &Arrival<'_>) {
        self.0.fetch_max(arrival.max_offset, Ordering::AcqRel);
    }
}

fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: FILE,
        mapped_file_size_consume_queue: 20 * 100,
        max_message_size: 32 * 1024,
        ..MessageStoreConfig::default()
    }
}

fn open(root: &Path) -> Arc<Store> {
    Store::open(&config(root), Arc::new(Arrivals::default())).unwrap()
}

fn append(store: &Store, queue_id: i32, body: &[u8]) -> Result<Appended, AppendError> {
    append_as(store, queue_id, 0, body)
}

fn append_as(store: &Store, queue_id: i32, sys_flag: i32, body: &[u8]) -> Result<Appended, AppendError> {
    store.append(&Draft {
        flag: 1,
        sys_flag,
        born_timestamp: 7,
        properties: b"TAGS\x01a\x02KEYS\x01k\x02",
        ..Draft::new("T", queue_id, ([127, 0, 0, 1], 10_911).into(), body)
    })
}

/// All bodies of a queue, once everything in the log is dispatched.
fn bodies(store: &Store, queue_id: i32) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while store.dispatch_behind_bytes() > 0 {
        std::thread::yield_now();
    }
    loop {
        let offset = bodies.len() as i64;
        let request = GetRequest { topic: "T", queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        if found.status != GetStatus::Found {
            return bodies;
        }
        for run in &found.runs {
            for entry in entries(run) {
                let record = entry.unwrap();
                assert_eq!(record.queue_offset, bodies.len() as i64);
                record.verify(false).unwrap();
                bodies.push(record.body.to_vec());
            }
        }
    }
}

fn body(number: usize) -> Vec<u8> {
    format!("{number:0width$}", width = 100 + number % 3000).into_bytes()
}

#[test]
fn a_record_is_found_at_once_by_its_place_and_by_no_other() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    // more files than stay mapped
    let stored: Vec<_> = (0..20).map(|number| append(&store, 0, &vec![number; 30 * 1024]).unwrap()).collect();
    for stored in stored {
        for offset in [-1, 0, 1].map(|by| stored.physical_offset + by).into_iter().chain([stored.end()]) {
            let expected = store.record_at(offset).unwrap().map(|record| record.to_vec());
            assert!(expected.is_some() || offset != stored.physical_offset);
            let read = store.read_record_at_once(offset, |record| record.map(<[u8]>::to_vec)).unwrap();
            assert_eq!(read, Some(expected), "{offset}");
        }
    }
}

#[test]
fn messages_survive_clean_and_unclean_ends_over_many_files() {
    let root = tempfile::tempdir().unwrap();
    let mut expected: [Vec<Vec<u8>>; 2] = Default::default();
    for round in 0..6 {
        let store = open(root.path());
        for (queue, expected) in expected.iter().enumerate() {
            assert_eq!(bodies(&store, queue as i32), *expected, "round {round}");
        }
        for number in 0..150 {
            let queue = number % 2;
            let appended = append(&store, queue as i32, &body(round * 150 + number)).unwrap();
            assert_eq!(appended.queue_offset, expected[queue].len() as i64);
            expected[queue].push(body(round * 150 + number));
        }
        if round % 2 == 0 {
            store.close().unwrap();
            assert!(!root.path().join("abort").exists());
        }
        drop(store);
    }
    let files = std::fs::read_dir(root.path().join("commitlog")).unwrap().count();
    assert!(files >= 8, "{files} files");
}

#[test]
fn a_torn_tail_is_cut_off_and_written_over() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    append(&store, 0, b"first").unwrap();
    let second = append(&store, 0, &[b'x'; 5000]).unwrap();
    drop(store);
    let log = root.path().join("commitlog/00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    // The last page of the second record never reached the disk.
    let torn = second.physical_offset as usize + 4000..second.end() as usize;
    bytes[torn].fill(0);
    std::fs::write(&log, bytes).unwrap();
    let store = open(root.path());
    assert_eq!(bodies(&store, 0), [b"first".to_vec()]);
    let again = append(&store, 0, b"second").unwrap();
    assert_eq!((again.physical_offset, again.queue_offset), (second.physical_offset, 1));
    assert_eq!(bodies(&store, 0), [b"first".to_vec(), b"second".to_vec()]);
}

#[tokio::test]
async fn flushed_means_synced() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let appended = append(&store, 0, b"a").unwrap();
    store.flushed(appended.end()).await.unwrap();
    assert!(store.flushed_offset() >= appended.end());
}

#[test]
fn a_locked_store_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let _store = open(root.path());
    let error = Store::open(&config(root.path()), Arc::new(Arrivals::default())).err().unwrap();
    assert!(error.to_string().ends_with("the store is locked by another process"), "{error}");
}

#[test]
fn messages_that_no_record_can_hold_are_illegal() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    assert!(matches!(append(&store, 0, &vec![0; 32 * 1024 + 1]), Err(AppendError::MessageTooLarge { .. })));
    assert!(matches!(append(&store, -1, b"a"), Err(AppendError::Queue { .. })));
    assert_eq!(append(&store, 0, &vec![0; 32 * 1024]).unwrap().physical_offset, 0);
    store.close().unwrap();
    assert_eq!(append(&store, 0, b"a"), Err(AppendError::Shutdown));
}

#[test]
fn what_is_derived_is_made_again() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let expected: Vec<_> = (0..200).map(body).collect();
    for body in &expected {
        append(&store, 0, body).unwrap();
    }
    store.close().unwrap();
    drop(store);
    for clean in [true, false, false] {
        std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
        if !clean {
            std::fs::write(root.path().join("abort"), "1").unwrap();
            std::fs::remove_file(root.path().join("checkpoint")).unwrap();
        }
        let store = open(root.path());
        assert_eq!(bodies(&store, 0), expected);
        store.close().unwrap();
    }
}

#[test]
fn damage_costs_the_damaged_message_only() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let stored: Vec<_> = (0..100).map(|number| append(&store, 0, &body(number)).unwrap()).collect();
    store.close().unwrap();
    drop(store);
    let log = root.path().join("commitlog/00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[stored[5].physical_offset as usize + 95] ^= 1;
    bytes[stored[9].physical_offset as usize..][..8].fill(0xFF);
    std::fs::write(&log, bytes).unwrap();
    // only the last record stands behind this one
    let before_last = &stored[98];
    let log =
        root.path().join(format!("commitlog/{:020}", before_last.physical_offset / i64::from(FILE) * i64::from(FILE)));
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[(before_last.physical_offset % i64::from(FILE)) as usize + 95] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    std::fs::write(root.path().join("abort"), "1").unwrap();
    std::fs::remove_file(root.path().join("checkpoint")).unwrap();
    std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
    let store = open(root.path());
    for (number, stored) in stored.iter().enumerate() {
        let request =
            GetRequest { topic: "T", queue_id: 0, offset: stored.queue_offset, max_count: 1, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        if [5, 9, 98].contains(&number) {
            // nothing, or the next one: never the damaged record
            for record in found.runs.iter().flat_map(|run| entries(run)) {
                assert!(record.unwrap().queue_offset > stored.queue_offset);
            }
        } else {
            let record = entries(&found.runs[0]).next().unwrap().unwrap();
            assert_eq!((record.queue_offset, record.body), (stored.queue_offset, &body(number)[..]));
        }
    }
    assert_eq!(append(&store, 0, b"next").unwrap().queue_offset, 100);
}

/// With a checksum over the whole record (enabledAppendPropCRC, forceVerifyPropCRC) any byte of it tells.
#[test]
fn a_record_with_a_checksum_of_its_own_is_served_whole_or_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let open = || {
        let config =
            MessageStoreConfig { enabled_append_prop_crc: true, force_verify_prop_crc: true, ..config(root.path()) };
        Store::open(&config, Arc::new(Arrivals::default())).unwrap()
    };
    let store = open();
    let stored: Vec<_> = (0..30).map(|number| append(&store, 0, &[number; 20]).unwrap()).collect();
    store.close().unwrap();
    drop(store);
    let log = root.path().join("commitlog/00000000000000000000");
    let whole = std::fs::read(&log).unwrap();
    let (at, size) = (stored[3].physical_offset as usize, stored[3].size);
    // queue, sysFlag, born host, store time, topic, properties, the checksum itself
    for byte in [15, 39, 50, 63, size - 36, size - 28, size - 5] {
        let mut damaged = whole.clone();
        damaged[at + byte] ^= 4;
        std::fs::write(&log, damaged).unwrap();
        std::fs::write(root.path().join("abort"), "1").unwrap();
        std::fs::remove_file(root.path().join("checkpoint")).unwrap();
        std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
        let store = open();
        let request = GetRequest { topic: "T", queue_id: 0, offset: 0, max_count: 32, max_bytes: 1 << 20 };
        let mut found = Vec::new();
        for offset in [0, 4] {
            let result = store.get(&GetRequest { offset, ..request }, None).unwrap();
            found.extend(result.runs.iter().flat_map(|run| entries(run)).map(|record| record.unwrap().queue_offset));
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, (0..30).filter(|offset| *offset != 3).collect::<Vec<_>>(), "byte {byte}");
        store.close().unwrap();
    }
}

/// The checkpoint says that all units are on disk, but the end of a queue file is lost.
#[test]
fn units_that_are_missing_are_made_again_from_the_log() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let expected: Vec<_> = (0..180).map(body).collect();
    for body in &expected {
        append(&store, 1, b"other").unwrap();
        append(&store, 0, body).unwrap();
    }
    store.close().unwrap();
    drop(store);
    for lost_from in [150, 110] {
        let file = root.path().join("consumequeue/T/0/00000000000000002000");
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[(lost_from - 100) * 20..].fill(0);
        std::fs::write(&file, bytes).unwrap();
        std::fs::write(root.path().join("abort"), "1").unwrap();
        let store = open(root.path());
        assert!(bodies(&store, 0) == expected, "{lost_from}");
        store.close().unwrap();
    }
}

/// The folder was removed to have the queues built anew, and the start that did so was cut off.
#[test]
fn a_rebuild_that_is_cut_off_begins_again() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let expected: Vec<_> = (0..50).map(body).collect();
    for body in &expected {
        append(&store, 0, body).unwrap();
    }
    store.close().unwrap();
    drop(store);
    let queues = root.path().join("consumequeue");
    std::fs::remove_dir_all(&queues).unwrap();
    // no folder is there, and none can be made
    std::os::unix::fs::symlink("nowhere/at/all", &queues).unwrap();
    assert!(Store::open(&config(root.path()), Arc::new(Arrivals::default())).is_err());
    std::fs::remove_file(&queues).unwrap();
    std::fs::create_dir(&queues).unwrap();
    assert!(root.path().join("abort").exists());
    assert!(bodies(&open(root.path()), 0) == expected);
}

/// Queues or index could not be written: the next start must look for what is missing.
#[test]
fn a_close_that_fails_is_not_a_clean_one() {
    for in_the_way in ["consumequeue/T", "index"] {
        let root = tempfile::tempdir().unwrap();
        let store = open(root.path());
        std::fs::write(root.path().join(in_the_way), "").unwrap();
        append(&store, 0, b"a").unwrap();
        assert_eq!(bodies(&store, 0), [b"a".to_vec()]);
        assert!(store.close().is_err(), "{in_the_way}");
        drop(store);
        assert!(root.path().join("abort").exists(), "{in_the_way}");
        std::fs::remove_file(root.path().join(in_the_way)).unwrap();
        let store = open(root.path());
        assert_eq!(bodies(&store, 0), [b"a".to_vec()]);
        store.close().unwrap();
        assert!(root.path().join("index").read_dir().unwrap().next().is_some());
    }
}

/// The start finds the damage, and the queue has a unit for the record.
#[test]
fn a_record_known_as_damaged_is_not_served() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let stored: Vec<_> = (0..5).map(|number| append(&store, 0, &body(number)).unwrap()).collect();
    store.close().unwrap();
    drop(store);
    let log = root.path().join("commitlog/00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[stored[2].physical_offset as usize + 95] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    std::fs::remove_file(root.path().join("checkpoint")).unwrap();
    let store = open(root.path());
    assert_eq!(store.max_offset("T", 0), 5);
    for offset in 0..5 {
        let request = GetRequest { topic: "T", queue_id: 0, offset, max_count: 32, max_bytes: 1 << 20 };
        let found = store.get(&request, None).unwrap();
        let offsets: Vec<_> =
            found.runs.iter().flat_map(|run| entries(run)).map(|record| record.unwrap().queue_offset).collect();
        assert_eq!(offsets, (offset..5).filter(|offset| *offset != 2).collect::<Vec<_>>());
    }
    for (number, stored) in stored.iter().enumerate() {
        assert_eq!(store.record_at(stored.physical_offset).unwrap().is_some(), number != 2);
    }
}

#[test]
fn a_store_that_cannot_be_opened_stays_clean() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    append(&store, 0, b"a").unwrap();
    store.close().unwrap();
    drop(store);
    let refused =
        |config: MessageStoreConfig| Store::open(&config, Arc::new(Arrivals::default())).err().unwrap().to_string();
    let error = refused(MessageStoreConfig { mapped_file_size_commit_log: FILE * 2, ..config(root.path()) });
    assert!(error.contains("mappedFileSizeCommitLog"), "{error}");
    let error = refused(MessageStoreConfig { mapped_file_size_consume_queue: 381, ..config(root.path()) });
    assert!(error.contains("mappedFileSizeConsumeQueue"), "{error}");
    assert!(!root.path().join("abort").exists());
    assert_eq!(bodies(&open(root.path()), 0), [b"a".to_vec()]);
}

/// A send with the transaction bits of a half message or a rollback has no unit in its queue: had it an offset, the
/// messages behind it would never be delivered.
#[test]
fn records_that_are_in_no_queue_leave_no_hole() {
    let root = tempfile::tempdir().unwrap();
    let expected: Vec<Vec<u8>> = [0, 1, 2, 4, 6, 7].iter().map(|n| format!("m{n}").into_bytes()).collect();
    let store = open(root.path());
    for (number, sys_flag) in [0, 0, 0, 0x4, 0, 0xC, 0, 0].into_iter().enumerate() {
        let appended = append_as(&store, 0, sys_flag, format!("m{number}").as_bytes()).unwrap();
        let offsets = [0, 1, 2, 0, 3, 0, 4, 5];
        assert_eq!(appended.queue_offset, offsets[number], "{number}");
    }
    assert_eq!(bodies(&store, 0), expected);
    assert_eq!(store.max_offset("T", 0), 6);
    drop(store);
    let store = open(root.path());
    assert_eq!(bodies(&store, 0), expected);
    assert_eq!(append(&store, 0, b"next").unwrap().queue_offset, 6);
}

/// Files of queues are never mapped, whatever is done with them; how many stay open is bounded (`queue::descriptors`).
#[test]
fn queues_are_no_mapped_files() {
    const QUEUES: i32 = 30;
    let root = tempfile::tempdir().unwrap();
    let send_to_all = |store: &Store| {
        for queue_id in 0..QUEUES {
            append(store, queue_id, b"x").unwrap();
        }
    };
    let store = open(root.path());
    send_to_all(&store);
    store.close().unwrap();
    drop(store);
    let store = open(root.path());
    send_to_all(&store);
    for queue_id in 0..QUEUES {
        assert_eq!(bodies(&store, queue_id), [b"x", b"x"]);
        assert!(root.path().join(format!("consumequeue/T/{queue_id}")).exists());
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of_store: Vec<_> = maps.lines().filter(|line| line.contains(root.path().to_str().unwrap())).collect();
    assert!(of_store.iter().all(|line| !line.contains("/consumequeue/")) && of_store.len() < 20, "{of_store:?}");
    store.close().unwrap();
}
