//! Whenever the power goes: what was synced is there.
//!
//! A store lives several lives on a [`Disk`] that loses its power, in the middle of work or of a start. A failure prints its
//! seed; threads flush at times of their own, so a seed makes the same messages and not always the same failure.
//! `APOGEE_POWER_LOSS_SEED` replays one, `APOGEE_POWER_LOSS_SECONDS` goes on with new ones for so long.

mod disk;
mod history;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use apogee_config::{FlushDiskType, MessageStoreConfig};
use fastrand::Rng;

use crate::files::watch::Watch;
use crate::{ExpiryRound, Hooks, Store};
use disk::Disk;
use history::History;

const CASES: u64 = 8;

#[test]
fn what_was_synced_survives() {
    if let Some(seed) = number("APOGEE_POWER_LOSS_SEED") {
        return run(seed);
    }
    for seed in 0..CASES {
        run(seed);
    }
    let until = Instant::now() + Duration::from_secs(number("APOGEE_POWER_LOSS_SECONDS").unwrap_or(0));
    let mut seeds = Rng::new();
    let mut count = 0;
    while Instant::now() < until {
        run(seeds.u64(..));
        count += 1;
    }
    println!("{count} more cases");
}

fn run(seed: u64) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| lives(seed))) {
        eprintln!("APOGEE_POWER_LOSS_SEED={seed}");
        resume_unwind(panic);
    }
}

/// Some lives of one store, each of which ends with a power loss.
fn lives(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut history = History::default();
    let mut root = tempfile::tempdir().unwrap();
    for _ in 0..rng.usize(2..6) {
        let disk = Arc::new(Disk::new(root.path(), rng.u64(..)));
        let watch = Watch::new(root.path(), Arc::clone(&disk) as _);
        if rng.u8(..3) == 0 {
            disk.lose_power_in(rng.usize(..12));
        }
        let config = config(root.path(), &mut rng);
        let store = Store::open(&config, Hooks::default()).unwrap_or_else(|error| panic!("{error}"));
        let next = disk.taken().unwrap_or_else(|| {
            history.check(&store);
            work(&store, &config, &disk, &mut history, &mut rng);
            disk.lose_power()
        });
        drop(store);
        drop(watch);
        root = next;
    }
    let config = config(root.path(), &mut rng);
    let store = Store::open(&config, Hooks::default()).unwrap_or_else(|error| panic!("{error}"));
    history.check(&store);
}

fn work(store: &Arc<Store>, config: &MessageStoreConfig, disk: &Disk, history: &mut History, rng: &mut Rng) {
    for _ in 0..rng.usize(1..80) {
        match rng.u8(..100) {
            0..75 => history.append(store, rng),
            75..85 => wait_flushed(store, store.max_physical_offset()),
            85..90 => disk.write_back(),
            90..95 => thread::sleep(Duration::from_millis(rng.u64(..6))),
            95..97 => {
                // before: what is acknowledged and then expires is not lost
                history.synced(store.flushed_offset(), 0);
                let round = ExpiryRound { now: i64::MAX / 2, used_percent: None, by_hand: true };
                store.expire(config, round).unwrap();
                history.synced(store.flushed_offset(), store.min_physical_offset());
            }
            _ => {
                if rng.bool() {
                    store.close().unwrap();
                    break;
                }
            }
        }
    }
    history.synced(store.flushed_offset(), store.min_physical_offset());
}

/// Waits for a sync, as a sender with SYNC_FLUSH does.
fn wait_flushed(store: &Store, position: i64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.flushed(position)).unwrap();
}

fn config(root: &Path, rng: &mut Rng) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 16 * 1024,
        mapped_file_size_consume_queue: 20 * 30,
        max_hash_slot_num: 40,
        max_index_num: 120,
        max_message_size: 4096,
        flush_disk_type: [FlushDiskType::AsyncFlush, FlushDiskType::SyncFlush][rng.usize(..2)],
        flush_interval_commit_log: [1, 5, 500][rng.usize(..3)],
        flush_interval_consume_queue: [1, 4, 1000][rng.usize(..3)],
        flush_consume_queue_thorough_interval: [1, 10][rng.usize(..2)],
        flush_commit_log_thorough_interval: [1, 10][rng.usize(..2)],
        file_reserved_time: 0,
        delete_file_batch_max: 2,
        delete_commit_log_files_interval: 0,
        ..MessageStoreConfig::default()
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|value| value.parse().expect(variable))
}
