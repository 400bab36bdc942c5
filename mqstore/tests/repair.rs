//! The commands that write: rebuild, truncate, salvage; and diff, which shows what they did.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use apogee_store::queue::KnownEnds;
use harness::{Golden, contents, lines, mqstore, start};

#[test]
fn rebuilt_queues_are_those_of_the_reference() {
    for name in ["plain-5x", "delay", "lmq", "expired"] {
        let golden = Golden::unpack(name);
        let [theirs, untouched] = [Golden::unpack(name), Golden::unpack(name)];
        let queues = golden.path().join("consumequeue");
        fs::remove_dir_all(queues.join(fs::read_dir(&queues).unwrap().next().unwrap().unwrap().file_name())).unwrap();
        mqstore(&["rebuild", &golden.dir()]).well();
        mqstore(&["verify", &golden.dir()]).well();
        let out = mqstore(&["diff", &theirs.dir(), &golden.dir()]).well();
        assert!(out.contains("no difference from"), "{name} {out}");
        for kept in ["commitlog", "config", "checkpoint"] {
            let kept = |golden: &Golden| contents(&golden.path().join(kept)).into_iter().map(|(_, content)| content);
            assert!(kept(&golden).eq(kept(&untouched)), "{name}");
        }
        let left = fs::read_dir(golden.path())
            .unwrap()
            .any(|entry| entry.unwrap().path().to_string_lossy().contains(".rebuild"));
        assert!(!left);
    }
}

#[test]
fn a_deleted_topic_does_not_come_back() {
    let golden = Golden::unpack("plain-5x");
    fs::remove_dir_all(golden.path().join("consumequeue/GoldenPlainB")).unwrap();
    let config = golden.path().join("config/topics.json");
    let text = fs::read_to_string(&config).unwrap().replace("GoldenPlainB", "AnotherTopic");
    fs::write(&config, text).unwrap();
    let out = mqstore(&["verify", &golden.dir()]).well();
    assert!(out.contains("75 records of GoldenPlainB, which was deleted"), "{out}");
    let topics = ["GoldenPlainA", "GoldenPlainB"].map(|topic| golden.path().join("consumequeue").join(topic));
    mqstore(&["rebuild", &golden.dir()]).well();
    assert_eq!(topics.map(|topic| topic.exists()), [true, false]);
}

/// Byte for byte, bit maps of filters too, where what they were is still there.
#[test]
fn rebuilt_batch_queues_and_extensions_are_those_of_the_reference() {
    let lost = [("batchcq", "batchconsumequeue"), ("batchcq", "config")];
    for (name, lost) in lost.into_iter().chain(["batchcq", "filter", "filter-4x"].map(|name| (name, ""))) {
        let golden = Golden::unpack(name);
        let derived = ["consumequeue", "batchconsumequeue", "consumequeue_ext"];
        let before = derived.map(|directory| contents(&golden.path().join(directory)));
        if !lost.is_empty() {
            fs::remove_dir_all(golden.path().join(lost)).unwrap();
        }
        let sizes = ["--batch-queue-file-size", "4600", "--extension-file-size", "49152"];
        mqstore(&[&["rebuild", &golden.dir()], &sizes[..]].concat()).well();
        for (directory, before) in derived.iter().zip(before) {
            assert!(contents(&golden.path().join(directory)) == before, "{name} {directory} without {lost:?}");
        }
        let out = mqstore(&["verify", &golden.dir()]).well();
        assert!(out.contains("queues: "), "{out}");
        golden.open().close().unwrap();
    }
}

/// What is in extensions can only be made anew without what filters said.
#[test]
fn a_lost_extension_is_made_without_bit_maps() {
    let golden = Golden::unpack("filter");
    fs::remove_dir_all(golden.path().join("consumequeue_ext")).unwrap();
    mqstore(&["verify", &golden.dir()]).with(1);
    let conf = golden.beside("broker.conf");
    let sizes =
        "mappedFileSizeCommitLog=262144\nmappedFileSizeConsumeQueue=1200\nmaxHashSlotNum=100\nmaxIndexNum=400\n";
    fs::write(&conf, format!("enableConsumeQueueExt=true\nmappedFileSizeConsumeQueueExt=49152\n{sizes}")).unwrap();
    mqstore(&["rebuild", &golden.dir(), "-c", &conf]).well();
    mqstore(&["verify", &golden.dir()]).well();
    mqstore(&["diff", &Golden::unpack("filter").dir(), &golden.dir()]).well();
}

/// The offset of its next message is known nowhere else.
#[test]
fn a_queue_of_which_all_expired_keeps_its_offsets() {
    let golden = Golden::unpack("expired");
    let ls = || mqstore(&["ls", &golden.dir()]).well();
    let before = ls();
    let is_expired = |line: &&str| line.split('\t').nth(4) == Some("0") && line.split('\t').nth(3) != Some("0");
    assert!(before.lines().any(|line| is_expired(&line)), "{before}");
    mqstore(&["rebuild", &golden.dir()]).well();
    assert_eq!(ls(), before);
    mqstore(&["verify", &golden.dir()]).well();
}

/// A broker would not open it.
#[test]
fn a_queue_of_the_wrong_kind_is_named_and_made_anew() {
    let golden = Golden::unpack("batchcq");
    let topics = golden.path().join("config/topics.json");
    let text = fs::read_to_string(&topics).unwrap();
    fs::write(&topics, text.replace("BatchCQ", "SimpleCQ")).unwrap();
    let out = mqstore(&["verify", &golden.dir()]).with(1);
    assert!(out.contains("topic GoldenBcq has queues of type BatchCQ, and is of type SimpleCQ: rebuild"), "{out}");
    mqstore(&["rebuild", &golden.dir()]).well();
    assert!(!golden.path().join("batchconsumequeue").exists());
    fs::write(&topics, text).unwrap();
    mqstore(&["rebuild", &golden.dir(), "--batch-queue-file-size", "4600"]).well();
    mqstore(&["verify", &golden.dir()]).well();
}

/// At whatever moment it is killed: the store opens, and nothing of it is missing.
#[test]
fn a_rebuild_may_be_killed() {
    may_be_killed("plain-5x", "GoldenPlainA", 1, 106);
    may_be_killed("filter", "GoldenFilter", 0, 133);
}

fn may_be_killed(name: &str, topic: &str, queue_id: i32, max: i64) {
    let golden = Golden::unpack(name);
    for round in 0..8 {
        let mut child = start(&["rebuild", &golden.dir()]);
        thread::sleep(Duration::from_millis(round * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        mqstore(&["verify", &golden.dir()]).well();
        let store = golden.open();
        assert_eq!(store.max_offset(topic, queue_id), max);
        store.close().unwrap();
    }
    mqstore(&["rebuild", &golden.dir()]).well();
    mqstore(&["diff", &Golden::unpack(name).dir(), &golden.dir()]).well();
}

#[test]
fn truncate_says_what_goes_and_needs_a_yes() {
    let golden = Golden::unpack("plain-5x");
    let before = contents(&golden.path());
    let ended = mqstore(&["truncate", &golden.dir(), "--at", "1936540"]);
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("nothing was changed"), "{}", ended.err);
    assert!(
        ended.out.starts_with("56 records go, 355648 bytes, physical offsets 1936540 to 2292188\n"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("\nGoldenPlainB\t0\t67\t74\n"), "{}", ended.out);
    let ended = mqstore(&["truncate", &golden.dir(), "--at", "1936541", "--yes"]);
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("the nearest places are 1936540 and 2002342"), "{}", ended.err);
    for outside in ["-1", "2292189", "99999999"] {
        assert_eq!(mqstore(&["truncate", &golden.dir(), &format!("--at={outside}"), "--yes"]).status, 2, "{outside}");
    }
    assert_eq!(contents(&golden.path()), before);
}

#[test]
fn truncate_cuts_log_queues_and_index() {
    let whole = Golden::unpack("plain-5x");
    let all = lines(&mqstore(&["cat", &whole.dir()]).well());
    // within a file, at the start of one, everything
    for n in [464, 60, all.iter().position(|record| record["physicalOffset"] == 262_144).unwrap_or(1), 0] {
        let golden = Golden::unpack("plain-5x");
        let at = all[n]["physicalOffset"].to_string();
        mqstore(&["truncate", &golden.dir(), "--at", &at, "--yes"]).well();
        mqstore(&["verify", &golden.dir()]).well();
        assert_eq!(lines(&mqstore(&["cat", &golden.dir()]).well()), all[..n]);
        if n > 0 {
            mqstore(&["diff", &whole.dir(), &golden.dir()]).well();
        }
    }
}

/// At whatever moment it is killed: the store opens, with a log that ends with one of its records.
#[test]
fn a_truncation_may_be_killed() {
    for round in 0..4 {
        let golden = Golden::unpack("plain-5x");
        let mut child = start(&["truncate", &golden.dir(), "--at", "262144", "--yes"]);
        thread::sleep(Duration::from_millis(round * 8));
        child.kill().unwrap();
        child.wait().unwrap();
        golden.open().close().unwrap();
        mqstore(&["verify", &golden.dir()]).well();
    }
}

#[test]
fn salvage_copies_what_verifies_and_changes_nothing_of_the_source() {
    let golden = Golden::unpack("crashed-overwritten-middle");
    let before = contents(&golden.path());
    let target = golden.beside("salvaged");
    let out = mqstore(&["salvage", &golden.dir(), &target]).with(1);
    assert!(out.starts_with("damaged: 529910 to 530320 (410 bytes): the body's checksum is"), "{out}");
    assert!(out.contains("354 records are in "), "{out}");
    assert_eq!(contents(&golden.path()), before);
    mqstore(&["verify", &target]).well();
    // everything but the damaged record, where it was
    let good = lines(&mqstore(&["cat", &Golden::unpack("crashed").dir()]).well());
    let salvaged = lines(&mqstore(&["cat", &target]).well());
    assert_eq!(good.len(), salvaged.len());
    for (good, salvaged) in good.iter().zip(&salvaged) {
        if good["physicalOffset"] == 529_910 {
            assert_eq!((&salvaged["topic"], &salvaged["size"]), (&"SALVAGED".into(), &410.into()));
        } else {
            assert_eq!(good, salvaged);
        }
    }
    assert!(!mqstore(&["ls", &target]).well().contains("SALVAGED"));
    // a second time it would be written over
    mqstore(&["salvage", &golden.dir(), &target]).with(2);
}

#[test]
fn salvage_passes_over_lost_files_and_file_ends() {
    let golden = Golden::unpack("plain-5x");
    let file = |start: i64| golden.path().join(format!("commitlog/{start:020}"));
    fs::remove_file(file(524_288)).unwrap();
    fs::remove_file(file(786_432)).unwrap();
    let mut bytes = fs::read(file(1_310_720)).unwrap();
    bytes[200_000..].fill(0x55);
    fs::write(file(1_310_720), &bytes).unwrap();
    let target = golden.beside("salvaged");
    let out = mqstore(&["salvage", &golden.dir(), &target]).with(1);
    assert!(out.contains("file 00000000000000524288 is missing"), "{out}");
    mqstore(&["verify", &target]).well();
    let all = lines(&mqstore(&["cat", &Golden::unpack("plain-5x").dir()]).well());
    let salvaged = lines(&mqstore(&["cat", &target]).well());
    let lost = |at: i64| (524_288..1_048_576).contains(&at) || (1_310_720 + 150_000..1_572_864).contains(&at);
    let kept = all.iter().filter(|record| !lost(record["physicalOffset"].as_i64().unwrap()));
    assert!(kept.clone().count() > 300);
    for record in kept {
        assert!(salvaged.contains(record), "{record}");
    }
}

/// What was known of queues before does not hold for those that are made anew.
#[test]
fn known_ends_of_queues_are_forgotten() {
    let golden = Golden::unpack("plain-5x");
    golden.open().close().unwrap();
    let known = || KnownEnds::open(&golden.path()).unwrap().1;
    assert!(!known().ends.is_empty());
    let target = golden.beside("salvaged");
    mqstore(&["salvage", &golden.dir(), &target]).well();
    assert!(!Path::new(&target).join("queueEnds").exists());
    mqstore(&["rebuild", &golden.dir()]).well();
    assert!(known().ends.is_empty());
}

/// Which topics were deleted is still known: of what is cut off nothing comes back, and what is stored there later stays.
#[test]
fn deletions_are_known_up_to_where_the_log_is_cut_off() {
    let golden = Golden::unpack("plain-5x");
    let known = || KnownEnds::open(&golden.path()).unwrap();
    let deleted = [("early", 1000), ("late", 1 << 40)].map(|(topic, end)| (topic.to_owned(), end)).to_vec();
    known().0.forget(deleted.clone()).unwrap();
    mqstore(&["rebuild", &golden.dir()]).well();
    assert_eq!(known().1.deleted[0], deleted[0]);
    mqstore(&["truncate", &golden.dir(), "--at", "262144", "--yes"]).well();
    let expected = [("early", 1000), ("late", 262_144)].map(|(topic, end)| (topic.to_owned(), end));
    assert_eq!(known().1.deleted, expected);
}

#[test]
fn diff_names_the_first_difference() {
    let [a, b] = [Golden::unpack("plain-5x"), Golden::unpack("plain-5x")];
    let file = b.path().join("commitlog/00000000000000262144");
    let mut bytes = fs::read(&file).unwrap();
    bytes[65_836 + 90] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let out = mqstore(&["diff", &a.dir(), &b.dir()]).with(1);
    assert!(out.contains("log: first difference at 328070: 0x") && out.contains("record at 327980"), "{out}");
    assert!(out.contains("golden-plain_C queue 4 offset 1"), "{out}");

    let b = Golden::unpack("plain-5x");
    let file = b.path().join("consumequeue/golden-plain_C/4/00000000000000000000");
    let mut bytes = fs::read(&file).unwrap();
    bytes[39] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let out = mqstore(&["diff", &a.dir(), &b.dir()]).with(1);
    assert!(out.contains("queue golden-plain_C 4: first difference: offset 1 leads to 327980"), "{out}");

    let b = Golden::unpack("plain-5x");
    let file = contents(&b.path().join("index")).remove(1).0;
    let mut bytes = fs::read(&file).unwrap();
    bytes[440 + 20 * 7] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let out = mqstore(&["diff", &a.dir(), &b.dir()]).with(1);
    assert!(out.contains("index: first difference: hashes "), "{out}");

    // the last item again, as the reference puts it there after a kill
    let b = Golden::unpack("plain-5x");
    let file = contents(&b.path().join("index")).pop().unwrap().0;
    let mut bytes = fs::read(&file).unwrap();
    let next = u32::from_be_bytes(*bytes[36..].first_chunk().unwrap());
    let place = 440 + 20 * next as usize;
    bytes.copy_within(place - 20..place, place);
    bytes[36..40].copy_from_slice(&(next + 1).to_be_bytes());
    fs::write(&file, &bytes).unwrap();
    mqstore(&["diff", &a.dir(), &b.dir()]).well();

    // another store altogether has no part of the log in common, or differs from the first byte on
    let out = mqstore(&["diff", &a.dir(), &Golden::unpack("ipv6").dir()]).with(1);
    assert!(out.contains("log: first difference at"), "{out}");
}
