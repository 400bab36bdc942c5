//! Another broker had the store in between, one that knows nothing of `queueEnds`: what it did to topics and log is no loss, and
//! what it stored is served.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use apogee_store::{ExpiryRound, Positions, Store};

use super::{ALL, MESSAGES, Topics, append, config, count, filled, open, overwrite, set_abort, take_elsewhere};

const CHANGED: Topics = Topics { version: 2, ..ALL };

/// Lets another broker work on the store. What it does not know stays as it is: a file, and the end of the checkpoint.
fn elsewhere(root: &Path, work: impl FnOnce(&Store)) {
    let kept = fs::read(root.join("queueEnds")).unwrap();
    fs::remove_file(root.join("queueEnds")).unwrap();
    let checkpoint = OpenOptions::new().read(true).write(true).open(root.join("checkpoint")).unwrap();
    let mut ours = [0; 24];
    checkpoint.read_exact_at(&mut ours, 64).unwrap();
    let store = open(root, CHANGED);
    work(&store);
    store.close().unwrap();
    take_elsewhere(root);
    fs::write(root.join("queueEnds"), kept).unwrap();
    checkpoint.write_all_at(&ours, 64).unwrap();
}

/// Starts on the store as it was left, after a stop and after a kill, twice each: nothing is thought to be lost, and the queues
/// have so many messages.
fn check(root: &Path, topics: Topics, expected: &[(&str, i32, usize)]) {
    for is_clean in [true, true, false, false] {
        if !is_clean {
            set_abort(root);
        }
        let store = open(root, topics);
        for (topic, queue_id, messages) in expected {
            assert_eq!(count(&store, topic, *queue_id), *messages, "{topic} {queue_id}, clean {is_clean}");
        }
        let positions = Positions::read(root).unwrap().unwrap();
        assert!(positions.log_timestamp > 0, "nothing had to be repaired, clean {is_clean}");
        store.close().unwrap();
    }
}

#[test]
fn a_topic_that_was_deleted_elsewhere_does_not_come_back() {
    let root = filled();
    elsewhere(root.path(), |store| assert!(store.delete_topic("U").unwrap()));
    let without = Topics { gone: "U", ..CHANGED };
    check(root.path(), without, &[("U", 0, 0), ("T", 0, MESSAGES), ("T", 1, MESSAGES)]);
    // made anew here, with one message only, and killed
    let store = open(root.path(), CHANGED);
    append(&store, "U", 0, 0);
    drop(store);
    check(root.path(), CHANGED, &[("U", 0, 1), ("T", 1, MESSAGES)]);
}

#[test]
fn a_topic_that_was_made_anew_elsewhere_is_the_new_one() {
    for messages in [0, 1, 3, MESSAGES + 5] {
        let root = filled();
        elsewhere(root.path(), |store| {
            assert!(store.delete_topic("T").unwrap());
            for n in 0..messages {
                append(store, "T", 1, n);
            }
        });
        check(root.path(), CHANGED, &[("T", 1, messages), ("T", 0, 0), ("U", 0, MESSAGES)]);
        let store = open(root.path(), CHANGED);
        append(&store, "T", 0, 0);
        append(&store, "T", 1, messages);
        drop(store);
        check(root.path(), CHANGED, &[("T", 1, messages + 1), ("T", 0, 1), ("U", 0, MESSAGES)]);
    }
}

#[test]
fn what_expired_elsewhere_is_not_missed() {
    let root = filled();
    elsewhere(root.path(), |store| append(store, "U", 0, MESSAGES));
    fs::remove_file(root.path().join("commitlog/00000000000000000000")).unwrap();
    elsewhere(root.path(), |store| {
        let round = ExpiryRound { now: 0, used_percent: Some(1), by_hand: true };
        assert!(store.expire(&config(root.path()), round).unwrap().queues > 0);
    });
    let store = open(root.path(), CHANGED);
    let left = |topic, queue_id, all: usize| (topic, queue_id, all - store.min_offset(topic, queue_id) as usize);
    let expected = [left("T", 0, MESSAGES), left("T", 1, MESSAGES), left("U", 0, MESSAGES + 1)];
    assert!(expected.iter().all(|(.., count)| (1..MESSAGES).contains(count)), "{expected:?}");
    store.close().unwrap();
    drop(store);
    check(root.path(), CHANGED, &expected);
}

/// Cuts off the last records of the log, as many as have that many bytes.
fn tear(root: &Path, end: i64, bytes: i64) {
    (end - bytes..end).for_each(|at| overwrite(root, at, &[0]));
    set_abort(root);
}

#[test]
fn a_log_that_was_cut_and_went_on_elsewhere_lost_nothing_more() {
    let root = filled();
    let store = open(root.path(), ALL);
    let end = store.max_physical_offset();
    let before = [count(&store, "U", 0), count(&store, "T", 0), count(&store, "T", 1)];
    assert_eq!(before, [MESSAGES; 3]);
    store.close().unwrap();
    drop(store);
    tear(root.path(), end, 3000);
    let mut left = 0;
    elsewhere(root.path(), |store| {
        left = count(store, "T", 0);
        assert!((MESSAGES - 20..MESSAGES - 5).contains(&left), "{left}");
        for n in count(store, "U", 0)..MESSAGES + 50 {
            append(store, "U", 0, n);
        }
    });
    let store = open(root.path(), CHANGED);
    let other = count(&store, "T", 1);
    store.close().unwrap();
    drop(store);
    check(root.path(), CHANGED, &[("U", 0, MESSAGES + 50), ("T", 0, left), ("T", 1, other)]);
}

/// The reference leaves units behind the end at which it cuts a queue; once the log has gone past them they look like good ones.
#[test]
fn units_left_behind_the_end_of_a_queue_lead_to_no_message() {
    let root = filled();
    let store = open(root.path(), ALL);
    let end = store.max_physical_offset();
    store.close().unwrap();
    drop(store);
    let last = root.path().join("consumequeue/T/0").join(format!("{:020}", 7 * 400));
    let units = fs::read(&last).unwrap();
    tear(root.path(), end, 3 * 110 * 3);
    let mut left = 0;
    elsewhere(root.path(), |store| {
        left = count(store, "T", 0);
        assert!((MESSAGES - 9..MESSAGES - 1).contains(&left), "{left}");
        (count(store, "U", 0)..MESSAGES + 50).for_each(|n| append(store, "U", 0, n));
    });
    fs::write(&last, units).unwrap();
    let store = open(root.path(), CHANGED);
    assert_eq!((count(&store, "T", 0), store.max_offset("T", 0)), (left, left as i64));
    store.close().unwrap();
    drop(store);
    check(root.path(), CHANGED, &[("U", 0, MESSAGES + 50), ("T", 0, left)]);
}

/// What was deleted at a place that is no longer the same log may be of the topic's new life.
#[test]
fn a_topic_deleted_here_and_made_anew_elsewhere_in_a_log_that_was_cut_is_served() {
    let root = filled();
    let store = open(root.path(), ALL);
    for n in MESSAGES..2 * MESSAGES {
        append(&store, "T", 0, n);
    }
    assert_eq!(count(&store, "T", 0), 2 * MESSAGES);
    assert!(store.delete_topic("U").unwrap());
    let end = store.max_physical_offset();
    store.close().unwrap();
    drop(store);
    // and what was synced up to there
    let checkpoint = OpenOptions::new().write(true).open(root.path().join("checkpoint")).unwrap();
    checkpoint.write_all_at(&[0; 24], 64).unwrap();
    tear(root.path(), end, 6000);
    elsewhere(root.path(), |store| {
        // its records before the cut brought it back there
        store.delete_topic("U").unwrap();
        for n in 0..MESSAGES {
            append(store, "U", 0, n);
        }
        assert!(store.max_physical_offset() > end);
    });
    for _ in 0..2 {
        set_abort(root.path());
        assert_eq!(count(&open(root.path(), CHANGED), "U", 0), MESSAGES);
    }
}
