//! A process that is killed while it writes loses nothing that it acknowledged.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::collections::HashMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use apogee_config::{FlushDiskType, MessageStoreConfig};
use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::{Draft, Record, entries};
use apogee_store::{Appended, GetRequest, GetStatus, Hooks, Marks, Store};
use tempfile::TempDir;

const ROOT: &str = "APOGEE_KILL_TEST_ROOT";
const ROUND: &str = "APOGEE_KILL_TEST_ROUND";
const QUEUES: i32 = 3;

fn open(root: &Path, flush_disk_type: FlushDiskType) -> Arc<Store> {
    let config = MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 64 * 1024,
        flush_disk_type,
        mapped_file_size_consume_queue: 2000,
        flush_interval_commit_log: 20,
        flush_interval_consume_queue: 20,
        flush_consume_queue_thorough_interval: 50,
        disk_space_warning_level_ratio: 90,
        ..Default::default()
    };
    Store::open(&config, Hooks::default()).unwrap()
}

fn body(queue_id: i32, n: u64) -> Vec<u8> {
    let length = 20 + (n * 37 % 700) as usize;
    format!("{queue_id} {n} ").into_bytes().into_iter().chain(std::iter::repeat(n as u8)).take(length).collect()
}

/// The process that is killed: appends for ever and says where each message went.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let root = env::var_os(ROOT).unwrap();
    let round: u64 = env::var(ROUND).unwrap().parse().unwrap();
    // records are written to the mapping and by system calls in turn
    let flush = [FlushDiskType::AsyncFlush, FlushDiskType::SyncFlush][(round / 2 % 2) as usize];
    let store = open(Path::new(&root), flush);
    // one writes all queues, or each has a sender that waits until its message is on disk
    if round % 3 == 2 {
        thread::scope(|scope| {
            let store = &store;
            (0..QUEUES).for_each(|queue_id| drop(scope.spawn(move || wait_for_each(store, queue_id, round))));
        });
    }
    for n in round * 1_000_000.. {
        let queue_id = (n % QUEUES as u64) as i32;
        let body = body(queue_id, n);
        let drafts = [draft(queue_id, &body); 3];
        let count = if n % 5 == 0 { 3 } else { 1 };
        for stored in store.append_all("kill", queue_id, drafts.into_iter().take(count)).unwrap() {
            acknowledge(queue_id, &stored, n);
        }
    }
}

fn wait_for_each(store: &Store, queue_id: i32, round: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for n in round * 1_000_000.. {
        let body = body(queue_id, n);
        let draft = draft(queue_id, &body);
        let stored = store.append_awaited(&draft, &Marks::of(Properties::new(draft.properties))).unwrap();
        runtime.block_on(store.flushed(stored.end())).unwrap();
        acknowledge(queue_id, &stored, n);
    }
}

fn draft(queue_id: i32, body: &[u8]) -> Draft<'_> {
    Draft { properties: b"TAGS\x01a\x02", ..Draft::new("kill", queue_id, ([127, 0, 0, 1], 10_911).into(), body) }
}

fn acknowledge(queue_id: i32, stored: &Appended, n: u64) {
    let line = format!("ack {queue_id} {} {} {n}\n", stored.queue_offset, stored.physical_offset);
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// `APOGEE_KILLS` says how often it is killed (6).
#[test]
fn nothing_acknowledged_is_lost() {
    let kills = env::var("APOGEE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let root = TempDir::new().unwrap();
    let mut acknowledged: HashMap<(i32, i64), (i64, u64)> = HashMap::new();
    for (round, lines) in [700, 40, 3000, 1, 1500, 333].into_iter().cycle().take(kills).enumerate() {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .env(ROOT, root.path())
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut seen = 0;
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        // after the kill: what the pipe still holds was acknowledged, too; a last line may be cut
        while output.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            // the test harness's own words may stand before the first
            if let Some(at) = line.find("ack ") {
                let numbers: Vec<i64> = line[at..].split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
                let before = acknowledged.insert((numbers[0] as i32, numbers[1]), (numbers[2], numbers[3] as u64));
                assert_eq!(before, None, "an offset was given twice: {line}");
                seen += 1;
                if seen == lines {
                    child.kill().unwrap();
                }
            }
            line.clear();
        }
        child.wait().unwrap();
        assert!(seen >= lines, "the child ended after {seen} messages");
        let store = open(root.path(), FlushDiskType::AsyncFlush);
        check(&store, &acknowledged);
        store.close().unwrap();
        drop(store);
        if round % 2 == 1 {
            // the next one starts after an unclean stop without anything derived
            std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
            std::fs::write(root.path().join("abort"), "1").unwrap();
        }
    }
}

fn check(store: &Store, acknowledged: &HashMap<(i32, i64), (i64, u64)>) {
    for (&(queue_id, offset), &(physical, n)) in acknowledged {
        let request = GetRequest { topic: "kill", queue_id, offset, max_count: 1, max_bytes: 1 };
        let result = store.get(&request, None).unwrap();
        assert_eq!((result.status, result.count), (GetStatus::Found, 1), "{queue_id} {offset}");
        let record = Record::parse(&result.runs[0]).unwrap();
        record.verify(false).unwrap();
        assert_eq!((record.queue_id, record.queue_offset, record.physical_offset), (queue_id, offset, physical));
        assert_eq!(record.body, body(queue_id, n));
    }
    // and everything in order, each once
    for queue_id in 0..QUEUES {
        let (mut offset, mut last) = (0, -1);
        while offset < store.max_offset("kill", queue_id) {
            let request = GetRequest { topic: "kill", queue_id, offset, max_count: 32, max_bytes: 1 << 20 };
            for run in &store.get(&request, None).unwrap().runs {
                for record in entries(run).map(Result::unwrap) {
                    assert_eq!(record.queue_offset, offset);
                    assert!(record.physical_offset > last);
                    (offset, last) = (offset + 1, record.physical_offset);
                }
            }
        }
    }
}
