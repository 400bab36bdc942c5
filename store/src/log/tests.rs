use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use apogee_config::{FlushDiskType, MessageStoreConfig};
use apogee_remoting::message::record::{Draft, Entry, LEAST_SIZE, MAGIC_BLANK, Record};
use tempfile::TempDir;

use super::*;
use crate::checkpoint::Positions;
use crate::clock::Clock;
use crate::dispatch::Marks;
use crate::queue::{Queue, QueueTable};
use crate::read::RecordSource;

pub(super) const FILE: usize = 16 * 1024;

/// A log in a directory of its own, with a queue and a clock set by hand.
pub(super) struct Fixture {
    pub(super) directory: TempDir,
    now: Arc<AtomicI64>,
    queues: QueueTable,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let queues = QueueTable::new(directory.path().join("queues"), 6_000_000, 4);
        Self { directory, now: Arc::new(AtomicI64::new(1000)), queues }
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("commitlog")
    }

    fn open(&self, known: RecoverFrom) -> Arc<CommitLog> {
        self.open_with(known, MessageStoreConfig::default())
    }

    pub(super) fn open_with(&self, known: RecoverFrom, keys: MessageStoreConfig) -> Arc<CommitLog> {
        self.open_sized(known, keys, FILE)
    }

    pub(super) fn open_sized(&self, known: RecoverFrom, keys: MessageStoreConfig, file: usize) -> Arc<CommitLog> {
        let config = MessageStoreConfig {
            store_path_root_dir: self.directory.path().to_str().unwrap().to_owned(),
            mapped_file_size_commit_log: file as i32,
            max_message_size: 8192,
            ..keys
        };
        let options = LogOptions { clock: Clock::Manual(Arc::clone(&self.now)), ..LogOptions::from_config(&config) };
        CommitLog::recover(options, known, Waker::default()).unwrap().0
    }

    pub(super) fn after_kill(&self) -> Arc<CommitLog> {
        self.open(RecoverFrom::default())
    }

    pub(super) fn queue(&self) -> Arc<Queue> {
        self.queues.get_or_create("t", 0).unwrap()
    }

    pub(super) fn append(&self, log: &CommitLog, body: &[u8]) -> Appended {
        append(log, &draft(body), self.queue()).unwrap()
    }

    /// A log with records of 100 bytes of body, over two files and a bit.
    fn filled(&self) -> Vec<Appended> {
        let log = self.after_kill();
        let mut all = Vec::new();
        while log.written() < 2 * FILE as i64 + 2000 {
            self.now.fetch_add(1, Ordering::Relaxed);
            all.push(self.append(&log, &[all.len() as u8; 100]));
        }
        assert!(log.close());
        all
    }
}

fn append(log: &CommitLog, draft: &Draft<'_>, queue: Arc<Queue>) -> Result<Appended, AppendError> {
    log.append(draft, &Marks::default(), queue)
}

pub(super) fn draft(body: &[u8]) -> Draft<'_> {
    Draft { born_timestamp: 7, ..Draft::new("t", 0, ([127, 0, 0, 1], 10_911).into(), body) }
}

fn size(body: usize) -> usize {
    LEAST_SIZE + body + 1
}

fn patch(log: &Path, file: i64, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(log.join(format!("{:020}", file * FILE as i64))).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

/// All records of the log that can be walked to.
pub(super) fn bodies(log: &CommitLog) -> Vec<(i64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = log.min_offset();
    while let Some(window) = log.window(at, 4096).unwrap() {
        match Entry::read(&window) {
            Ok(Entry::Record(record)) => {
                assert_eq!(record.physical_offset, at);
                record.verify(false).unwrap();
                found.push((at, record.body.to_vec()));
                at += record.size() as i64;
            }
            _ => at = log.next_file_start(at),
        }
    }
    found
}

#[test]
fn what_is_appended_is_read() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    let first = fixture.append(&log, b"one");
    fixture.now.store(900, Ordering::Relaxed); // the clock is set back
    let second = fixture.append(&log, b"two");
    let expected = Appended { physical_offset: 0, size: size(3), queue_offset: 0, store_timestamp: 1000 };
    assert_eq!(first, expected);
    assert_eq!(second, Appended { physical_offset: first.end(), queue_offset: 1, ..expected });
    assert_eq!((log.written(), fixture.queue().next_offset()), (second.end(), 2));
    let bytes = log.slice(second.physical_offset, second.size).unwrap().unwrap();
    let record = Record::parse(&bytes).unwrap();
    assert_eq!((record.body, record.queue_offset, record.store_timestamp), (&b"two"[..], 1, 1000));
    assert!(log.slice(second.physical_offset, second.size + 1).unwrap().is_none());
    assert!(log.close());
    assert_eq!(bytes, log.slice(second.physical_offset, second.size).unwrap().unwrap());
    assert_eq!(append(&log, &draft(b"x"), fixture.queue()), Err(AppendError::Shutdown));
}

#[test]
fn a_blank_closes_a_file() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    // leaves exactly the room of a record and a blank, then one byte less
    let fill = FILE - 2 * size(100) - 8;
    let a = fixture.append(&log, &vec![1; fill / 2 - size(0)]);
    let b = fixture.append(&log, &vec![2; fill - a.size - size(0)]);
    let c = fixture.append(&log, &[3; 100]);
    assert_eq!((b.physical_offset, c.end() as usize), (a.end(), FILE - size(100) - 8));
    let fits = fixture.append(&log, &[4; 100]);
    assert_eq!(fits.physical_offset, c.end());
    let next = fixture.append(&log, &[5; 1]);
    assert_eq!((next.physical_offset, next.queue_offset), (FILE as i64, 4));
    let blank = log.window(fits.end(), 8).unwrap().unwrap();
    assert_eq!(Entry::read(&blank), Ok(Entry::Blank(8)));
    assert_eq!(bodies(&log).len(), 5);
    // a record across the edge is never given out
    assert!(log.slice(FILE as i64 - 8, 16).unwrap().is_none());
    log.close();
}

/// A process may die, and the power go, anywhere between the last record of a file and the first of the next.
#[test]
fn a_stop_in_the_middle_of_a_change_of_files_loses_nothing() {
    for blank in [0, 4, 8] {
        for next in [None, Some(0), Some(FILE / 2), Some(FILE)] {
            let fixture = Fixture::new();
            let log = fixture.after_kill();
            while FILE as i64 - log.written() >= size(1000) as i64 + 8 {
                fixture.append(&log, &[1; 1000]);
            }
            let (end, before) = (log.written(), bodies(&log));
            assert!(log.close());
            let path = fixture.path().join(format!("{FILE:020}"));
            let _ = fs::remove_file(&path);
            if let Some(length) = next {
                fs::write(&path, vec![0; length]).unwrap();
            }
            let rest = FILE as u32 - end as u32;
            let head = [rest.to_be_bytes(), MAGIC_BLANK.to_be_bytes()].concat();
            patch(&fixture.path(), 0, end as u64, &head[..blank]);

            // the second time as the first start has left it
            for _ in 0..2 {
                let log = fixture.after_kill();
                let expected = if blank == 8 { FILE as i64 } else { end };
                assert_eq!((log.written(), bodies(&log)), (expected, before.clone()), "{blank} {next:?}");
                log.close();
            }
            let log = fixture.after_kill();
            let first = fixture.append(&log, &[2; 1000]);
            assert_eq!(first.physical_offset, FILE as i64, "{blank} {next:?}");
            assert_eq!(bodies(&log).len(), before.len() + 1);
            log.close();
            assert_eq!(bodies(&fixture.after_kill()).len(), before.len() + 1);
        }
    }
}

#[test]
fn a_batch_stays_together() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    for _ in 0..2 {
        fixture.append(&log, &[1; 6000]);
    }
    let queue = fixture.queue();
    let body = [2; 1500];
    let batch = log.append_all((0..3).map(|_| (draft(&body), &queue))).unwrap();
    assert_eq!(batch.iter().map(|m| m.queue_offset).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(batch[0].physical_offset, FILE as i64);
    assert!(batch.windows(2).all(|pair| pair[0].end() == pair[1].physical_offset));
    let large = [3; 8192];
    let refused = log.append_all((0..2).map(|_| (draft(&large), &queue)));
    assert!(matches!(refused, Err(AppendError::MessageTooLarge { limit, .. }) if limit == FILE - 8));
    let refused = append(&log, &draft(&[0; 8193]), Arc::clone(&queue));
    assert_eq!(refused, Err(AppendError::MessageTooLarge { size: 8193, limit: 8192 }));
    assert!(log.append_all(std::iter::empty()).unwrap().is_empty());
    assert_eq!((queue.next_offset(), bodies(&log).len()), (5, 5));
    log.close();
}

#[test]
fn many_append_and_read_at_once() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    let queue = fixture.queue();
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let (log, queue) = (&log, &queue);
            scope.spawn(move || {
                for n in 0..300_u32 {
                    let body = [&[writer], &n.to_be_bytes()[..], &[writer; 100]].concat();
                    let stored = append(log, &draft(&body), Arc::clone(queue)).unwrap();
                    let bytes = log.slice(stored.physical_offset, stored.size).unwrap().unwrap();
                    let record = Record::parse(&bytes).unwrap();
                    assert_eq!((record.body, record.queue_offset), (&body[..], stored.queue_offset));
                }
            });
        }
    });
    let found = bodies(&log);
    assert_eq!((found.len(), queue.next_offset()), (1200, 1200));
    log.close();
    assert_eq!(bodies(&fixture.after_kill()), found);
}

#[tokio::test]
async fn one_who_waits_is_flushed_at_once() {
    let fixture = Fixture::new();
    // not by the interval
    let keys = MessageStoreConfig { flush_interval_commit_log: 3_600_000, ..MessageStoreConfig::default() };
    let log = fixture.open_with(RecoverFrom::default(), keys);
    for n in 0..20 {
        let stored = fixture.append(&log, &[n; 2000]);
        tokio::time::timeout(Duration::from_mins(2), log.wait_flushed(stored.end())).await.unwrap().unwrap();
        assert!(log.flushed() >= stored.end());
    }
    assert_eq!(log.flushed_timestamp(), 1000);
    let beyond = log.wait_flushed(log.written() + 1);
    log.close();
    assert_eq!(beyond.await, Err(NeverReached::Shutdown));
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_taken() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    let stored = fixture.append(&log, b"on disk");
    log.wait_flushed(stored.end()).await.unwrap();
    // what the flush thread does when a sync fails
    log.gate.break_down("input/output error".into());
    log.flushed.end(NeverReached::SyncFailed("input/output error".into()));
    assert_eq!(append(&log, &draft(b"x"), fixture.queue()), Err(AppendError::Broken("input/output error".into())));
    assert!(log.wait_flushed(log.written() + 1).await.is_err());
    assert_eq!(log.wait_flushed(stored.end()).await, Ok(()));
    assert_eq!(bodies(&log).len(), 1);
    log.close();
}

#[test]
fn a_disk_without_room_refuses_and_comes_back() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    fixture.append(&log, &[1; 5000]);
    // where no file can be made: as good as a full disk
    let away = fixture.directory.path().join("away");
    fs::rename(fixture.path(), &away).unwrap();
    let full = loop {
        match append(&log, &draft(&[2; 5000]), fixture.queue()) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(full, AppendError::DiskFull(_)), "{full}");
    let next = fixture.queue().next_offset();
    // a smaller one still fits the file
    assert_eq!(fixture.append(&log, &[3; 100]).queue_offset, next);
    fs::rename(&away, fixture.path()).unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    let stored = loop {
        match append(&log, &draft(&[2; 5000]), fixture.queue()) {
            Ok(stored) => break stored,
            Err(_) => assert!(Instant::now() < deadline),
        }
    };
    assert_eq!(stored.queue_offset, next + 1);
    log.close();
}

#[test]
fn a_torn_tail_is_cut_wherever_it_is_torn() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    let last = *all.last().unwrap();
    let at = (last.physical_offset % FILE as i64) as u64;
    for torn in [0, 1, 4, 7, 8, 30, 90, last.size - 3] {
        let rest = vec![0; last.size - torn];
        patch(&fixture.path(), 2, at + torn as u64, &rest);
        let log = fixture.after_kill();
        assert_eq!(log.written(), last.physical_offset, "{torn}");
        // nothing of it is left that could be taken for a record later
        assert!(
            fs::read(fixture.path().join(format!("{:020}", 2 * FILE))).unwrap()[at as usize..].iter().all(|b| *b == 0)
        );
        let again = fixture.append(&log, &[9; 100]);
        assert_eq!(again.physical_offset, last.physical_offset);
        log.close();
        assert_eq!(bodies(&fixture.after_kill()).len(), all.len());
    }
}

#[test]
fn damage_in_the_middle_does_not_cost_what_follows() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    // a body, a size, and the end of a file with its blank
    patch(&fixture.path(), 0, (all[3].physical_offset + 90) as u64, b"damage");
    patch(&fixture.path(), 0, all[10].physical_offset as u64, &[0xFF; 8]);
    patch(&fixture.path(), 1, FILE as u64 - 400, &[0; 400]);
    let log = fixture.after_kill();
    assert_eq!(log.written(), all.last().unwrap().end());
    log.close();
    let lost = all.iter().filter(|m| {
        let edge = 2 * FILE as i64;
        m.physical_offset < edge && m.end() > edge - 400
    });
    assert!(lost.count() > 0);
    // done again it comes to the same
    assert_eq!(fixture.after_kill().written(), all.last().unwrap().end());
}

/// The end of a file was lost while the log was closed: what follows in the next ones is not its end.
#[test]
fn zeros_before_a_later_file_are_damage_after_a_clean_stop_too() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    let lost = all[20].physical_offset as u64;
    patch(&fixture.path(), 0, lost, &vec![0; FILE - lost as usize]);
    let log = fixture.open(RecoverFrom { clean: true, ..Default::default() });
    assert_eq!(log.written(), all.last().unwrap().end());
    let behind: Vec<_> = all.iter().filter(|m| m.physical_offset >= FILE as i64).collect();
    let mut at = FILE as i64;
    for message in &behind {
        let bytes = log.slice(message.physical_offset, message.size).unwrap().unwrap();
        assert_eq!(Record::parse(&bytes).unwrap().physical_offset, message.physical_offset);
        at = message.end();
    }
    assert_eq!(at, log.written());
    log.close();
}

/// The checksum covers the body only.
#[test]
fn a_record_whose_properties_are_torn_is_cut_and_none_like_it_is_taken() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    let queue = fixture.queue();
    let with = |properties| Draft { properties, ..draft(b"body") };
    for properties in [&b"a\x01b\0"[..], b"a\x01\xFF", b"\0"] {
        assert_eq!(append(&log, &with(properties), Arc::clone(&queue)), Err(AppendError::Properties));
        let two = [with(b"a\x01b"), with(properties)];
        assert_eq!(log.append_all(two.map(|draft| (draft, &queue))), Err(AppendError::Properties));
    }
    assert_eq!((log.written(), queue.next_offset()), (0, 0));
    let properties = b"key\x01value\x02".repeat(20);
    let stored = append(&log, &with(&properties), Arc::clone(&queue)).unwrap();
    assert!(log.close());
    for lost in [1, 10, properties.len()] {
        patch(&fixture.path(), 0, (stored.size - lost) as u64, &vec![0; lost]);
        let log = fixture.after_kill();
        assert_eq!(log.written(), 0, "{lost}");
        let stored = append(&log, &with(&properties), Arc::clone(&queue)).unwrap();
        assert_eq!(stored.physical_offset, 0);
        assert!(log.close());
        assert_eq!(fixture.after_kill().written(), stored.end());
    }
}

#[test]
fn records_of_a_former_end_do_not_come_back() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    // As the reference cuts a log: it writes on at an earlier place and leaves what is behind.
    let cut = all[all.len() - 6];
    let old = fs::read(fixture.path().join(format!("{:020}", 2 * FILE))).unwrap();
    patch(&fixture.path(), 2, (cut.physical_offset % FILE as i64) as u64, &vec![0; cut.size * 6]);
    let log = fixture.after_kill();
    fixture.now.fetch_add(1000, Ordering::Relaxed);
    let new = fixture.append(&log, &[7; 150]);
    log.close();
    let behind = (new.end() % FILE as i64) as usize;
    patch(&fixture.path(), 2, behind as u64, &old[behind..]);
    assert_eq!(fixture.after_kill().written(), new.end());
}

/// As the reference writes them after the clock was set back, and as a time is that was damaged itself.
#[test]
fn older_records_behind_damage_stay_where_their_queue_goes_on() {
    for (times, time) in [(40..180, 1), (3..4, i64::MAX)] {
        let fixture = Fixture::new();
        let all = fixture.filled();
        for message in &all[times.start..times.end.min(all.len())] {
            let (file, at) = (message.physical_offset / FILE as i64, message.physical_offset % FILE as i64);
            patch(&fixture.path(), file, at as u64 + 56, &time.to_be_bytes());
        }
        // in the middle of a file, and from its end into the next one
        patch(&fixture.path(), 0, (all[50].physical_offset + 90) as u64, b"damage");
        patch(&fixture.path(), 0, FILE as u64 - 400, &[0; 400]);
        patch(&fixture.path(), 1, 0, &[0; 10]);
        let edge = FILE as i64;
        let is_lost = |n: usize| n == 50 || all[n].end() > edge - 400 && all[n].physical_offset < edge + 10;
        for _ in 0..2 {
            let log = fixture.after_kill();
            assert_eq!(log.written(), all.last().unwrap().end());
            let served = (0..all.len()).filter(|n| log.damaged_until(all[*n].physical_offset).is_none());
            assert!(served.eq((0..all.len()).filter(|n| !is_lost(*n))), "{time}");
            log.close();
        }
    }
}

#[test]
fn a_known_record_shortens_the_check() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    let last = all.last().unwrap();
    let known = RecoverFrom { synced_record: Some(last.physical_offset), ..Default::default() };
    // damage before it is not looked at
    patch(&fixture.path(), 0, 100, &[0xEE; 50]);
    let config = LogOptions::from_config(&MessageStoreConfig {
        store_path_root_dir: fixture.directory.path().to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: FILE as i32,
        ..Default::default()
    });
    let (log, from) = CommitLog::recover(config.clone(), known, Waker::default()).unwrap();
    assert_eq!((from, log.written()), (last.physical_offset, last.end()));
    log.close();
    // one that is wrong is not believed
    for wrong in [1, last.end(), i64::MAX / 2] {
        let known = RecoverFrom { synced_record: Some(wrong), ..Default::default() };
        let (log, from) = CommitLog::recover(config.clone(), known, Waker::default()).unwrap();
        assert_eq!((from, log.written()), (0, last.end()));
        log.close();
    }
    // nor is the dispatcher's place after a kill
    let known = RecoverFrom { dispatched_record: Some(last.physical_offset), ..Default::default() };
    let (log, from) = CommitLog::recover(config, known, Waker::default()).unwrap();
    assert_eq!(from, 0);
    log.close();
}

/// 4.x leaves the dispatcher's place 0: taken for one, it would have the whole log checked.
#[test]
fn a_checkpoint_of_4x_names_no_dispatched_record() {
    let positions = Positions { log_timestamp: 8, queue_timestamp: 7, ..Positions::default() };
    let known = RecoverFrom::checkpoint(&positions, true, Duration::ZERO);
    assert_eq!((known.dispatched_record, known.synced_record, known.synced_timestamp), (None, None, 7));
    let known = RecoverFrom::checkpoint(&Positions { dispatched_record: 5, ..positions }, true, Duration::ZERO);
    assert_eq!(known.dispatched_record, Some(5));
}

/// As the reference: a store that is closed is taken at its word but for its last files.
#[test]
fn a_clean_stop_that_says_no_more_is_checked_from_the_third_last_file() {
    let fixture = Fixture::new();
    let log = fixture.after_kill();
    while log.written() < 4 * FILE as i64 {
        fixture.append(&log, &[1; 1000]);
    }
    let end = log.written();
    assert!(log.close());
    let files = fs::read_dir(fixture.path()).unwrap().count() as i64;
    patch(&fixture.path(), 0, 100, &[0xEE; 50]);
    let options = LogOptions::from_config(&MessageStoreConfig {
        store_path_root_dir: fixture.directory.path().to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: FILE as i32,
        ..Default::default()
    });
    let known = RecoverFrom { clean: true, ..Default::default() };
    let (log, from) = CommitLog::recover(options, known, Waker::default()).unwrap();
    assert_eq!((from, log.written()), ((files - 3) * FILE as i64, end));
    log.close();
}

#[test]
fn times_choose_the_file_to_check_from() {
    let fixture = Fixture::new();
    let all = fixture.filled();
    let second = all.iter().find(|m| m.physical_offset == FILE as i64).unwrap();
    for (synced_timestamp, expected) in
        [(0, 0), (second.store_timestamp + 2999, 0), (second.store_timestamp + 3000, FILE as i64)]
    {
        let known = RecoverFrom { synced_timestamp, ..Default::default() };
        let options = LogOptions::from_config(&MessageStoreConfig {
            store_path_root_dir: fixture.directory.path().to_str().unwrap().to_owned(),
            mapped_file_size_commit_log: FILE as i32,
            ..Default::default()
        });
        let (log, from) = CommitLog::recover(options, known, Waker::default()).unwrap();
        assert_eq!(from, expected, "{synced_timestamp}");
        log.close();
    }
}

#[test]
fn few_pages_wait_for_more_or_for_the_thorough_interval() {
    let fixture = Fixture::new();
    // The thread leaves it to the test.
    let never = MessageStoreConfig { flush_interval_commit_log: i32::MAX, ..MessageStoreConfig::default() };
    let log = fixture.open_with(RecoverFrom::default(), never);
    let first = fixture.append(&log, &[1; 5000]);
    log.flush(3, None).unwrap();
    assert_eq!(log.flushed(), 0);
    let second = fixture.append(&log, &[1; 8000]);
    log.flush(3, None).unwrap();
    assert_eq!(log.flushed(), second.end());
    let third = fixture.append(&log, b"small");
    log.flush(1, None).unwrap();
    assert_eq!(log.flushed(), second.end());
    log.flush(0, None).unwrap();
    assert_eq!(log.flushed(), third.end());
    assert!(first.end() < second.end());
    assert!(log.close());
}

/// However those who wait, the flush thread and one another come in between: everybody's wait ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_wait_at_once_are_flushed() {
    let fixture = Fixture::new();
    let never = MessageStoreConfig { flush_interval_commit_log: i32::MAX, ..MessageStoreConfig::default() };
    let synced = MessageStoreConfig { flush_disk_type: FlushDiskType::SyncFlush, ..never.clone() };
    let soon = MessageStoreConfig { flush_interval_commit_log: 1, ..MessageStoreConfig::default() };
    for config in [never, synced, soon] {
        let log = fixture.open_with(RecoverFrom::default(), config);
        let queue = fixture.queue();
        let tasks = (0..16).map(|task| {
            let (log, queue) = (Arc::clone(&log), Arc::clone(&queue));
            tokio::spawn(async move {
                for n in 0..50 {
                    let (body, queue) = ([task; 100], Arc::clone(&queue));
                    let stored = match n % 3 {
                        0 => append(&log, &draft(&body), queue),
                        _ => log.append_awaited(&draft(&body), &Marks::default(), queue),
                    };
                    let stored = stored.unwrap();
                    let wait = log.wait_flushed(stored.end());
                    // some lose patience
                    if n % 7 == 0 {
                        tokio::select! { biased; _ = wait => {}, () = std::future::ready(()) => {} }
                    } else {
                        wait.await.unwrap();
                        assert!(log.flushed() >= stored.end());
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            tokio::time::timeout(Duration::from_mins(1), task).await.expect("nobody waits for ever").unwrap();
        }
        assert!(log.close());
    }
}
