//! A disk that refuses: what is answered, and what is there afterwards.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use apogee_config::{FlushDiskType, MessageStoreConfig};
use apogee_remoting::message::record::Draft;
use parking_lot::Mutex;
use rustix::io::Errno;
use tempfile::TempDir;

use crate::files::watch::{Act, Answer, Holding, Watch, Watcher};
use crate::{
    AppendError, Appended, ExpiryRound, GetRequest, GetStatus, Hooks, IndexKind, KeyQuery, Marks, NeverReached, Store,
};

/// Refuses what `refuses` says, while it is switched on.
struct Refusing {
    on: AtomicBool,
    refuses: fn(Act<'_>, &Path) -> bool,
    error: Errno,
}

impl Watcher for Refusing {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if self.on.load(Ordering::Acquire) && (self.refuses)(act, path) {
            return Err(self.error.into());
        }
        Ok(Answer::GoOn)
    }
}

struct Fixture {
    root: TempDir,
    disk: Arc<Refusing>,
    _watch: Watch,
}

impl Fixture {
    fn new(error: Errno, refuses: fn(Act<'_>, &Path) -> bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        let disk = Arc::new(Refusing { on: AtomicBool::new(false), refuses, error });
        let watch = Watch::new(root.path(), Arc::clone(&disk) as _);
        Self { root, disk, _watch: watch }
    }

    fn refuse(&self, on: bool) {
        self.disk.on.store(on, Ordering::Release);
    }

    fn config(&self) -> MessageStoreConfig {
        config(self.root.path())
    }

    fn open(&self) -> Arc<Store> {
        Store::open(&self.config(), Hooks::default()).unwrap()
    }
}

fn config(root: &Path) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 16 * 1024,
        mapped_file_size_consume_queue: 20 * 10,
        max_hash_slot_num: 20,
        max_index_num: 40,
        flush_interval_commit_log: 1,
        flush_commit_log_least_pages: 0,
        flush_interval_consume_queue: 1,
        flush_consume_queue_least_pages: 0,
        ..MessageStoreConfig::default()
    }
}

fn append(store: &Store, n: i64) -> Result<Appended, AppendError> {
    store.append(&Draft {
        properties: format!("KEYS\x01key-{n}\x02").as_bytes(),
        ..Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), &[7; 1000])
    })
}

/// The messages 0.. are there, by queue and by key.
fn has_all(store: &Store, count: i64) {
    wait_for("dispatch", || store.dispatch_behind_bytes() == 0);
    assert_eq!((store.min_offset("T", 0), store.max_offset("T", 0)), (0, count));
    for offset in 0..count {
        let request = GetRequest { topic: "T", queue_id: 0, offset, max_count: 1, max_bytes: 1 };
        assert_eq!(store.get(&request, None).unwrap().status, GetStatus::Found, "{offset}");
        let key = format!("key-{offset}");
        let query = KeyQuery { topic: "T", key: &key, kind: IndexKind::Key, max: 9, begin: 0, end: i64::MAX };
        assert_eq!(store.query_by_key(&query).unwrap().records.len(), 1, "{offset}");
    }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn flushed(store: &Store, position: i64) -> Result<(), NeverReached> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(store.flushed(position))
}

fn is_in(path: &Path, directory: &str) -> bool {
    path.components().any(|part| part.as_os_str() == directory)
}

/// Whoever may not wait is told so, and an error of the disk is an error: in a mapping it would end the process.
#[test]
fn what_is_not_in_memory_is_read_by_who_may_wait() {
    const LOG: fn(Act<'_>, &Path) -> bool = |act, path| matches!(act, Act::ReadAtOnce) && is_in(path, "commitlog");
    const QUEUE: fn(Act<'_>, &Path) -> bool = |act, path| matches!(act, Act::ReadAtOnce) && is_in(path, "consumequeue");
    let request = GetRequest { topic: "T", queue_id: 0, offset: 0, max_count: 9, max_bytes: usize::MAX };
    for (refuses, is_new_at_once) in [(LOG, true), (QUEUE, false)] {
        let fixture = Fixture::new(Errno::AGAIN, refuses);
        let store = fixture.open();
        for n in 0..30 {
            append(&store, n).unwrap();
        }
        has_all(&store, 30);
        store.close().unwrap();
        drop(store);
        // what another process wrote may be anywhere
        let store = fixture.open();
        fixture.refuse(true);
        assert!(store.get_at_once(&request, None).unwrap().is_none());
        let read = store.get(&request, None).unwrap();
        assert_eq!(read.count, 9);
        fixture.refuse(false);
        let at_once = store.get_at_once(&request, None).unwrap();
        assert!(at_once.is_none_or(|found| found.runs.concat() == read.runs.concat()));
        // of what this one wrote nobody is asked
        fixture.refuse(is_new_at_once);
        append(&store, 30).unwrap();
        wait_for("dispatch", || store.dispatch_behind_bytes() == 0);
        let newest = store.get_at_once(&GetRequest { offset: 30, ..request }, None).unwrap();
        assert_eq!(newest.unwrap().count, 1);
        fixture.refuse(false);
        store.close().unwrap();
    }
    let fixture =
        Fixture::new(Errno::IO, |act, path| matches!(act, Act::Read | Act::ReadAtOnce) && is_in(path, "commitlog"));
    let store = fixture.open();
    append(&store, 0).unwrap();
    has_all(&store, 1);
    store.close().unwrap();
    drop(store);
    let store = fixture.open();
    fixture.refuse(true);
    assert_eq!(store.get(&request, None).unwrap_err().raw_os_error(), Some(Errno::IO.raw_os_error()));
    assert!(store.record_at(0).is_err());
    fixture.refuse(false);
    has_all(&store, 1);
    store.close().unwrap();
}

#[test]
fn a_failed_sync_of_the_log_is_final() {
    let fixture = Fixture::new(Errno::IO, |act, path| matches!(act, Act::Sync { .. }) && is_in(path, "commitlog"));
    let store = fixture.open();
    let first = append(&store, 0).unwrap();
    flushed(&store, first.end()).unwrap();
    fixture.refuse(true);
    let second = append(&store, 1).unwrap();
    assert!(matches!(flushed(&store, second.end()), Err(NeverReached::SyncFailed(_))));
    // it is not tried again
    fixture.refuse(false);
    assert!(matches!(append(&store, 2), Err(AppendError::Broken(_))));
    assert!(store.is_broken() && store.flushed_offset() == first.end());
    assert!(store.close().is_err());
    assert!(fixture.root.path().join("abort").exists());
    drop(store);
    // what the page cache still had
    let store = fixture.open();
    has_all(&store, 2);
    append(&store, 2).unwrap();
    has_all(&store, 3);
    store.close().unwrap();
}

/// With `SYNC_FLUSH` records are written by system calls, which say what in a mapping would end the process. Zeros ahead of
/// them are written, too, and nobody depends on these.
#[test]
fn a_log_that_cannot_be_written_takes_nothing_more() {
    for error in [Errno::IO, Errno::NOSPC] {
        let fixture = Fixture::new(error, |act, path| matches!(act, Act::Write) && is_in(path, "commitlog"));
        let synced = MessageStoreConfig { flush_disk_type: FlushDiskType::SyncFlush, ..fixture.config() };
        let store = Store::open(&synced, Hooks::default()).unwrap();
        let first = append(&store, 0).unwrap();
        fixture.refuse(true);
        assert!(matches!(append(&store, 1), Err(AppendError::Broken(_))));
        fixture.refuse(false);
        assert!(matches!(append(&store, 2), Err(AppendError::Broken(_))));
        // what was there before comes to disk all the same
        flushed(&store, first.end()).unwrap();
        has_all(&store, 1);
        store.close().unwrap();
        drop(store);
        let store = fixture.open();
        has_all(&store, 1);
        append(&store, 1).unwrap();
        has_all(&store, 2);
        store.close().unwrap();
    }
}

/// Whoever waits for it is told, or is told at once.
#[test]
fn what_waits_for_its_sync_and_cannot_be_written_is_refused() {
    let fixture = Fixture::new(Errno::IO, |act, path| matches!(act, Act::Write) && is_in(path, "commitlog"));
    let config = MessageStoreConfig { flush_disk_type: FlushDiskType::SyncFlush, ..fixture.config() };
    let store = Store::open(&config, Hooks::default()).unwrap();
    let append = |n: i64| {
        let properties = format!("KEYS\x01key-{n}\x02");
        let draft = Draft {
            properties: properties.as_bytes(),
            ..Draft::new("T", 0, ([127, 0, 0, 1], 10_911).into(), &[7; 1000])
        };
        let marks = Marks { keys: Some(&properties.as_bytes()[5..properties.len() - 1]), ..Marks::default() };
        store.append_awaited(&draft, &marks).map_err(|error| error.to_string())
    };
    let awaited = |appended: Result<Appended, String>| {
        appended.and_then(|appended| flushed(&store, appended.end()).map_err(|error| error.to_string()))
    };
    for n in 0..20 {
        awaited(append(n)).unwrap();
    }
    fixture.refuse(true);
    let appended = append(20);
    // not where the last sync was slow
    let was_staged = appended.is_ok();
    assert!(awaited(appended).is_err());
    assert!(store.is_broken() && append(21).is_err());
    fixture.refuse(false);
    assert!(append(22).is_err());
    has_all(&store, 20);
    assert_eq!(store.close().is_err(), was_staged, "what had its place is missing");
    drop(store);
    has_all(&fixture.open(), 20);
}

/// The last file of the reference's log is sparse: writing into a hole of a full disk that is mapped would end the process.
#[test]
fn a_sparse_file_gets_its_space_before_it_is_written() {
    // more than is made present at first
    const FILE: u64 = 4 << 20;
    for can_allocate in [true, false] {
        let fixture =
            Fixture::new(Errno::OPNOTSUPP, |act, path| matches!(act, Act::Allocate) && is_in(path, "commitlog"));
        fixture.refuse(!can_allocate);
        let config = MessageStoreConfig { mapped_file_size_commit_log: FILE as i32, ..fixture.config() };
        let open = || Store::open(&config, Hooks::default()).unwrap();
        let file = fixture.root.path().join(format!("commitlog/{:020}", 0));
        let space = || fs::metadata(&file).unwrap().blocks() * 512;
        let store = open();
        append(&store, 0).unwrap();
        assert!(space() >= FILE, "a new one, {can_allocate}");
        let end = store.max_physical_offset() as u64;
        store.close().unwrap();
        drop(store);
        let last = File::options().write(true).open(&file).unwrap();
        last.set_len(end).unwrap();
        last.set_len(FILE).unwrap();
        assert!(space() < FILE);
        let store = open();
        assert!(space() >= FILE, "one that is there, {can_allocate}");
        append(&store, 1).unwrap();
        has_all(&store, 2);
        store.close().unwrap();
    }
}

/// Without space, or on a file system that became read-only, there is no next file; messages are taken again when there is.
#[test]
fn no_space_for_the_next_file_refuses_messages_only() {
    let allocation: fn(Act<'_>, &Path) -> bool = |act, path| matches!(act, Act::Allocate) && is_in(path, "commitlog");
    for (error, text_of_error, refuses) in [
        (Errno::NOSPC, "No space", allocation),
        (Errno::NOSPC, "No space", |act, path| matches!(act, Act::SyncDirectory) && is_in(path, "commitlog")),
        (Errno::ROFS, "Read-only", allocation),
    ] {
        let fixture = Fixture::new(error, refuses);
        let store = fixture.open();
        append(&store, 0).unwrap();
        fixture.refuse(true);
        let mut count = 1;
        let refused = loop {
            match append(&store, count) {
                Ok(_) => count += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(&refused, AppendError::DiskFull(text) if text.contains(text_of_error)), "{refused}");
        // the next file may have been made before
        assert!((14..40).contains(&count), "{count}");
        has_all(&store, count);
        fixture.refuse(false);
        wait_for("space", || append(&store, count).is_ok());
        has_all(&store, count + 1);
        store.close().unwrap();
        drop(store);
        has_all(&fixture.open(), count + 1);
    }
}

/// There are no files that hang: one that cannot be removed stays in the log, is read, and goes when it can.
#[test]
fn a_file_that_cannot_be_removed_stays_and_goes_later() {
    for directory in ["commitlog", "consumequeue", "index"] {
        let fixture = Fixture::new(
            Errno::BUSY,
            match directory {
                "commitlog" => |act, path| matches!(act, Act::Remove) && is_in(path, "commitlog"),
                "consumequeue" => |act, path| matches!(act, Act::Remove) && is_in(path, "consumequeue"),
                _ => |act, path| matches!(act, Act::Remove) && is_in(path, "index"),
            },
        );
        let config =
            MessageStoreConfig { file_reserved_time: 0, delete_commit_log_files_interval: 0, ..fixture.config() };
        let store = Store::open(&config, Hooks::default()).unwrap();
        for n in 0..100 {
            append(&store, n).unwrap();
        }
        has_all(&store, 100);
        flushed(&store, store.max_physical_offset()).unwrap();
        // what is not written down yet has no file that could go
        let queue = fixture.root.path().join("consumequeue/T/0");
        wait_for("files of the queue", || std::fs::read_dir(&queue).is_ok_and(|files| files.count() == 10));
        let round = ExpiryRound { now: i64::MAX / 2, used_percent: None, by_hand: true };
        fixture.refuse(true);
        assert!(store.expire(&config, round).is_err(), "{directory}");
        if directory == "commitlog" {
            has_all(&store, 100);
        }
        fixture.refuse(false);
        let expired = store.expire(&config, round).unwrap();
        // the others were cleaned at once
        let is_cleaned = [directory == "consumequeue" || expired.index > 0, directory == "index" || expired.queues > 0];
        assert_eq!(is_cleaned, [true; 2], "{directory} {expired:?}");
        assert!(store.min_physical_offset() > 0 && store.min_offset("T", 0) > 0);
        store.close().unwrap();
        drop(store);
        let files = std::fs::read_dir(fixture.root.path().join(directory)).unwrap().count();
        let store = Store::open(&config, Hooks::default()).unwrap();
        assert_eq!(std::fs::read_dir(fixture.root.path().join(directory)).unwrap().count(), files);
        store.close().unwrap();
    }
}

/// One directory of several without space is passed over.
#[test]
fn a_full_directory_leaves_its_turn_to_the_next() {
    let fixture = Fixture::new(Errno::NOSPC, |act, path| matches!(act, Act::Allocate) && is_in(path, "full"));
    let [full, other] = ["full", "other"].map(|name| fixture.root.path().join(name));
    let config = MessageStoreConfig {
        store_path_commit_log: Some(format!("{},{}", full.display(), other.display())),
        ..fixture.config()
    };
    fixture.refuse(true);
    let store = Store::open(&config, Hooks::default()).unwrap();
    for n in 0..60 {
        append(&store, n).unwrap();
    }
    has_all(&store, 60);
    store.close().unwrap();
    drop(store);
    assert_eq!(std::fs::read_dir(full).unwrap().count(), 0);
    let store = Store::open(&config, Hooks::default()).unwrap();
    has_all(&store, 60);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let fixture = Fixture::new(Errno::IO, |_, _| false);
    let store = fixture.open();
    append(&store, 0).unwrap();
    store.close().unwrap();
    drop(store);
    let index = std::fs::read_dir(fixture.root.path().join("index")).unwrap().next().unwrap().unwrap().path();
    let queue = fixture.root.path().join("consumequeue/T/0/00000000000000000000");
    for path in [fixture.root.path().join("checkpoint"), fixture.root.path().join("lock"), queue, index] {
        let aside = fixture.root.path().join("aside");
        std::fs::rename(&path, &aside).unwrap();
        std::fs::create_dir(&path).unwrap();
        let error = Store::open(&fixture.config(), Hooks::default()).err().unwrap().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
    }
    has_all(&fixture.open(), 1);
}

#[test]
fn queues_and_index_that_cannot_be_written_are_completed_later() {
    for (directory, error) in [
        ("consumequeue", Errno::NOSPC),
        ("consumequeue", Errno::ROFS),
        ("index", Errno::NOSPC),
        ("index", Errno::ROFS),
        ("checkpoint", Errno::NOSPC),
    ] {
        let fixture = Fixture::new(
            error,
            match directory {
                "consumequeue" => |act, path| matches!(act, Act::Write) && is_in(path, "consumequeue"),
                "index" => |act, path| matches!(act, Act::Write) && is_in(path, "index"),
                _ => |act, path| matches!(act, Act::Write) && is_in(path, "checkpoint"),
            },
        );
        for is_killed in [false, true] {
            let store = fixture.open();
            let before = store.max_offset("T", 0);
            fixture.refuse(true);
            for n in before..before + 45 {
                append(&store, n).unwrap();
            }
            if is_killed {
                // nothing of it is written down, and the next start does it
                assert!(store.close().is_err() || directory == "checkpoint", "{directory}");
                fixture.refuse(false);
            } else {
                fixture.refuse(false);
                has_all(&store, before + 45);
                store.close().unwrap();
            }
            drop(store);
            let store = fixture.open();
            has_all(&store, before + 45);
            store.close().unwrap();
        }
    }
}

/// What a full disk still has can be read after a restart, and there is room for messages in the last file.
#[test]
fn a_store_that_was_closed_opens_on_a_full_disk() {
    let fixture = Fixture::new(Errno::NOSPC, |act, path| {
        matches!(act, Act::Write | Act::Allocate) && path.file_name().is_some_and(|name| name == "abort")
    });
    let store = fixture.open();
    append(&store, 0).unwrap();
    store.close().unwrap();
    drop(store);
    fixture.refuse(true);
    let store = fixture.open();
    let abort = fixture.root.path().join("abort");
    assert!(abort.exists());
    append(&store, 1).unwrap();
    has_all(&store, 2);
    store.close().unwrap();
    assert!(!abort.exists());
}

/// The same after a kill, where the index is made anew into a file that has no space yet.
#[test]
fn a_store_that_was_killed_opens_on_a_full_disk() {
    let fixture = Fixture::new(Errno::NOSPC, |act, path| matches!(act, Act::Write) && is_in(path, "index"));
    let store = fixture.open();
    for n in 0..5 {
        append(&store, n).unwrap();
    }
    has_all(&store, 5);
    store.close().unwrap();
    drop(store);
    fs::write(fixture.root.path().join("abort"), "").unwrap();
    fixture.refuse(true);
    let store = fixture.open();
    has_all(&store, 5);
    append(&store, 5).unwrap();
    has_all(&store, 6);
    assert!(store.close().is_err());
    drop(store);
    let store = fixture.open();
    fixture.refuse(false);
    has_all(&store, 6);
    store.close().unwrap();
    drop(store);
    has_all(&fixture.open(), 6);
}

/// What was synced in vain counts as not synced, whatever a later sync says.
#[test]
fn queues_and_index_that_cannot_be_synced_leave_no_clean_stop() {
    for directory in ["consumequeue", "index"] {
        let fixture = Fixture::new(
            Errno::IO,
            match directory {
                "consumequeue" => |act, path| matches!(act, Act::Sync { .. }) && is_in(path, "consumequeue"),
                _ => |act, path| matches!(act, Act::Sync { .. }) && is_in(path, "index"),
            },
        );
        let store = fixture.open();
        append(&store, 0).unwrap();
        fixture.refuse(true);
        assert!(store.close().is_err(), "{directory}");
        fixture.refuse(false);
        drop(store);
        assert!(fixture.root.path().join("abort").exists());
        let store = fixture.open();
        has_all(&store, 1);
        store.close().unwrap();
    }
}

/// Producers go on sending until they learn of a deletion, which must not be the less one.
#[test]
fn a_topic_that_is_sent_to_while_its_deletion_waits_for_the_disk_is_deleted() {
    let root = tempfile::tempdir().unwrap();
    let disk = Holding::new(|act, path| matches!(act, Act::Sync { .. }) && path.ends_with("queueEnds.tmp"));
    let _watch = Watch::new(root.path(), Arc::clone(&disk) as _);
    let store = Store::open(&config(root.path()), Hooks::default()).unwrap();
    disk.set(true);
    append(&store, 0).unwrap();
    wait_for("a look at the queues", || disk.count() == 1);
    let both = Barrier::new(2);
    thread::scope(|scope| {
        let deleting = scope.spawn(|| {
            both.wait();
            store.delete_topic("T").unwrap()
        });
        both.wait();
        append(&store, 1).unwrap();
        wait_for("dispatch", || store.max_offset("T", 0) == 2);
        disk.set(false);
        assert!(deleting.join().unwrap());
    });
    assert_eq!((store.topics(), store.max_offset("T", 0)), (Vec::new(), 0));
    store.close().unwrap();
}

/// Notes the directories that are synced.
#[derive(Default)]
struct Noting(Mutex<Vec<PathBuf>>);

impl Watcher for Noting {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if matches!(act, Act::SyncDirectory) && is_in(path, "consumequeue") {
            self.0.lock().push(path.to_owned());
        }
        Ok(Answer::GoOn)
    }
}

/// A sync takes a disk milliseconds, and a broker may have very many new queues.
#[test]
fn a_stop_syncs_each_directory_of_new_queues_once() {
    const TOPICS: i32 = 10;
    const QUEUES: i32 = 4;
    let root = tempfile::tempdir().unwrap();
    let config = MessageStoreConfig { flush_interval_consume_queue: i32::MAX, ..config(root.path()) };
    let store = Store::open(&config, Hooks::default()).unwrap();
    for n in 0..TOPICS * QUEUES {
        let topic = format!("T{}", n % TOPICS);
        store.append(&Draft::new(&topic, n / TOPICS, ([127, 0, 0, 1], 10_911).into(), b"new")).unwrap();
    }
    wait_for("dispatch", || store.dispatch_behind_bytes() == 0);
    let noting = Arc::new(Noting::default());
    let watch = Watch::new(root.path(), Arc::clone(&noting) as _);
    store.close().unwrap();
    drop(watch);
    let mut synced = std::mem::take(&mut *noting.0.lock());
    synced.sort();
    synced.dedup_by(|again, first| {
        assert_ne!(again, first);
        false
    });
    assert_eq!(synced.len() as i32, TOPICS * QUEUES + TOPICS + 1);
}
