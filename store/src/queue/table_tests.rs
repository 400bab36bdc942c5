use std::thread;

use tempfile::TempDir;

use super::*;
use crate::queue::Unit;

fn unit(n: i64) -> Unit {
    Unit { physical_offset: n * 10, size: 10, tags_code: 0 }
}

#[test]
fn queues_are_found_by_any_number() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().to_owned(), 200, 4);
    for id in [5, 0, 1_000_000, 1] {
        table.get_or_create("t", id).unwrap();
    }
    let ids: Vec<_> = table.queues("t").iter().map(|q| q.queue_id()).collect();
    assert_eq!(ids, [0, 1, 5, 1_000_000]);
    for id in ids {
        assert_eq!(table.get("t", id).unwrap().queue_id(), id);
    }
    assert!(table.get("t", 2).is_none() && table.get("t", -1).is_none());
    assert!(table.get("u", 0).is_none() && table.queues("u").is_empty());
}

#[test]
fn names_do_not_lead_out_of_the_directory() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().to_owned(), 200, 4);
    for topic in ["", ".", "..", "a/b", "/etc", "a\0", "a b", "a\x7F", &"x".repeat(256)] {
        assert!(table.get_or_create(topic, 0).is_err(), "{topic}");
    }
    assert!(table.get_or_create("%RETRY%g", -1).is_err());
    assert!(table.get_or_create("%RETRY%g", 0).is_ok());
}

/// What is no queue's does not keep the store from opening.
#[test]
fn other_directories_are_passed_over() {
    let directory = TempDir::new().unwrap();
    for path in ["t/0", "t/1.bak", "t/007", "t/-1", "t/+2", "old copy/0", "u"] {
        std::fs::create_dir_all(directory.path().join(path)).unwrap();
    }
    let table = QueueTable::new(directory.path().to_owned(), 200, 4);
    let found = table.discover().unwrap();
    assert_eq!(found.iter().map(|queue| (&**queue.topic(), queue.queue_id())).collect::<Vec<_>>(), [("t", 0)]);
}

#[test]
fn only_changed_queues_are_flushed_and_few_files_are_open() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().to_owned(), 200, 16);
    for id in 0..500 {
        let queue = table.get_or_create("t", id).unwrap();
        queue.put(0, unit(i64::from(id))).unwrap();
    }
    // less than a page each
    assert!(!table.flush(2).unwrap());
    assert!(table.flush(0).unwrap());
    assert!(table.shared.take_dirty().is_empty());
    assert!(table.shared.descriptors().open_files() <= 16);
    for id in 0..500 {
        let queue = table.get("t", id).unwrap();
        assert_eq!(queue.unit(0).unwrap(), Some(unit(i64::from(id))));
    }
}

#[test]
fn who_keeps_a_queue_learns_that_it_is_gone() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().to_owned(), 200, 16);
    let kept = [0, 1].map(|id| table.get_or_create("t", id).unwrap());
    let other = table.get_or_create("u", 0).unwrap();
    kept[0].take_offsets(5);
    assert!(table.delete_topic("t", 0).unwrap());
    assert!(kept.iter().all(|queue| queue.is_gone()) && !other.is_gone());
    let new = table.get_or_create("t", 0).unwrap();
    assert_eq!((new.is_gone(), new.take_offsets(1)), (false, 0));
}

#[test]
fn a_topic_made_anew_keeps_its_files_while_those_of_the_old_one_go() {
    const UNITS: i64 = 50;
    let directory = TempDir::new().unwrap();
    // a unit in each file, which is opened for each read
    let table = QueueTable::new(directory.path().to_owned(), 20, 1);
    for round in 0..2 {
        let old = table.get_or_create("t", 0).unwrap();
        for offset in old.max_offset()..1500 {
            old.put(offset, unit(offset)).unwrap();
        }
        thread::scope(|scope| {
            let deletion = scope.spawn(|| table.delete_topic("t", 0));
            while !old.is_gone() {
                thread::yield_now();
            }
            let new = table.get_or_create("t", 0).unwrap();
            for offset in 0..UNITS {
                new.put(offset, unit(offset)).unwrap();
            }
            table.flush(0).unwrap();
            assert!(deletion.join().unwrap().unwrap(), "{round}");
            for offset in 0..UNITS {
                assert_eq!(new.unit(offset).unwrap(), Some(unit(offset)), "{round}");
            }
        });
    }
}

#[test]
fn offsets_to_give_start_at_what_is_dispatched() {
    let directory = TempDir::new().unwrap();
    let table = QueueTable::new(directory.path().to_owned(), 200, 16);
    let queue = table.get_or_create("t", 0).unwrap();
    queue.put(0, unit(0)).unwrap();
    table.reset_next_offsets();
    assert_eq!(queue.take_offsets(3), 1);
    assert_eq!(queue.next_offset(), 4);
}
