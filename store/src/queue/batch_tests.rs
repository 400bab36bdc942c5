use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::{Loaded, QueueTable, RecordAt};
use super::*;
use crate::read::Boundary;

/// Ten units a file.
const FILE: u64 = 460;

fn table(directory: &Path) -> QueueTable {
    let kinds = Arc::new(|topic: &str| (topic == "b").then_some(QueueKind::Batch));
    QueueTable::new(directory.join("simple"), 200, 2).with_batches(directory.join("batch"), FILE, kinds)
}

/// The record that begins at an offset and has so many messages; every message takes 100 bytes and 10 ms.
fn entry(offset: i64, count: i16) -> Entry {
    let unit = Unit { physical_offset: offset * 100, size: i32::from(count) * 100, tags_code: offset };
    Entry { offset, count, unit, store_timestamp: 1000 + offset * 10 }
}

/// Appends records of these counts; gives what must be read.
fn fill(queue: &Queue, counts: &[i16]) -> Vec<Entry> {
    let mut all = Vec::new();
    for count in counts {
        let next = entry(queue.max_offset(), *count);
        assert_eq!(queue.append(next, &[]).unwrap(), Appended::Added);
        assert_eq!(queue.append(next, &[]).unwrap(), Appended::Present);
        all.push(next);
    }
    all
}

fn read(queue: &Queue, from: i64) -> Vec<Entry> {
    queue.iter_from(from).map(Result::unwrap).collect()
}

struct Records<F>(F);

impl<F: Fn(i64, Unit) -> bool + Sync> RecordAt for Records<F> {
    fn matches(&self, _: &Queue, offset: i64, unit: Unit) -> bool {
        self.0(offset, unit)
    }
}

fn loaded(records: &dyn RecordAt, log_min: i64, log_end: i64, clean: bool) -> Loaded<'_> {
    let before_repair = &|| Ok(());
    let tell_every = Duration::ZERO;
    Loaded {
        log_min,
        log_end,
        clean,
        ours: log_end,
        checked_from: log_end,
        checked_behind: 0,
        dispatched: 0,
        known_ends: &[],
        same_topics: true,
        records,
        before_repair,
        tell_every,
    }
}

#[test]
fn any_offset_leads_to_the_record_that_has_it() {
    let directory = TempDir::new().unwrap();
    let table = table(directory.path());
    let queue = table.get_or_create("b", 0).unwrap();
    let counts: Vec<i16> = (0..35).map(|n| 1 + n % 4).collect();
    let all = fill(&queue, &counts);
    for _ in 0..2 {
        for (n, expected) in all.iter().enumerate() {
            for offset in expected.offset..expected.end() {
                assert_eq!(read(&queue, offset), all[n..], "{offset}");
                assert_eq!(queue.unit(offset).unwrap(), Some(expected.unit));
            }
        }
        assert_eq!(read(&queue, queue.max_offset()), []);
        assert_eq!(queue.unit(queue.max_offset()).unwrap(), None);
        table.flush(0).unwrap();
    }
    let file = fs::read(directory.path().join("batch/b/0/00000000000000000460")).unwrap();
    assert_eq!(file.len(), 460);
    assert!(!directory.path().join("simple").exists());
}

#[test]
fn one_damaged_offset_moves_nothing_a_real_gap_is_taken() {
    let directory = TempDir::new().unwrap();
    let table = table(directory.path());
    let queue = table.get_or_create("b", 0).unwrap();
    // the first may have any offset
    assert_eq!(queue.append(entry(50, 3), &[]).unwrap(), Appended::Added);
    assert_eq!((queue.min_offset(), queue.max_offset()), (50, 53));
    assert_eq!(queue.append(entry(1 << 40, 3), &[]).unwrap(), Appended::Held);
    assert_eq!(queue.append(entry(53, 2), &[]).unwrap(), Appended::Added);
    assert_eq!(queue.append(entry(60, 4), &[]).unwrap(), Appended::Held);
    assert_eq!(queue.append(entry(64, 1), &[]).unwrap(), Appended::Added);
    assert_eq!(read(&queue, 0), [entry(50, 3), entry(53, 2), entry(60, 4), entry(64, 1)]);
    // nothing was stored in between: what follows comes
    assert_eq!(read(&queue, 57)[0], entry(53, 2));
    assert_eq!(queue.append(entry(70, 1), &[]).unwrap(), Appended::Held);
    table.settle(false).unwrap();
    assert_eq!(queue.max_offset(), 71);
    let second_life = |offset, count| {
        let unit = Unit { physical_offset: 9000 + offset * 100, ..entry(0, 1).unit };
        Entry { unit, ..entry(offset, count) }
    };
    assert_eq!(queue.append(second_life(0, 2), &[]).unwrap(), Appended::Doubtful);
    assert_eq!(queue.append(second_life(2, 3), &[]).unwrap(), Appended::Added);
    assert_eq!((queue.min_offset(), queue.max_offset()), (0, 5));
    assert_eq!(read(&queue, 0), [second_life(0, 2), second_life(2, 3)]);

    // somebody else knows that there is a third one
    let third_life = Entry { unit: Unit { physical_offset: 20_000, ..entry(0, 1).unit }, ..entry(0, 4) };
    assert_eq!(queue.append(third_life, &[]).unwrap(), Appended::Doubtful);
    let life = queue.life().unwrap();
    assert_eq!((life.max, life.held), (5, Some((20_000, 4))));
    assert_eq!(table.holding().len(), 1);
    assert!(queue.begin_anew(life).unwrap() && !queue.begin_anew(life).unwrap());
    assert!(table.holding().is_empty());
    assert_eq!((queue.min_offset(), queue.max_offset()), (0, 4));
    assert_eq!(read(&queue, 0), [third_life]);
    assert_eq!(table.take_remade().into_iter().collect::<Vec<_>>(), [("b".into(), 20_000)]);
    // or one without a message
    assert!(queue.begin_anew(queue.life().unwrap()).unwrap());
    assert_eq!((queue.min_offset(), queue.max_offset(), queue.life()), (-1, 0, None));
    assert!(table.flush(0).unwrap() && read(&queue, 0).is_empty());
}

#[test]
fn the_minimum_follows_the_log() {
    let directory = TempDir::new().unwrap();
    let table = table(directory.path());
    let queue = table.get_or_create("b", 0).unwrap();
    let all = fill(&queue, &[3; 35]);
    table.flush(0).unwrap();
    for log_min in [0, 1, 300, 301, 2900, 3000, 3001, 10_000] {
        queue.correct_min_offset(log_min).unwrap();
        let expected = all.iter().find(|entry| entry.unit.physical_offset >= log_min).unwrap();
        assert_eq!(queue.min_offset(), expected.offset, "{log_min}");
    }
    assert_eq!(queue.delete_expired(2999).unwrap(), 1);
    assert_eq!((queue.min_offset(), read(&queue, 30)[0]), (30, all[10]));
    assert_eq!(queue.delete_expired(20_000).unwrap(), 2);
    assert_eq!((queue.min_offset(), queue.max_offset()), (105, 105));
    fill(&queue, &[2]);
    assert_eq!(table.delete_expired(20_000).unwrap(), 0);
    assert_eq!(queue.delete_expired(10_500).unwrap(), 0);
    assert_eq!((queue.min_offset(), queue.max_offset()), (105, 107));
}

#[test]
fn what_is_on_disk_is_found_again() {
    for units in [1, 9, 10, 11, 35] {
        for clean in [true, false] {
            let directory = TempDir::new().unwrap();
            let first = table(directory.path());
            let all = fill(&first.get_or_create("b", 3).unwrap(), &vec![3; units]);
            first.flush(0).unwrap();
            let log_end = all[units - 1].unit.end();
            let again = table(directory.path());
            let records = Records(|offset, unit: Unit| unit.physical_offset == offset * 100);
            let from = again.recover(loaded(&records, 0, log_end, clean)).unwrap();
            assert_eq!(from, clean.then_some(log_end));
            let queue = again.get("b", 3).unwrap();
            assert_eq!((queue.kind(), queue.max_offset()), (QueueKind::Batch, units as i64 * 3));
            assert_eq!((read(&queue, 0), queue.next_offset()), (all, units as i64 * 3));
            fill(&queue, &[2, 5]);
        }
    }
}

#[test]
fn units_behind_the_log_are_cut() {
    for clean in [true, false] {
        let directory = TempDir::new().unwrap();
        let first = table(directory.path());
        let all = fill(&first.get_or_create("b", 0).unwrap(), &[3; 35]);
        first.flush(0).unwrap();
        let again = table(directory.path());
        let records = Records(|_, _| true);
        again.recover(loaded(&records, 0, all[14].unit.end(), clean)).unwrap();
        let queue = again.get("b", 0).unwrap();
        assert_eq!((read(&queue, 0), queue.max_offset()), (all[..15].to_vec(), 45));
        let file = fs::read(directory.path().join("batch/b/0/00000000000000000460")).unwrap();
        assert!(file[230..].iter().all(|byte| *byte == 0));
        assert!(!directory.path().join("batch/b/0/00000000000000000920").exists());
        assert_eq!(fill(&queue, &[1]), [entry(45, 1)]);
    }
}

/// As the reference: a store whose topics and directories disagree does not open.
#[test]
fn a_directory_of_the_other_kind_is_refused() {
    let records = Records(|_, _| true);
    let directory = TempDir::new().unwrap();
    fs::create_dir_all(directory.path().join("simple/b/0")).unwrap();
    let error = table(directory.path()).recover(loaded(&records, 0, 0, true)).unwrap_err().to_string();
    assert!(error.contains("holds queues of type SimpleCQ, but topic b is of type BatchCQ"), "{error}");
    // of a topic that is not known, what is there counts
    let directory = TempDir::new().unwrap();
    fs::create_dir_all(directory.path().join("batch/other/0")).unwrap();
    let table = table(directory.path());
    table.recover(loaded(&records, 0, 0, true)).unwrap();
    assert_eq!(table.get_or_create("other", 1).unwrap().kind(), QueueKind::Batch);
    assert!(table.delete_topic("other", 0).unwrap());
    assert!(!directory.path().join("batch/other").exists());
}

#[test]
fn times_are_found_by_unit() {
    let directory = TempDir::new().unwrap();
    let table = table(directory.path());
    let queue = table.get_or_create("b", 0).unwrap();
    let find = |time| queue.offset_by_time(time, Boundary::Lower).unwrap();
    assert_eq!((find(5), queue.min_offset()), (-1, -1));
    let all = fill(&queue, &[3; 35]);
    for _ in 0..2 {
        for (n, entry) in all.iter().enumerate() {
            assert_eq!(find(entry.store_timestamp), entry.offset);
            // as the reference: behind the last record of a file it is that record
            let next = if n > 0 && n % 10 == 0 { all[n - 1] } else { *entry };
            assert_eq!(find(entry.store_timestamp - 1), next.offset);
        }
        assert_eq!((find(0), find(1_000_000)), (0, 102));
        table.flush(0).unwrap();
    }
    queue.delete_expired(4000).unwrap();
    assert_eq!((find(0), find(1000)), (42, 42));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the files hold: no panic, and what is kept is what the log has.
    #[test]
    fn damaged_files_are_cut_to_what_the_log_has(
        counts in proptest::collection::vec(1i16..6, 1..30),
        at in 0usize..1380,
        byte: u8,
        cut in proptest::option::of(0u64..1380),
        clean: bool,
    ) {
        let directory = TempDir::new().unwrap();
        let first = table(directory.path());
        let all = fill(&first.get_or_create("b", 0).unwrap(), &counts);
        first.flush(0).unwrap();
        let path = |at: u64| directory.path().join(format!("batch/b/0/{:020}", at / FILE * FILE));
        if let Ok(mut bytes) = fs::read(path(at as u64)) {
            bytes[at % FILE as usize] = byte;
            fs::write(path(at as u64), bytes).unwrap();
        }
        if let Some(cut) = cut && let Ok(file) = fs::File::options().write(true).open(path(cut)) {
            file.set_len(cut % FILE).unwrap();
        }
        let again = table(directory.path());
        let records = Records(|offset, unit| all.iter().any(|entry| (entry.offset, entry.unit) == (offset, unit)));
        let log_end = all[all.len() - 1].unit.end();
        again.recover(loaded(&records, 0, log_end, clean)).unwrap();
        let queue = again.get("b", 0).unwrap();
        for offset in 0..queue.max_offset().min(200) {
            let _ = queue.unit(offset).unwrap();
            let _ = queue.offset_by_time(1000 + offset, Boundary::Upper).unwrap();
        }
        if !clean {
            let last = read(&queue, 0).pop();
            prop_assert!(last.is_none_or(|last| records.matches(&queue, last.offset, last.unit)));
        }
    }
}
