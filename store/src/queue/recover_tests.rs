use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::queue::Appended;

const FILE: u64 = 200;

/// A log of records of 100 bytes, all of queue `t` 0, in order.
struct EvenLog;

impl RecordAt for EvenLog {
    fn matches(&self, _: &Queue, offset: i64, unit: Unit) -> bool {
        unit == good(offset)
    }
}

fn good(n: i64) -> Unit {
    Unit { physical_offset: n * 100, size: 100, tags_code: 0 }
}

fn log(records: i64, clean: bool) -> Loaded<'static> {
    let end = records * 100;
    Loaded {
        tell_every: Duration::ZERO,
        log_min: 0,
        log_end: end,
        clean,
        ours: end,
        checked_from: end,
        checked_behind: 0,
        dispatched: 0,
        known_ends: &[],
        same_topics: true,
        records: &EvenLog,
        before_repair: &|| Ok(()),
    }
}

fn written(directory: &Path, units: i64) {
    let table = QueueTable::new(directory.to_owned(), FILE, 4);
    let queue = table.get_or_create("t", 0).unwrap();
    for n in 0..units {
        queue.put(n, good(n)).unwrap();
    }
    table.flush(0).unwrap();
}

/// A power loss brings back units that a start had cut off, and the records that would show it have expired.
#[test]
fn units_of_a_former_end_whose_records_expired_hold_no_place() {
    for (clean, expected) in [(false, Appended::Added), (true, Appended::Doubtful)] {
        let directory = TempDir::new().unwrap();
        written(directory.path(), 29);
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        table.recover(Loaded { log_min: 3000, checked_from: 3000, ..log(50, clean) }).unwrap();
        let queue = table.get_or_create("t", 0).unwrap();
        assert_eq!((queue.min_offset(), queue.max_offset()), (29, 29));
        let unit = |n: i64| Unit { physical_offset: 3000 + n * 100, ..good(0) };
        let entry = |offset| Entry { offset, count: 1, unit: unit(offset), store_timestamp: 0 };
        assert_eq!(queue.append(entry(8), &[]).unwrap(), expected);
        if !clean {
            assert_eq!(queue.append(entry(9), &[]).unwrap(), Appended::Added);
            assert_eq!((queue.min_offset(), queue.max_offset()), (8, 10));
            table.flush(0).unwrap();
            let found: Vec<_> = queue.iter_from(8).map(|entry| entry.unwrap().unit).collect();
            assert_eq!(found, [unit(8), unit(9)]);
            // from now on as ever
            assert_eq!(queue.append(Entry { offset: 3, ..entry(30) }, &[]).unwrap(), Appended::Doubtful);
        }
    }
}

fn reopen(directory: &Path, log: Loaded<'_>) -> (i64, i64, Option<i64>) {
    let table = QueueTable::new(directory.to_owned(), FILE, 4);
    let from = table.recover(log).unwrap();
    let queue = table.get_or_create("t", 0).unwrap();
    for entry in queue.iter_from(queue.min_offset()) {
        let Entry { offset, unit, .. } = entry.unwrap();
        assert_eq!(unit, good(offset));
    }
    let found = (queue.min_offset(), queue.max_offset(), from);
    // and goes on where it stands
    for n in queue.max_offset()..queue.max_offset() + 25 {
        queue.put(n, good(n)).unwrap();
    }
    found
}

fn path(directory: &TempDir, name: u64) -> std::path::PathBuf {
    directory.path().join(format!("t/0/{name:020}"))
}

#[test]
fn finds_the_end() {
    for units in [1, 9, 10, 11, 20, 45] {
        for clean in [true, false] {
            let directory = TempDir::new().unwrap();
            written(directory.path(), units);
            let from = clean.then_some(units * 100);
            assert_eq!(reopen(directory.path(), log(units, clean)), (0, units, from), "{units} {clean}");
        }
    }
}

#[test]
fn drops_units_behind_the_log() {
    for clean in [true, false] {
        for records in [0, 7, 30, 44] {
            let directory = TempDir::new().unwrap();
            written(directory.path(), 45);
            assert_eq!(reopen(directory.path(), log(records, clean)).1, records, "{clean}");
            // the cut part never comes back
            assert_eq!(reopen(directory.path(), log(45, clean)).1, records, "{clean}");
        }
    }
}

// apache/rocketmq#9728, #10108: an empty last file kept the broker from starting.
#[test]
fn report_9728_an_empty_last_file_is_dropped() {
    for (length, clean) in [(0, true), (0, false), (FILE, true), (FILE, false)] {
        let directory = TempDir::new().unwrap();
        written(directory.path(), 20);
        fs::File::create(path(&directory, 400)).unwrap().set_len(length).unwrap();
        assert_eq!(reopen(directory.path(), log(15, clean)).1, 15);
    }
}

#[test]
fn a_hole_or_a_short_file_is_made_again() {
    let directory = TempDir::new().unwrap();
    written(directory.path(), 45);
    fs::remove_file(path(&directory, 200)).unwrap();
    assert_eq!(reopen(directory.path(), log(45, true)), (0, 10, Some(1000)));
    assert!(!path(&directory, 400).exists());

    let directory = TempDir::new().unwrap();
    written(directory.path(), 45);
    let file = fs::OpenOptions::new().write(true).open(path(&directory, 800)).unwrap();
    file.set_len(47).unwrap();
    assert_eq!(reopen(directory.path(), log(45, true)), (0, 42, Some(4200)));
}

/// Recovery that is cut off must come to the same when it is done again.
#[test]
fn nothing_is_removed_before_it_is_told() {
    for clean in [true, false] {
        let directory = TempDir::new().unwrap();
        written(directory.path(), 45);
        fs::remove_file(path(&directory, 200)).unwrap();
        let refuse = || Err(io::Error::other("not now"));
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        assert!(table.recover(Loaded { before_repair: &refuse, ..log(45, clean) }).is_err());
        assert!(path(&directory, 400).exists() && path(&directory, 800).exists());
        let told = std::sync::atomic::AtomicUsize::new(0);
        let tell = || {
            told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        assert_eq!(table.recover(Loaded { before_repair: &tell, ..log(45, clean) }).unwrap(), Some(1000));
        assert_eq!(told.into_inner(), 1);
    }
}

/// After a power loss a queue may be ahead of the log, and may hold units of records that the log lost.
#[test]
fn what_was_checked_is_made_again() {
    let directory = TempDir::new().unwrap();
    written(directory.path(), 45);
    let from = Loaded { checked_from: 1700, ..log(45, false) };
    assert_eq!(reopen(directory.path(), from), (0, 17, None));
    assert!(!path(&directory, 400).exists());
}

/// The record behind a gap is cut: the blanks before it must not count for records, nor hide those before them.
#[test]
fn blanks_go_with_the_record_they_stand_before() {
    for clean in [true, false] {
        let directory = TempDir::new().unwrap();
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        let queue = table.get_or_create("t", 0).unwrap();
        for n in (0..7).chain(25..27) {
            queue.put(n, good(n)).unwrap();
        }
        table.flush(0).unwrap();
        assert_eq!(reopen(directory.path(), log(20, clean)), (0, 7, clean.then_some(700)));
    }
}

/// A page of units that never came to disk, with a later one that did.
#[test]
fn a_hole_within_the_units_is_made_again() {
    let directory = TempDir::new().unwrap();
    written(directory.path(), 45);
    let file = fs::OpenOptions::new().write(true).open(path(&directory, 600)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 100], 40).unwrap();
    assert_eq!(reopen(directory.path(), log(45, false)), (0, 32, Some(3200)));
}

#[test]
fn the_wrong_file_size_is_an_error() {
    let directory = TempDir::new().unwrap();
    written(directory.path(), 25);
    for size in [100, 180, 381] {
        let table = QueueTable::new(directory.path().to_owned(), size, 4);
        let error = table.recover(log(25, true)).unwrap_err();
        assert!(error.to_string().contains("mappedFileSizeConsumeQueue"), "{error}");
    }
}

#[test]
fn nothing_there_starts_at_the_log_minimum() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().join("none"), FILE, 4);
    let from = table.recover(Loaded { log_min: 300, ..log(5, true) }).unwrap();
    assert_eq!(from, Some(300));
}

/// A power loss leaves the second file of a queue, without a unit, and not the first one.
#[test]
fn units_before_the_file_that_is_left_come_back() {
    let directory = TempDir::new().unwrap();
    written(directory.path(), 12);
    fs::remove_file(path(&directory, 0)).unwrap();
    let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
    table.recover(Loaded { checked_from: 0, ..log(12, false) }).unwrap();
    let queue = table.get_or_create("t", 0).unwrap();
    for n in 8..12 {
        assert_eq!(queue.put(n, good(n)).unwrap(), Appended::Added, "{n}");
    }
    table.flush(0).unwrap();
    assert_eq!((queue.min_offset(), queue.max_offset()), (8, 12));
    let found: Vec<_> = queue.iter_from(8).map(|entry| entry.unwrap().unit).collect();
    assert_eq!(found, [8, 9, 10, 11].map(good));
}

/// The last process let a queue begin anew and ended before it had written that down.
#[test]
fn a_queue_that_began_anew_shows_that_its_topic_did() {
    struct AnyLog;
    impl RecordAt for AnyLog {
        fn matches(&self, _: &Queue, _: i64, _: Unit) -> bool {
            true
        }
    }
    let end = |max| KnownEnd { topic: "t".to_owned(), queue_id: 0, max, max_physical: max * 100 };
    for (known, former) in [(20, Some(2000)), (3, None)] {
        let directory = TempDir::new().unwrap();
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        let queue = table.get_or_create("t", 0).unwrap();
        for n in 0..3 {
            queue.put(n, good(30 + n)).unwrap();
        }
        table.flush(0).unwrap();
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        let loaded = Loaded { records: &AnyLog, known_ends: &[end(known)], ..log(40, false) };
        assert_eq!(table.recover(loaded).unwrap(), None, "no unit is missing");
        assert_eq!(table.deleted(), former.map(|former| ("t".to_owned(), former)).into_iter().collect::<Vec<_>>());
        table.note_former(4000);
        assert_eq!(table.take_remade().into_values().next(), former.map(|_| 3999));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is done to the files: recovery ends, and no wrong unit is read behind a kill.
    #[test]
    fn damage_never_shows(
        units in 1i64..45,
        damage in proptest::collection::vec((0u64..5, 0usize..200, any::<u8>(), 0usize..60), 0..4),
    ) {
        let directory = TempDir::new().unwrap();
        written(directory.path(), units);
        for (file, at, byte, length) in damage {
            let path = path(&directory, file * FILE);
            let Ok(mut bytes) = fs::read(&path) else { continue };
            let end = (at + length).min(bytes.len());
            bytes[at.min(end)..end].fill(byte);
            fs::write(&path, &bytes).unwrap();
        }
        let table = QueueTable::new(directory.path().to_owned(), FILE, 4);
        table.recover(log(units, false)).unwrap();
        let queue = table.get_or_create("t", 0).unwrap();
        prop_assert!(queue.max_offset() <= units);
        if queue.max_offset() > 0 {
            let last = queue.unit(queue.max_offset() - 1).unwrap().unwrap();
            prop_assert!(last == good(queue.max_offset() - 1) || !last.is_record(), "{last:?}");
        }
    }
}
