//! Queues that lost units, or all their files, get them back at the next start.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::entries;
use apogee_store::{GetRequest, Positions, Store, Stretch};
use tempfile::TempDir;

use super::{
    ALL, LOG_FILE, MESSAGES, Topics, append, config, count, filled, hooks, open, overwrite, set_abort, take_elsewhere,
};

fn check(root: &Path) {
    // the second time as a kill in the middle of the first leaves it, the third time after a clean stop
    for stop in 0..3 {
        let store = open(root, ALL);
        for (topic, queue_id) in [("T", 0), ("T", 1), ("U", 0)] {
            assert_eq!(count(&store, topic, queue_id), MESSAGES, "{topic} {queue_id}, start {stop}");
        }
        if stop > 0 {
            store.close().unwrap();
        }
    }
}

/// A store that lost folders of queues after a clean stop, or a kill.
fn without(gone: &[&str], is_clean: bool) -> TempDir {
    let root = filled();
    for gone in gone {
        fs::remove_dir_all(root.path().join("consumequeue").join(gone)).unwrap();
    }
    if !is_clean {
        set_abort(root.path());
    }
    root
}

#[test]
fn a_queue_whose_folder_is_gone_comes_back() {
    for gone in ["T/0", "T", "U"] {
        for is_clean in [true, false] {
            check(without(&[gone], is_clean).path());
        }
    }
}

/// The table of topics is then another one than was written down, and nobody else had the store.
#[test]
fn a_queue_whose_folder_is_lost_after_a_change_of_topics_and_a_kill_comes_back() {
    for gone in ["T/0", "T", "U"] {
        let root = filled();
        let store = open(root.path(), ALL);
        append(&store, "V", 0, 0);
        drop(store);
        fs::remove_dir_all(root.path().join("consumequeue").join(gone)).unwrap();
        // a copy that keeps no times
        File::options().write(true).open(root.path().join("lock")).unwrap().set_modified(UNIX_EPOCH).unwrap();
        let topics = Topics { version: 2, ..ALL };
        // a start that comes to nothing, for the log's disk is not there yet
        let (log, away) = (root.path().join("commitlog"), root.path().join("away"));
        fs::rename(&log, &away).unwrap();
        fs::write(&log, "").unwrap();
        Store::open(&config(root.path()), hooks(topics)).err().unwrap();
        fs::remove_file(&log).unwrap();
        fs::rename(&away, &log).unwrap();
        let store = open(root.path(), topics);
        for (topic, queue_id, messages) in [("T", 0, MESSAGES), ("T", 1, MESSAGES), ("U", 0, MESSAGES), ("V", 0, 1)] {
            assert_eq!(count(&store, topic, queue_id), messages, "{topic} {queue_id} without {gone}");
        }
    }
}

/// A queue that is younger than what was last written down of all queues.
#[test]
fn a_young_queue_whose_folder_is_lost_after_a_kill_comes_back() {
    for deleted in [false, true] {
        let root = filled();
        let store = open(root.path(), ALL);
        let dispatched = || Positions::read(root.path()).unwrap().unwrap().dispatched_record;
        let append_some = |range: std::ops::Range<usize>| {
            range.clone().for_each(|n| append(&store, "V", 0, n));
            let end = store.max_physical_offset();
            let deadline = Instant::now() + Duration::from_mins(2);
            // on disk, so that the next start does not look at all of it again
            while dispatched() + 200 < end {
                assert!(Instant::now() < deadline);
                thread::yield_now();
            }
        };
        append_some(0..10);
        append_some(10..20);
        if deleted {
            // what is known of the others is kept
            store.delete_topic("U").unwrap();
        }
        drop(store);
        fs::remove_dir_all(root.path().join("consumequeue/V")).unwrap();
        let store = open(root.path(), Topics { gone: if deleted { "U" } else { "" }, version: 2 });
        assert_eq!((count(&store, "V", 0), count(&store, "T", 0)), (20, MESSAGES), "{deleted}");
    }
}

/// Where nothing was written down, the first message that follows shows that there are others.
#[test]
fn a_lost_queue_of_which_nothing_is_known_comes_back_with_its_next_message() {
    let root = filled();
    let store = open(root.path(), ALL);
    append(&store, "T", 0, MESSAGES);
    drop(store);
    fs::remove_dir_all(root.path().join("consumequeue/T")).unwrap();
    fs::remove_file(root.path().join("queueEnds")).unwrap();
    assert_eq!(count(&open(root.path(), ALL), "T", 0), MESSAGES + 1);
}

/// A start after a kill takes units back that it makes again, and may be cut off when some are on disk again: that the topic begins
/// later does not mean that it was made anew elsewhere.
#[test]
fn units_that_a_start_took_back_are_no_deletion() {
    let root = filled();
    let kept = fs::read(root.path().join("queueEnds")).unwrap();
    let store = open(root.path(), ALL);
    (0..20).for_each(|n| append(&store, "T", 2, n));
    store.close().unwrap();
    drop(store);
    // as of before the last run, by somebody else
    fs::write(root.path().join("queueEnds"), kept).unwrap();
    take_elsewhere(root.path());
    fs::remove_file(root.path().join("checkpoint")).unwrap();
    set_abort(root.path());
    for queue in ["0", "1"] {
        for file in fs::read_dir(root.path().join("consumequeue/T").join(queue)).unwrap() {
            let path = file.unwrap().path();
            fs::write(&path, vec![0; fs::metadata(&path).unwrap().len() as usize]).unwrap();
        }
    }
    let store = open(root.path(), Topics { version: 2, ..ALL });
    let found = [0, 1, 2].map(|queue_id| count(&store, "T", queue_id));
    assert_eq!(found, [MESSAGES, MESSAGES, 20]);
}

/// The log of a slave begins with the master's last file then, and the first message of a queue there with any offset.
#[test]
fn a_queue_that_began_before_the_log_is_not_looked_for_in_all_of_it() {
    let (master, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sent = open(master.path(), ALL);
    (0..5).for_each(|n| append(&sent, "V", 0, n));
    (0..MESSAGES).for_each(|n| append(&sent, "T", 0, n));
    (0..2 * MESSAGES).for_each(|n| append(&sent, "T", 1, n));
    let mut at = sent.max_physical_offset() / LOG_FILE * LOG_FILE;
    assert!(at > 0);
    let mut copy = |store: &Store| {
        while let Some(Stretch::Mapped(bytes)) = sent.log_stretch(at, 1 << 20).unwrap() {
            store.append_raw(at, &bytes).unwrap();
            at += bytes.len() as i64;
        }
    };
    let store = open(root.path(), ALL);
    copy(&store);
    let messages = count(&store, "T", 1);
    assert!((1..2 * MESSAGES).contains(&messages));
    store.close().unwrap();
    drop(store);
    let known =
        ["checkpoint", "queueEnds"].map(|name| (root.path().join(name), fs::read(root.path().join(name)).unwrap()));
    let store = open(root.path(), ALL);
    append(&sent, "V", 0, 5);
    copy(&store);
    assert_eq!((count(&store, "V", 0), store.min_offset("V", 0)), (1, 5));
    drop(store);
    // none of it had come to disk
    for (path, content) in known {
        fs::write(path, content).unwrap();
    }
    fs::remove_dir_all(root.path().join("consumequeue/V")).unwrap();
    let config = MessageStoreConfig { flush_interval_consume_queue: 60_000, ..config(root.path()) };
    let store = Store::open(&config, hooks(ALL)).unwrap();
    assert!(
        Positions::read(root.path()).unwrap().unwrap().synced_record.is_some(),
        "all is checked and dispatched again"
    );
    assert_eq!((count(&store, "V", 0), store.min_offset("V", 0), count(&store, "T", 1)), (1, 5, messages));
}

/// B09 (467, 1434): the last messages of a file of the log were in it and never in their queue.
#[test]
fn units_lost_at_the_end_come_back() {
    for is_clean in [true, false] {
        for units in [1, 10, 11] {
            let root = filled();
            // 150 units in files of 20: the last has ten
            let queue = root.path().join("consumequeue/T/0");
            let file = |n: usize| OpenOptions::new().write(true).open(queue.join(format!("{:020}", n * 400))).unwrap();
            if units > 10 {
                fs::remove_file(queue.join(format!("{:020}", 7 * 400))).unwrap();
                file(6).write_all_at(&vec![0; (units - 10) * 20], (30 - units) as u64 * 20).unwrap();
            } else {
                file(7).write_all_at(&vec![0; units * 20], (10 - units) as u64 * 20).unwrap();
            }
            if !is_clean {
                set_abort(root.path());
            }
            check(root.path());
        }
    }
}

/// Else a start after a kill of who has the store next would take records of a topic that is gone for new ones.
#[test]
fn a_stop_writes_down_how_far_queues_are() {
    let root = tempfile::tempdir().unwrap();
    let config = MessageStoreConfig {
        flush_interval_commit_log: 1,
        flush_commit_log_least_pages: 0,
        flush_consume_queue_least_pages: 0,
        flush_consume_queue_thorough_interval: 60_000,
        ..config(root.path())
    };
    let positions = || Positions::read(root.path()).unwrap().unwrap_or_default();
    let store = Store::open(&config, hooks(ALL)).unwrap();
    append(&store, "T", 0, 0);
    let deadline = Instant::now() + Duration::from_mins(2);
    while positions().synced_record.is_none() {
        assert!(Instant::now() < deadline);
        thread::yield_now();
    }
    // not written down for a while now
    append(&store, "T", 0, 1);
    store.close().unwrap();
    let record = positions().dispatched_record;
    assert!(record > 0);
    assert_eq!(positions().synced_record, Some(record));
}

/// What the topic's table does not name was deleted, whatever was written down last.
#[test]
fn a_deleted_topic_does_not_come_back() {
    for is_clean in [true, false] {
        let root = without(&["T/0", "U"], is_clean);
        let store = open(root.path(), Topics { gone: "U", ..ALL });
        assert_eq!(count(&store, "T", 0), MESSAGES);
        assert!(!store.topics().iter().any(|topic| &**topic == "U"));
        store.close().unwrap();
    }
}

/// A topic deleted and made anew in the same run has fewer units than were written down before.
#[test]
fn a_topic_made_anew_begins_anew() {
    let root = filled();
    let store = open(root.path(), ALL);
    store.delete_topic("U").unwrap();
    append(&store, "U", 0, 0);
    drop(store);
    for _ in 0..2 {
        let store = open(root.path(), ALL);
        assert_eq!((count(&store, "U", 0), count(&store, "T", 0)), (1, MESSAGES));
        store.close().unwrap();
        set_abort(root.path());
    }
}

/// Units that are made again are those of good records. The checksum of a record covers its body only: a number in its head may
/// be another one.
#[test]
fn damage_costs_its_record_only_where_queues_are_made_again() {
    let offset = |offset: i64| (20, offset.to_be_bytes().to_vec());
    let body = (88, b"X".to_vec());
    for is_clean in [true, false] {
        for (damaged, (at, bytes)) in
            [(40, offset(0)), (40, offset(1 << 40)), (MESSAGES - 1, offset(7)), (40, body.clone())]
        {
            let root = filled();
            let place = {
                let store = open(root.path(), ALL);
                let request =
                    GetRequest { topic: "T", queue_id: 1, offset: damaged as i64, max_count: 1, max_bytes: 1 };
                let found = store.get(&request, None).unwrap();
                let place = entries(&found.runs[0]).next().unwrap().unwrap().physical_offset;
                store.close().unwrap();
                place
            };
            overwrite(root.path(), place + at, &bytes);
            fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
            for _ in 0..2 {
                if !is_clean {
                    set_abort(root.path());
                }
                let store = open(root.path(), ALL);
                assert_eq!((count(&store, "T", 0), count(&store, "U", 0)), (MESSAGES, MESSAGES));
                let mut found = Vec::new();
                let mut next = 0;
                while next < store.max_offset("T", 1) {
                    let request =
                        GetRequest { topic: "T", queue_id: 1, offset: next, max_count: 32, max_bytes: 1 << 20 };
                    let result = store.get(&request, None).unwrap();
                    found.extend(
                        result.runs.iter().flat_map(|run| entries(run)).map(|record| record.unwrap().queue_offset),
                    );
                    assert!(result.next_offset > next);
                    next = result.next_offset;
                }
                let expected: Vec<_> = (0..MESSAGES).filter(|n| *n != damaged).map(|n| n as i64).collect();
                assert_eq!(found, expected, "{damaged} with {bytes:?} at {at}, clean {is_clean}");
                store.close().unwrap();
            }
        }
    }
}
