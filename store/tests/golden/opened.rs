//! A golden store read by queues and index alone, over a log of our own.

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apogee_store::dispatch::{Dispatch, DispatchError, RecordConsumer};
use apogee_store::index::{IndexBuilder, IndexTable};
use apogee_store::queue::{Loaded, Queue, QueueTable, RecordAt, Unit};
use apogee_store::read::{RecordFields, RecordSource};
use bytes::Bytes;
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::expectation::Golden;

const LOG_FILE: usize = 262_144;
const QUEUE_FILE: u64 = 1200;
const INDEX_SLOTS: usize = 100;
const INDEX_ITEMS: usize = 400;

/// The store, recovered and dispatched.
pub struct Opened {
    golden: Golden,
    /// Index files as they were before the store was opened.
    index_before: Vec<Vec<u8>>,
    pub log: Arc<FileLog>,
    pub queues: Arc<QueueTable>,
    pub index: IndexBuilder,
}

impl Opened {
    pub fn open(name: &str) -> Self {
        let golden = Golden::unpack(name);
        let light_queues = golden.is_configured("enableMultiDispatch=true");
        let root = golden.root();
        let clean = !golden.is_unclean();
        let log = Arc::new(FileLog::open(&root.join("commitlog")));
        log.find_end();
        let queues = Arc::new(QueueTable::new(root.join("consumequeue"), QUEUE_FILE, 16));
        let from = queues
            .recover(Loaded {
                log_min: log.min_offset(),
                log_end: log.max_offset(),
                clean,
                checked_from: log.max_offset(),
                dispatched: 0,
                records: &*log,
                before_repair: &|| Ok(()),
            })
            .unwrap();
        let from = from.unwrap_or(log.min_offset());
        dispatch(&log, &queues, from, light_queues);
        queues.correct_min_offsets(log.min_offset()).unwrap();

        // the same queues come out of the log alone
        let again = Arc::new(QueueTable::new(golden.beside("again"), QUEUE_FILE, 16));
        dispatch(&log, &again, log.min_offset(), light_queues);
        for queue in again.all() {
            let kept = queues.get(queue.topic(), queue.queue_id()).unwrap();
            assert_eq!((kept.min_offset(), kept.max_offset()), (queue.min_offset(), queue.max_offset()));
            let units = |queue: &Queue| -> Vec<_> { queue.iter_from(queue.min_offset()).map(Result::unwrap).collect() };
            assert_eq!(units(&kept), units(&queue), "{} {}", queue.topic(), queue.queue_id());
        }
        let index_before = contents(&root.join("index"));
        let index = IndexTable::open(root.join("index"), INDEX_SLOTS, INDEX_ITEMS, &*log, clean).unwrap();
        let index = IndexBuilder::start(Arc::new(index), Arc::clone(&log) as _, |_| {}).unwrap();
        Self { golden, index_before, log, queues, index }
    }

    /// Index files of the reference, the same after the store was closed, and those made from the log.
    pub fn index_files(self) -> [Vec<Vec<u8>>; 3] {
        self.index.stop().unwrap();
        let again = self.golden.beside("index-again");
        let index = IndexTable::open(again.clone(), INDEX_SLOTS, INDEX_ITEMS, &*self.log, true).unwrap();
        let log = Arc::clone(&self.log) as _;
        IndexBuilder::start(Arc::new(index), log, |_| {}).unwrap().stop().unwrap();
        let kept = contents(&self.golden.root().join("index"));
        [self.index_before, kept, contents(&again)]
    }
}

impl Deref for Opened {
    type Target = Golden;

    fn deref(&self) -> &Golden {
        &self.golden
    }
}

/// What the files of a directory hold, by name.
fn contents(directory: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

fn dispatch(log: &Arc<FileLog>, queues: &Arc<QueueTable>, from: i64, light_queues: bool) {
    let dispatch = Dispatch::new(Arc::clone(log) as _, Arc::clone(queues), from).with_light_queues(light_queues);
    dispatch.catch_up().unwrap();
    assert_eq!(dispatch.behind_bytes(), 0);
}

pub fn slice(log: &FileLog, offset: i64, length: usize) -> Bytes {
    log.slice(offset, length).unwrap().unwrap()
}

/// The files of a commit log, read whole.
pub struct FileLog {
    min: i64,
    files: Vec<Bytes>,
    end: Mutex<i64>,
}

impl FileLog {
    fn open(directory: &Path) -> Self {
        let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        let min = paths[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
        let files: Vec<_> = paths.iter().map(|path| Bytes::from(fs::read(path).unwrap())).collect();
        let end = min + (files.len() * LOG_FILE) as i64;
        Self { min, files, end: Mutex::new(end) }
    }

    /// Walks to the first record that does not verify.
    fn find_end(self: &Arc<Self>) {
        let directory = TempDir::new().unwrap();
        let queues = Arc::new(QueueTable::new(directory.path().to_owned(), QUEUE_FILE, 16));
        let bad = Arc::new(Mutex::new(None));
        let check = Checksums { log: Arc::clone(self), bad: Arc::clone(&bad) };
        let dispatch = Dispatch::new(Arc::clone(self) as _, queues, self.min).with_consumer(Box::new(check));
        let mut end = match dispatch.catch_up() {
            Ok(()) => self.max_offset(),
            Err(DispatchError::Damaged { position, .. }) => position,
            Err(error) => panic!("{error}"),
        };
        if let Some(bad) = *bad.lock() {
            end = end.min(bad);
        }
        *self.end.lock() = end;
    }
}

struct Checksums {
    log: Arc<FileLog>,
    bad: Arc<Mutex<Option<i64>>>,
}

impl RecordConsumer for Checksums {
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()> {
        let bytes = slice(&self.log, record.physical_offset, record.size as usize);
        let expected = u32::from_be_bytes(*bytes[8..].first_chunk().unwrap());
        let hosts = 16 + 12 * (record.sys_flag >> 4 & 1) + 12 * (record.sys_flag >> 5 & 1);
        let body = 68 + hosts as usize;
        let length = u32::from_be_bytes(*bytes[body..].first_chunk().unwrap()) as usize;
        let found = crc32fast::hash(&bytes[body + 4..][..length]) & 0x7FFF_FFFF;
        if found != expected {
            self.bad.lock().get_or_insert(record.physical_offset);
        }
        Ok(())
    }
}

impl RecordSource for FileLog {
    fn min_offset(&self) -> i64 {
        self.min
    }

    fn max_offset(&self) -> i64 {
        *self.end.lock()
    }

    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>> {
        if offset < self.min || offset + length as i64 > self.max_offset() {
            return Ok(None);
        }
        let at = (offset - self.min) as usize;
        let file = &self.files[at / LOG_FILE];
        let at = at % LOG_FILE;
        Ok((at + length <= file.len()).then(|| file.slice(at..at + length)))
    }

    fn window(&self, offset: i64, _: usize) -> io::Result<Option<Bytes>> {
        let length = self.next_file_start(offset).min(self.max_offset()) - offset;
        self.slice(offset, length.max(0) as usize).map(|window| window.filter(|window| !window.is_empty()))
    }

    fn next_file_start(&self, offset: i64) -> i64 {
        offset - offset % LOG_FILE as i64 + LOG_FILE as i64
    }
}

impl RecordAt for FileLog {
    fn matches(&self, queue: &Queue, offset: i64, unit: Unit) -> bool {
        let Ok(Some(record)) = self.slice(unit.physical_offset, unit.size as usize) else {
            return false;
        };
        RecordFields::of(&record).is_some_and(|record| record.is_of(queue.topic(), queue.queue_id(), offset))
    }
}
