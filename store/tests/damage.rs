//! Files of golden stores cut, zeroed, with flipped bits, gone: the store opens or names what is wrong, never panics, and
//! serves no message that was never stored.
//!
//! `APOGEE_DAMAGE_SEED` replays one case, `APOGEE_DAMAGE_SECONDS` goes on with new ones for so long.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

#[allow(dead_code, reason = "the golden tests use the rest")]
#[path = "golden/expectation.rs"]
mod expectation;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::{Record, entries};
use apogee_store::{GetRequest, GetStatus, Hooks, IndexKind, KeyQuery, OpenError, Store};
use expectation::Golden;
use fastrand::Rng;

const STORES: [&str; 6] = ["plain-4x", "crashed", "expired", "lmq", "batchcq", "filter"];
const FILE: i64 = 262_144;
const CASES: u64 = 8;

#[test]
fn damaged_files_are_named_or_made_again() {
    let stores = STORES.map(Whole::new);
    let run = |seed| run(&stores, seed);
    if let Some(seed) = number("APOGEE_DAMAGE_SEED") {
        return run(seed);
    }
    (0..CASES).for_each(run);
    let until = Instant::now() + Duration::from_secs(number("APOGEE_DAMAGE_SECONDS").unwrap_or(0));
    let mut seeds = Rng::new();
    while Instant::now() < until {
        run(seeds.u64(..));
    }
}

/// A store without damage.
struct Whole {
    golden: Golden,
    stored: BTreeMap<i64, Vec<u8>>,
}

impl Whole {
    fn new(name: &str) -> Self {
        let golden = Golden::unpack(name);
        let opened = golden.beside("opened");
        copy(&golden.root(), &opened);
        let stored = in_log(&open(&opened).unwrap());
        Self { golden, stored }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

fn run(stores: &[Whole], seed: u64) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(stores, seed))) {
        eprintln!("APOGEE_DAMAGE_SEED={seed}");
        resume_unwind(panic);
    }
}

fn case(stores: &[Whole], seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let whole = &stores[rng.usize(..stores.len())];
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    copy(&whole.golden.root(), &root);
    for _ in 0..rng.usize(1..4) {
        damage(&root, &mut rng);
    }
    // a second time: as the first start has left it
    for _ in 0..2 {
        let store = match open(&root) {
            Ok(store) => store,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(root.to_str().unwrap()), "{text} names no file");
                continue;
            }
        };
        for (place, body) in bodies(&store) {
            assert_eq!(Some(&body), whole.stored.get(&place), "nobody stored this at {place}");
        }
        find_by_key(&store);
        // what cannot be written down is said
        let _ = store.close();
    }
}

/// Bodies of all messages of a log, by their place.
fn in_log(store: &Store) -> BTreeMap<i64, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut at = store.min_physical_offset();
    while at < store.max_physical_offset() {
        if let Some(record) = store.record_at(at).unwrap() {
            found.insert(at, Record::parse(&record).unwrap().body.to_vec());
            at += record.len() as i64;
        } else {
            at += FILE - at % FILE;
        }
    }
    found
}

/// Bodies of all messages of all queues that are whole, by their place.
fn bodies(store: &Store) -> BTreeMap<i64, Vec<u8>> {
    let mut found = BTreeMap::new();
    for topic in store.topics() {
        for queue_id in store.queue_ids(&topic) {
            let mut offset = store.min_offset(&topic, queue_id);
            while offset < store.max_offset(&topic, queue_id) {
                let request = GetRequest { topic: &topic, queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
                let Ok(result) = store.get(&request, None) else { break };
                if result.status == GetStatus::Found {
                    for record in result.runs.iter().flat_map(|run| entries(run)) {
                        // a reader looks at the checksum, as every client does
                        let Ok(record) = record else { break };
                        if record.verify(false).is_ok() {
                            found.insert(record.physical_offset, record.body.to_vec());
                        }
                    }
                }
                if result.next_offset <= offset {
                    break;
                }
                offset = result.next_offset;
            }
        }
    }
    found
}

fn find_by_key(store: &Store) {
    for topic in store.topics() {
        let query = KeyQuery { topic: &topic, key: "key-1", kind: IndexKind::Key, max: 64, begin: 0, end: i64::MAX };
        for record in store.query_by_key(&query).map(|found| found.records).unwrap_or_default() {
            Record::parse(&record).unwrap().verify(false).unwrap();
        }
    }
}

/// Does something to one of the files.
fn damage(root: &Path, rng: &mut Rng) {
    let mut files = Vec::new();
    for directory in ["commitlog", "consumequeue", "batchconsumequeue", "consumequeue_ext", "index", ""] {
        add_files(&root.join(directory), !directory.is_empty(), &mut files);
    }
    let path = &files[rng.usize(..files.len())];
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let at = if length == 0 { 0 } else { rng.u64(..length) };
    match rng.u8(..6) {
        0 => fs::remove_file(path).unwrap(),
        1 => file.set_len(at).unwrap(),
        2 => file.set_len(length + rng.u64(1..5000)).unwrap(),
        3 => {
            let zeros = rng.u64(1..5000).min(length - at);
            file.write_all_at(&vec![0; zeros as usize], at).unwrap();
        }
        4 => {
            let others: Vec<u8> = (0..rng.u64(1..600).min(length - at)).map(|_| rng.u8(..)).collect();
            file.write_all_at(&others, at).unwrap();
        }
        _ => {
            for _ in 0..rng.usize(1..20) {
                let at = if length == 0 { 0 } else { rng.u64(..length) };
                let mut byte = [0];
                if file.read_at(&mut byte, at).unwrap() == 1 {
                    file.write_all_at(&[byte[0] ^ 1 << rng.u8(..8)], at).unwrap();
                }
            }
        }
    }
}

fn add_files(directory: &Path, deep: bool, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_file() {
            files.push(path);
        } else if deep {
            add_files(&path, deep, files);
        }
    }
}

fn open(root: &Path) -> Result<Arc<Store>, OpenError> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: FILE as i32,
        max_message_size: 131_072,
        mapped_file_size_consume_queue: 1200,
        max_hash_slot_num: 100,
        max_index_num: 400,
        enable_multi_dispatch: true,
        enable_consume_queue_ext: true,
        mapper_file_size_batch_consume_queue: 4600,
        mapped_file_size_consume_queue_ext: 49_152,
        ..MessageStoreConfig::default()
    };
    Store::open(&config, Hooks::default())
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|value| value.parse().expect(variable))
}
