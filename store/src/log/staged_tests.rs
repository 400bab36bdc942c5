//! What is staged is seen by nobody, does not stay so, and what is told of is not lost.

use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use apogee_config::{FlushDiskType, MessageStoreConfig};
use apogee_remoting::message::record::Entry;

use super::tests::{FILE, Fixture, bodies, draft};
use super::{AppendError, Appended, Changeable, CommitLog, NeverReached, RecoverFrom};
use crate::dispatch::Marks;
use crate::files::watch::{Act, Answer, Watch, Watcher};

/// Each message is synced, and nobody comes by at intervals.
fn synced() -> MessageStoreConfig {
    MessageStoreConfig {
        flush_disk_type: FlushDiskType::SyncFlush,
        flush_interval_commit_log: i32::MAX,
        ..MessageStoreConfig::default()
    }
}

/// A log whose disk is quick; `None` where nobody may lead, as there is one processor.
fn quick(fixture: &Fixture, keys: MessageStoreConfig) -> Option<Arc<CommitLog>> {
    let log = fixture.open_with(RecoverFrom::default(), keys);
    log.flushed.reach(log.flushed(), Duration::ZERO, || log.end(), None);
    log.flushed.is_quick().then_some(log)
}

fn awaited(fixture: &Fixture, log: &CommitLog, body: &[u8]) -> Appended {
    log.append_awaited(&draft(body), &Marks::default(), fixture.queue()).unwrap()
}

fn texts(log: &CommitLog) -> Vec<String> {
    bodies(log).into_iter().map(|(_, body)| String::from_utf8(body).unwrap()).collect()
}

#[test]
fn what_is_staged_is_seen_when_it_is_written() {
    let fixture = Fixture::new();
    let Some(log) = quick(&fixture, synced()) else { return };
    let staged = [b"one", b"two"].map(|body| awaited(&fixture, &log, body));
    assert_eq!((log.written(), log.end(), bodies(&log).len()), (0, staged[1].end(), 0));
    // one who does not wait cannot wait for them
    let third = fixture.append(&log, b"three");
    assert_eq!((log.written(), third.physical_offset, third.queue_offset), (third.end(), staged[1].end(), 2));
    assert_eq!(texts(&log), ["one", "two", "three"]);
    let fourth = awaited(&fixture, &log, b"four");
    assert_eq!((log.written(), log.end()), (third.end(), fourth.end()));
    // whoever syncs
    log.flush(0, None).unwrap();
    assert_eq!((log.written(), log.flushed(), texts(&log).len()), (fourth.end(), fourth.end(), 4));
    awaited(&fixture, &log, b"five");
    assert!(log.close());
    assert_eq!(texts(&fixture.after_kill()), ["one", "two", "three", "four", "five"]);
}

/// Its producer is told that it is stored.
#[test]
fn what_nobody_waits_for_any_more_is_written() {
    let fixture = Fixture::new();
    let Some(log) = quick(&fixture, synced()) else { return };
    let stored = awaited(&fixture, &log, b"one");
    // a sync that hangs
    let syncing = log.syncing.lock();
    {
        let mut wait = pin!(log.wait_flushed(stored.end()));
        for _ in 0..5 {
            assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!(log.written(), 0);
    }
    assert_eq!((log.written(), texts(&log).len()), (stored.end(), 1));
    drop(syncing);
    log.close();
}

#[test]
fn what_nobody_ever_waits_for_is_written_by_interval() {
    let fixture = Fixture::new();
    let keys = MessageStoreConfig { flush_interval_commit_log: 1, ..synced() };
    let Some(log) = quick(&fixture, keys) else { return };
    let stored = awaited(&fixture, &log, b"one");
    let deadline = Instant::now() + Duration::from_secs(30);
    while log.written() < stored.end() {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
    log.close();
}

#[test]
fn what_is_staged_comes_before_what_is_no_longer_synced() {
    let fixture = Fixture::new();
    let Some(log) = quick(&fixture, synced()) else { return };
    awaited(&fixture, &log, b"one");
    for is_synced in [false, true] {
        let changeable = **log.changeable.load();
        log.change(Changeable { synced: is_synced, ..changeable });
        assert_eq!(log.written(), log.end());
        awaited(&fixture, &log, b"more");
    }
    assert!(log.close());
    assert_eq!(texts(&fixture.after_kill()), ["one", "more", "more"]);
}

/// Refuses to write.
struct Refusing;

impl Watcher for Refusing {
    fn before(&self, act: Act<'_>, _: &Path) -> io::Result<Answer> {
        if matches!(act, Act::Write) { Err(io::Error::other("refused")) } else { Ok(Answer::GoOn) }
    }
}

#[tokio::test]
async fn those_who_wait_are_told_when_another_cannot_write() {
    let fixture = Fixture::new();
    let Some(log) = quick(&fixture, synced()) else { return };
    let staged = awaited(&fixture, &log, b"one");
    let watch = Watch::new(fixture.directory.path(), Arc::new(Refusing));
    let refused = log.append(&draft(b"two"), &Marks::default(), fixture.queue());
    assert!(matches!(refused, Err(AppendError::Broken(_))), "{refused:?}");
    drop(watch);
    let told = tokio::time::timeout(Duration::from_secs(30), log.wait_flushed(staged.end())).await.unwrap();
    assert!(matches!(told, Err(NeverReached::SyncFailed(_))), "{told:?}");
    assert_eq!((log.written(), log.close()), (0, false));
}

#[test]
fn files_change_between_what_is_staged_and_what_is_not() {
    let fixture = Fixture::new();
    let Some(log) = quick(&fixture, synced()) else { return };
    thread::scope(|scope| {
        for task in 0..4_usize {
            let (log, fixture) = (&log, &fixture);
            scope.spawn(move || {
                for n in 0..100 {
                    let body = vec![task as u8; 200 + 7 * n];
                    if (task + n).is_multiple_of(5) {
                        let stored = fixture.append(log, &body);
                        assert!(log.written() >= stored.end());
                    } else {
                        awaited(fixture, log, &body);
                    }
                    if n % 25 == task {
                        log.flush(0, None).unwrap();
                    }
                }
            });
        }
    });
    log.write_staged().unwrap();
    let found = bodies(&log);
    assert!(log.written() > 10 * FILE as i64 && found.len() == 400, "{} {}", log.written(), found.len());
    assert!(log.close());
    assert_eq!(bodies(&fixture.after_kill()), found);
}

/// The blank that closes a file, and what follows it, lie where zeros are written ahead.
#[test]
fn the_end_of_a_file_meets_the_zeros_written_ahead() {
    const SIZE: usize = (1 << 20) + (300 << 10) + 12;
    let fixture = Fixture::new();
    let log = fixture.open_sized(RecoverFrom::default(), synced(), SIZE);
    let mut sent = 0;
    while log.written() < 5 * SIZE as i64 {
        // the last bytes of a file are few, or many
        let body = vec![sent as u8 | 1; if sent % 3 == 0 { 3000 } else { 100 + sent % 1000 }];
        fixture.append(&log, &body);
        sent += 1;
        if sent % 50 == 0 {
            // zeros may come ahead of it
            log.flush(0, None).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(log.close());
    assert_eq!(bodies(&log).len(), sent);
    for start in (0..5).map(|n| n * SIZE) {
        let file = fs::read(fixture.path().join(format!("{start:020}"))).unwrap();
        let mut at = 0;
        while let Ok(Entry::Record(record)) = Entry::read(&file[at..]) {
            assert_eq!(record.physical_offset, (start + at) as i64);
            record.verify(false).unwrap();
            at += record.size();
        }
        let rest = SIZE - at;
        assert!(rest < 8 || matches!(Entry::read(&file[at..]), Ok(Entry::Blank(size)) if size == rest), "{start}");
        assert!(file[(at + 8).min(SIZE)..].iter().all(|byte| *byte == 0), "{start}");
    }
    assert_eq!(bodies(&fixture.open_sized(RecoverFrom::default(), synced(), SIZE)).len(), sent);
}
