//! `mqstore verify`: good stores are good, and what is changed in them is found.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use apogee_remoting::message::record::{Draft, Record};
use apogee_store::queue::KnownEnds;
use harness::{Golden, contents, lines, mqstore};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

#[test]
fn stores_of_the_reference_are_good() {
    for name in [
        "batch",
        "batchcq",
        "compaction",
        "crashed",
        "crashed-no-checkpoint",
        "crashed-no-derived",
        "delay",
        "delay-4x",
        "expired",
        "expired-4x",
        "filter",
        "filter-4x",
        "first-files-gone",
        "ipv6",
        "lmq",
        "long-topic",
        "plain-4x",
        "plain-5x",
        "pop",
        "pop-kv",
        "retry-dlq",
        "retry-dlq-4x",
        "transaction",
        "transaction-4x",
    ] {
        let ended = mqstore(&["verify", &Golden::unpack(name).dir()]);
        assert_eq!(ended.status, 0, "{name} {}", ended.out);
        assert!(ended.out.ends_with("no problem found\n") && ended.err.is_empty(), "{name} {}", ended.out);
    }
}

#[test]
fn damage_is_named_with_its_place() {
    for (name, expected) in [
        ("crashed-overwritten-middle", "log: 529910 ("),
        ("crashed-overwritten-middle", "byte 5622): no record, up to 530320 (410 bytes): the body's checksum is"),
        ("crashed-overwritten-middle", "GoldenCrashA/2/00000000000000000000 byte 1140: leads to 529910: "),
        ("crashed-overwritten-middle", "index/20261129145411825 item 321: no record at 529910"),
        ("crashed-overwritten-middle", "PROBLEMS: index 2, log 1, queue 1"),
        ("crashed-overwritten-body", "to be done by the next start: 1 torn end of the log, which is cut off"),
        ("crashed-torn-early", "byte 1160: leads to 538312: behind the end of the log, 538312"),
    ] {
        let out = mqstore(&["verify", &Golden::unpack(name).dir()]).with(1);
        assert!(out.contains(expected), "{name}: {expected}\n{out}");
    }
}

#[test]
fn many_problems_are_counted_and_few_are_shown() {
    let golden = Golden::unpack("plain-5x");
    let file = golden.path().join("consumequeue/GoldenPlainA/0/00000000000000000000");
    fs::write(&file, vec![0; 1200]).unwrap();
    let out = mqstore(&["verify", &golden.dir(), "--show", "2"]).with(1);
    assert_eq!(out.lines().filter(|line| line.starts_with("queue: ")).count(), 3, "{out}");
    assert!(out.contains("queue: more are counted only (--show)\n") && out.contains("PROBLEMS: queue 84\n"), "{out}");
}

#[test]
fn tables_that_are_torn_are_named() {
    let golden = Golden::unpack("ipv6");
    let topics = golden.path().join("config/topics.json");
    fs::write(&topics, "{\"dataVersion\":{").unwrap();
    let out = mqstore(&["verify", &golden.dir()]).with(1);
    assert!(out.contains("its .bak can be read and is taken at the next start"), "{out}");
}

#[test]
fn a_checkpoint_ahead_of_the_log_shows_a_lost_end() {
    let golden = Golden::unpack("ipv6");
    let last = golden.path().join("commitlog/00000000000000000000");
    let mut bytes = fs::read(&last).unwrap();
    bytes[..20_000].fill(0);
    fs::write(&last, &bytes[..20_000]).unwrap();
    let out = mqstore(&["verify", &golden.dir(), "--log-file-size", "262144"]).with(1);
    assert!(out.contains("checkpoint: ") && out.contains("has 20000 bytes, files of this log have 262144"), "{out}");
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Change {
    Flip { bit: usize },
    Zero { from: usize, length: usize },
    Cut { length: usize },
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Flip { bit } => {
                let at = bit / 8 % bytes.len();
                bytes[at] ^= 1 << (bit % 8);
            }
            Self::Zero { from, length } => {
                let from = from % bytes.len();
                let to = (from + length).min(bytes.len());
                bytes[from..to].fill(0);
            }
            Self::Cut { length } => bytes.truncate(length % bytes.len()),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => any::<usize>().prop_map(|bit| Change::Flip { bit }),
        2 => (any::<usize>(), 1..5000usize).prop_map(|(from, length)| Change::Zero { from, length }),
        1 => any::<usize>().prop_map(|length| Change::Cut { length }),
    ]
}

/// Runs `check` with one file of a store changed, and puts it back: path of the file, what it was, what it is.
fn with_changes(name: &str, below: &[&str], cases: u32, check: impl Fn(&Golden, &Path, &[u8], &[u8])) {
    let golden = Golden::unpack(name);
    KnownEnds::open(&golden.path()).unwrap().0.forget(vec![("Gone".to_owned(), 500)]).unwrap();
    let files: Vec<_> = below.iter().flat_map(|below| contents(&golden.path().join(below))).collect();
    let files: Vec<(PathBuf, Vec<u8>)> = files.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    // The same changes every time, so that nobody's work waits for a rare one; MQSTORE_CASES=1000 looks for others.
    let more = std::env::var("MQSTORE_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config { cases: more.unwrap_or(cases), failure_persistence: None, ..Config::default() };
    let mut runner = match more {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    runner
        .run(&(any::<prop::sample::Index>(), change()), |(file, change)| {
            let (path, before) = file.get(&files);
            let mut after = before.clone();
            change.apply(&mut after);
            fs::write(path, &after).unwrap();
            check(&golden, path, before, &after);
            fs::write(path, before).unwrap();
            Ok(())
        })
        .unwrap();
}

/// Bytes of a file that differ; what was cut off counts.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    (0..before.len()).filter(|at| after.get(*at) != Some(&before[*at])).collect()
}

#[test]
fn changes_of_the_log_are_found_where_a_checksum_or_a_queue_covers_them() {
    with_changes("plain-5x", &["commitlog"], 40, |golden, path, before, after| {
        let ended = mqstore(&["verify", &golden.dir()]);
        assert!(ended.status == 0 || ended.status == 1, "{}{}", ended.out, ended.err);
        if ended.status == 0 {
            let start: usize = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let uncovered = uncovered(before, start);
            let seen: Vec<_> = changed(before, after);
            let outside = seen.iter().find(|at| !uncovered.iter().any(|range| range.contains(at)));
            assert_eq!((outside, before.len()), (None, after.len()), "{}", path.display());
        }
    });
}

/// Bytes of a log file that nothing in a store can vouch for: behind records, and in records the flags, times,
/// hosts, counts and properties.
fn uncovered(bytes: &[u8], start: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Ok(record) = Record::parse(&bytes[at..]) {
        assert_eq!(record.physical_offset, (start + at) as i64);
        let end = at + record.size();
        ranges.push(at + 16..at + 20);
        ranges.push(at + 36..end - record.properties.as_bytes().len() - 3 - record.topic.len() - record.body.len() - 4);
        ranges.push(end - record.properties.as_bytes().len()..end);
        at = end;
    }
    // of a blank the first eight bytes are looked at
    let is_blank = bytes[at..at + 8] != [0; 8];
    ranges.push(at + if is_blank { 8 } else { 0 }..bytes.len());
    ranges
}

#[test]
fn changes_of_queues_and_index_are_found() {
    with_changes("plain-5x", &["consumequeue", "index"], 40, |golden, path, before, after| {
        let ended = mqstore(&["verify", &golden.dir()]);
        assert!(ended.status == 0 || ended.status == 1, "{}{}", ended.out, ended.err);
        if ended.status == 0 {
            let mut seen = changed(before, after);
            if path.components().any(|part| part.as_os_str() == "index") {
                let next = u32::from_be_bytes(*before[36..].first_chunk().unwrap()) as usize;
                // the number of used slots, which nobody reads; item 0 and those not put yet
                let harmless = [32..36, 440..460, 440 + next * 20..before.len()];
                seen.retain(|at| !harmless.iter().any(|range| range.contains(at)));
            }
            assert!(seen.is_empty() && before.len() == after.len(), "{} {seen:?}", path.display());
        }
    });
}

#[test]
fn changes_of_batch_queues_and_extensions_are_found() {
    for (name, below) in [("batchcq", "batchconsumequeue"), ("filter", "consumequeue_ext")] {
        with_changes(name, &[below], 20, |golden, path, before, after| {
            let ended = mqstore(&["verify", &golden.dir()]);
            assert!(ended.status == 0 || ended.status == 1, "{}{}", ended.out, ended.err);
            if ended.status == 0 {
                let covered = if name == "batchcq" { batch_units(before) } else { entries(before) };
                let seen = changed(before, after);
                let found = seen.iter().find(|at| covered.iter().any(|range| range.contains(at)));
                assert_eq!(found, None, "{}", path.display());
            }
        });
    }
}

/// Of units of 46 bytes all but what has no meaning.
fn batch_units(bytes: &[u8]) -> Vec<Range<usize>> {
    (0..bytes.len()).step_by(46).map(|at| at..at + 38).collect()
}

/// Of the entries of an extension all but the bit maps.
fn entries(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    while let size @ 20.. = i16::from_be_bytes([bytes[at], bytes[at + 1]]) {
        found.push(at..at + 18);
        at += size as usize;
    }
    found
}

/// As in the reference, whatever its properties name.
#[test]
fn a_batch_is_in_no_light_queue() {
    let golden = Golden::unpack("lmq");
    let store = golden.open();
    let properties = "INNER_NUM\x011\x02INNER_MULTI_DISPATCH\x01%LMQ%beta\x02INNER_MULTI_QUEUE_OFFSET\x0140\x02";
    let draft = Draft::new("GoldenLmqParent", 0, ([127, 0, 0, 1], 10_911).into(), b"batch");
    store.append_inner_batch(&Draft { sys_flag: 0xC0, properties: properties.as_bytes(), ..draft }, 1).unwrap();
    store.close().unwrap();
    drop(store);
    mqstore(&["verify", &golden.dir()]).well();
    mqstore(&["rebuild", &golden.dir()]).well();
    mqstore(&["verify", &golden.dir()]).well();
}

/// And makes no message of what is none.
#[test]
fn no_change_of_any_file_makes_a_command_panic() {
    for name in ["ipv6", "batchcq", "filter", "lmq", "crashed"] {
        let whole = Golden::unpack(name);
        let stored: HashMap<_, _> = bodies(&mqstore(&["cat", &whole.dir()]).out).collect();
        with_changes(name, &["."], 2, |golden, path, _, _| {
            let [target, exported, raw] = ["salvaged", "exported", "raw"].map(|name| golden.beside(name));
            let _ = fs::remove_dir_all(&target);
            let _ = (fs::remove_file(&exported), fs::remove_file(&raw));
            let dir = golden.dir();
            let queue = ["--topic", "GoldenBcq", "--queue", "1", "--from", "3"];
            for words in [
                &["info", &dir][..],
                &["ls", &dir],
                &["verify", &dir],
                &["cat", &dir],
                &[&["cat", &dir], &queue[..]].concat(),
                &["cat", &dir, "--topic", "GoldenBcq", "--key", "shared"],
                &["diff", &dir, &whole.dir()],
                &["export", &dir, &exported],
                &["export", &dir, &raw, "--format", "raw"],
                &["salvage", &dir, &target],
                &["cat", &target],
                &["rebuild", &target],
                &["truncate", &target, "--at", "0", "--yes"],
            ] {
                let ended = mqstore(words);
                assert!((0..=2).contains(&ended.status), "{words:?} {} {}", path.display(), ended.err);
                let shown = match words[0] {
                    "cat" => ended.out,
                    "export" if words.len() == 3 => fs::read_to_string(&exported).unwrap_or_default(),
                    _ => continue,
                };
                for (place, body) in bodies(&shown) {
                    assert_eq!(stored.get(&place), Some(&body), "{words:?} {} {place}", path.display());
                }
            }
        });
    }
}

/// A rebuild leaves a store that opens, whatever queues and index looked like.
#[test]
fn any_change_of_what_is_derived_is_made_good() {
    for name in ["batchcq", "filter"] {
        with_changes(
            name,
            &["consumequeue", "batchconsumequeue", "consumequeue_ext", "index"],
            5,
            |golden, path, _, _| {
                let copy = Golden::unpack(name);
                let below = path.strip_prefix(golden.path()).unwrap();
                fs::copy(path, copy.path().join(below)).unwrap();
                let sizes = ["--queue-file-size=1200", "--batch-queue-file-size=4600", "--extension-file-size=49152"];
                let ended = mqstore(&[&["rebuild", &copy.dir(), "--index-slots=100"], &sizes[..]].concat());
                assert_eq!(ended.status, 0, "{} {}", path.display(), ended.err);
                mqstore(&["verify", &copy.dir()]).well();
                mqstore(&["diff", &Golden::unpack(name).dir(), &copy.dir()]).well();
                copy.open().close().unwrap();
            },
        );
    }
}

/// Place and body of each record but those that fill what could not be salvaged.
fn bodies(text: &str) -> impl Iterator<Item = (i64, Value)> {
    lines(text).into_iter().filter(|line| line["topic"] != "SALVAGED").map(|mut line| {
        let body = if line["body"].is_null() { line["bodyBase64"].take() } else { line["body"].take() };
        (line["physicalOffset"].as_i64().unwrap(), body)
    })
}
