use std::fs;

use tempfile::TempDir;

use super::super::{QueueTable, UNIT_SIZE, Unit};
use super::*;

/// Ten units a file.
const FILE: u64 = 200;

fn table(directory: &TempDir) -> QueueTable {
    QueueTable::new(directory.path().to_owned(), FILE, 2)
}

fn unit(n: i64) -> Unit {
    Unit { physical_offset: n * 100, size: 100, tags_code: n }
}

fn offsets(queue: &Queue, from: i64) -> Vec<i64> {
    queue
        .iter_from(from)
        .map(|entry| {
            let Entry { offset, unit: found, .. } = entry.unwrap();
            assert_eq!(found, unit(offset));
            offset
        })
        .collect()
}

impl Queue {
    /// Adds a unit of one message, as records of no batch are added.
    pub(crate) fn put(&self, offset: i64, unit: Unit) -> io::Result<Appended> {
        self.append(Entry { offset, count: 1, unit, store_timestamp: 0 }, &[])
    }
}

#[test]
fn units_are_read_from_memory_and_from_files() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    assert!(!directory.path().join("t").exists());
    for n in 0..25 {
        assert_eq!(queue.put(n, unit(n)).unwrap(), Appended::Added);
        assert_eq!(queue.put(n, unit(n)).unwrap(), Appended::Present);
    }
    assert_eq!((queue.min_offset(), queue.max_offset()), (0, 25));
    assert_eq!(queue.max_physical_offset(), 2500);
    assert_eq!(offsets(&queue, 3), (3..25).collect::<Vec<_>>());
    assert!(table.flush(0).unwrap());
    assert_eq!(offsets(&queue, 3), (3..25).collect::<Vec<_>>());
    for n in 25..1000 {
        queue.put(n, unit(n)).unwrap();
    }
    assert_eq!(offsets(&queue, 0), (0..1000).collect::<Vec<_>>());
    assert_eq!(queue.unit(1000).unwrap(), None);
    assert_eq!(queue.unit(-1).unwrap(), None);

    table.flush(0).unwrap();
    let second = fs::read(directory.path().join("t/0/00000000000000000200")).unwrap();
    assert_eq!(second.len(), FILE as usize);
    assert_eq!(second[..UNIT_SIZE], unit(10).to_bytes());
}

#[test]
fn a_queue_that_starts_above_0_has_blanks_before_it() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 3).unwrap();
    queue.put(13, unit(13)).unwrap();
    assert_eq!((queue.min_offset(), queue.max_offset()), (13, 14));
    table.flush(0).unwrap();
    let file = fs::read(directory.path().join("t/3/00000000000000000200")).unwrap();
    assert_eq!(file[2 * UNIT_SIZE..3 * UNIT_SIZE], Unit::BLANK.to_bytes());
    assert_eq!(file[3 * UNIT_SIZE..4 * UNIT_SIZE], unit(13).to_bytes());
    assert_eq!(fs::read_dir(directory.path().join("t/3")).unwrap().count(), 1);
    queue.correct_min_offset(0).unwrap();
    assert_eq!(queue.min_offset(), 13);
}

#[test]
fn one_damaged_offset_moves_nothing_a_real_gap_is_taken() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    queue.put(0, unit(0)).unwrap();
    assert_eq!(queue.put(1 << 40, unit(1)).unwrap(), Appended::Held);
    assert_eq!(queue.put(1, unit(1)).unwrap(), Appended::Added);
    assert_eq!(queue.put(57, unit(57)).unwrap(), Appended::Held);
    assert_eq!(queue.put(58, unit(58)).unwrap(), Appended::Added);
    // over five files: what is before the gap stays
    assert_eq!((queue.min_offset(), queue.max_offset()), (0, 59));
    let records = |queue: &Queue| -> Vec<i64> {
        queue
            .iter_from(0)
            .map(Result::unwrap)
            .filter(|entry| entry.unit.is_record())
            .map(|entry| entry.offset)
            .collect()
    };
    assert_eq!(records(&queue), [0, 1, 57, 58]);
    table.flush(0).unwrap();
    assert_eq!(records(&queue), [0, 1, 57, 58]);
    // one that the log between has no room for starts the queue anew
    let far = 1 << 40;
    for n in 0..2 {
        queue.put(far + n, unit(59 + n)).unwrap();
    }
    assert_eq!((queue.min_offset(), queue.max_offset()), (far, far + 2));
    assert_eq!(queue.unit(far).unwrap(), Some(unit(59)));
    assert!(queue.put(i64::MAX, unit(1)).is_err());
    assert!(queue.put(-1, unit(1)).is_err());
}

/// A power loss takes some of the newest records: what is left of a queue has gap after gap.
#[test]
fn a_record_between_two_gaps_has_its_place() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    queue.put(0, unit(0)).unwrap();
    for (offset, expected) in [(11, Appended::Held), (14, Appended::Held), (17, Appended::Held), (18, Appended::Added)]
    {
        assert_eq!(queue.put(offset, unit(offset)).unwrap(), expected, "{offset}");
    }
    let records: Vec<i64> = queue
        .iter_from(0)
        .map(Result::unwrap)
        .filter(|entry| entry.unit.is_record())
        .map(|entry| entry.offset)
        .collect();
    assert_eq!(records, [0, 11, 14, 17, 18]);
}

/// The last record of the log is the only one behind damage: nothing follows that would confirm its offset.
#[test]
fn the_last_record_keeps_its_place_behind_a_gap() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    queue.put(0, unit(0)).unwrap();
    assert_eq!(queue.put(2, unit(2)).unwrap(), Appended::Held);
    assert_eq!(queue.max_offset(), 1);
    table.settle(false).unwrap();
    assert_eq!((queue.max_offset(), queue.unit(2).unwrap()), (3, Some(unit(2))));
    assert_eq!(queue.put(1 << 40, unit(3)).unwrap(), Appended::Held);
    table.settle(false).unwrap();
    assert_eq!(queue.max_offset(), 3);
    assert_eq!(queue.put(3, unit(4)).unwrap(), Appended::Added);
}

/// Whichever units a search by halves comes upon.
#[test]
fn blanks_do_not_hide_the_records_before_them() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    for from in 1..30 {
        for to in from + 1..31 {
            let queue = table.get_or_create("t", from * 100 + to).unwrap();
            for n in (0..from).chain(to..35) {
                queue.put(i64::from(n), unit(i64::from(n))).unwrap();
            }
            queue.correct_min_offset(0).unwrap();
            assert_eq!(queue.min_offset(), 0, "{from}..{to}");
            queue.correct_min_offset(100).unwrap();
            assert_eq!(queue.min_offset(), if from == 1 { i64::from(to) } else { 1 }, "{from}..{to}");
            // all before the gap expired
            queue.correct_min_offset(i64::from(from) * 100).unwrap();
            assert_eq!(queue.min_offset(), i64::from(to), "{from}..{to}");
        }
    }
}

#[test]
fn a_file_that_ends_with_blanks_goes_when_its_records_do() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    for n in (0..5).chain(12..20) {
        queue.put(n, unit(n)).unwrap();
    }
    table.flush(0).unwrap();
    assert_eq!((queue.delete_expired(300).unwrap(), queue.min_offset()), (0, 3));
    assert_eq!(queue.unit(4).unwrap(), Some(unit(4)));
    assert_eq!((queue.delete_expired(500).unwrap(), queue.min_offset()), (1, 12));
}

// apache/rocketmq#4774, #2748: a topic created again went on behind its old queue.
#[test]
fn report_4774_a_topic_created_again_starts_at_0() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    for n in 0..15 {
        queue.put(n, unit(n)).unwrap();
    }
    table.flush(0).unwrap();
    assert!(table.delete_topic("t", 1500).unwrap());
    assert!(!table.delete_topic("t", 1500).unwrap());
    assert!(!directory.path().join("t").exists());
    assert_eq!(queue.put(15, unit(15)).unwrap(), Appended::Deleted);
    assert!(table.is_of_deleted("t", 1499) && !table.is_of_deleted("t", 1500));

    let again = table.get_or_create("t", 0).unwrap();
    assert_eq!(again.take_offsets(1), 0);

    // the same seen by a dispatcher that makes queues anew from a log with both lives
    let queue = table.get_or_create("u", 0).unwrap();
    for n in 0..15 {
        queue.put(n, unit(n)).unwrap();
    }
    let second_life = |n: i64| Unit { physical_offset: 2000 + n * 100, ..unit(n) };
    assert_eq!(queue.put(0, second_life(0)).unwrap(), Appended::Doubtful);
    assert_eq!(queue.max_offset(), 15);
    assert_eq!(queue.put(1, second_life(1)).unwrap(), Appended::Added);
    assert_eq!(queue.max_offset(), 2);
    for n in 0..2 {
        assert_eq!(queue.unit(n).unwrap(), Some(second_life(n)));
        assert_eq!(queue.put(n, second_life(n)).unwrap(), Appended::Present);
    }
}

/// Of a topic with one message in each queue since it was created anew, the log alone does not tell; of one with several
/// queues it does.
#[test]
fn queues_begin_anew_together() {
    for queues in [1, 3] {
        let directory = TempDir::new().unwrap();
        let table = table(&directory);
        for id in 0..queues {
            let queue = table.get_or_create("t", id).unwrap();
            for n in 0..15 {
                queue.put(n, unit(n)).unwrap();
            }
            assert_eq!(queue.put(0, Unit { physical_offset: 2000, ..unit(0) }).unwrap(), Appended::Doubtful);
        }
        table.settle(false).unwrap();
        for id in 0..queues {
            let queue = table.get("t", id).unwrap();
            assert_eq!(queue.max_offset(), if queues == 1 { 15 } else { 1 }, "{queues}");
        }
    }
}

/// The number in one record is damaged: its place stays free, and nothing else changes.
#[test]
fn one_damaged_offset_does_not_begin_the_queue_anew() {
    for damaged in [0, 1, 6] {
        for at in [7, 14] {
            let directory = TempDir::new().unwrap();
            let table = table(&directory);
            let queue = table.get_or_create("t", 0).unwrap();
            for n in 0..15 {
                let found = queue.put(if n == at { damaged } else { n }, unit(n)).unwrap();
                assert_eq!(found, if n == at { Appended::Doubtful } else { Appended::Added }, "{damaged} {at} {n}");
            }
            table.settle(false).unwrap();
            let found: Vec<_> = queue.iter_from(0).map(|entry| entry.unwrap().unit).collect();
            let end = if at == 14 { 14 } else { 15 };
            let expected: Vec<_> = (0..end).map(|n| if n == at { Unit::BLANK } else { unit(n) }).collect();
            assert_eq!(found, expected, "{damaged} {at}");
            // and once more, as after a kill
            for n in 0..15 {
                queue.put(if n == at { damaged } else { n }, unit(n)).unwrap();
            }
            table.settle(false).unwrap();
            assert_eq!(queue.max_offset(), end);
        }
    }
}

#[test]
fn the_minimum_follows_the_log() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    for n in 0..35 {
        queue.put(n, unit(n)).unwrap();
    }
    table.flush(0).unwrap();
    assert_eq!(queue.delete_expired(1250).unwrap(), 1);
    assert_eq!(queue.min_offset(), 13);
    assert_eq!(queue.read(3, &mut [0; UNIT_SIZE], true).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(queue.delete_expired(3500).unwrap(), 2);
    assert_eq!((queue.min_offset(), queue.max_offset()), (35, 35));
    queue.put(35, unit(35)).unwrap();
    assert_eq!(offsets(&queue, queue.min_offset()), [35]);
}

#[test]
fn a_failing_write_keeps_units_readable() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    fs::write(directory.path().join("t"), "in the way").unwrap();
    for n in 0..300 {
        assert_eq!(queue.put(n, unit(n)).unwrap(), Appended::Added);
    }
    assert!(table.flush(0).is_err());
    assert_eq!(offsets(&queue, 0), (0..300).collect::<Vec<_>>());
    fs::remove_file(directory.path().join("t")).unwrap();
    assert!(table.flush(0).unwrap());
    assert_eq!(offsets(&queue, 0), (0..300).collect::<Vec<_>>());
}

/// A gap and a new life need their files at once: the dispatcher tries again, and then it is as if nothing had been.
#[test]
fn a_unit_that_cannot_be_put_can_be_put_later() {
    let directory = TempDir::new().unwrap();
    let table = table(&directory);
    let queue = table.get_or_create("t", 0).unwrap();
    let in_the_way = directory.path().join("t");
    fs::write(&in_the_way, "").unwrap();
    for _ in 0..2 {
        assert!(queue.put(13, unit(13)).is_err());
        assert_eq!(queue.max_offset(), 0);
    }
    fs::remove_file(&in_the_way).unwrap();
    for n in 13..35 {
        assert_eq!(queue.put(n, unit(n)).unwrap(), Appended::Added);
    }
    table.flush(0).unwrap();
    assert_eq!(offsets(&queue, 13), (13..35).collect::<Vec<_>>());

    // a file that cannot be removed
    let last = directory.path().join("t/0/00000000000000000600");
    fs::remove_file(&last).unwrap();
    fs::create_dir(&last).unwrap();
    let second_life = |n: i64| Unit { physical_offset: 9000 + n * 100, ..unit(n) };
    assert_eq!(queue.put(0, second_life(0)).unwrap(), Appended::Doubtful);
    for _ in 0..2 {
        assert!(queue.put(1, second_life(1)).is_err());
    }
    fs::remove_dir(&last).unwrap();
    assert_eq!(queue.put(1, second_life(1)).unwrap(), Appended::Added);
    assert_eq!((queue.min_offset(), queue.max_offset()), (0, 2));
    assert_eq!(queue.unit(0).unwrap(), Some(second_life(0)));
    assert_eq!(fs::read_dir(directory.path().join("t/0")).unwrap().count(), 0);
}
