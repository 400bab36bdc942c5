//! The commands that only look, over stores that the reference wrote: what they print is what the reference answered.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use apogee_remoting::message::record::entries;
use harness::{Golden, contents, lines, mqstore};
use serde_json::Value;

#[test]
fn info_tells_what_is_there() {
    let golden = Golden::unpack("plain-5x");
    let out = mqstore(&["info", &golden.dir()]).well();
    for line in [
        "in use           no",
        "last stop        clean",
        "  files          9 of 262144 bytes, 2359296 in all",
        "  range          0 to 2292188, 2292188 bytes",
        "  stored         2026-11-29T14:43:45.734Z to 2026-11-29T14:43:47.227Z",
        "consume queues   13 of 3 topics, files of 1200 bytes, 21600 in all",
        "index            5 files, 100 slots and 400 items each",
        "checkpoint       log 2026-11-29T14:43:47.227Z",
        "  synced         not known (written by the reference)",
        "  topics.json                              5013 bytes",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}\n{out}");
    }
    let crashed = mqstore(&["info", &Golden::unpack("crashed").dir()]).well();
    assert!(crashed.contains("last stop        unclean: the file abort is there"), "{crashed}");
}

#[test]
fn ls_prints_the_offsets_that_the_reference_answered() {
    for name in ["plain-5x", "plain-4x", "expired", "lmq", "long-topic"] {
        let golden = Golden::unpack(name);
        let out = mqstore(&["ls", &golden.dir()]).well();
        for queue in golden.expected()["queues"].as_array().unwrap() {
            let [topic, id, min, max] =
                ["topic", "queueId", "minOffset", "maxOffset"].map(|name| queue[name].to_string().replace('"', ""));
            let line = format!("{topic}\t{id}\t{min}\t{max}\t");
            // the reference answers 0 for queues that have no files
            assert!(max == "0" || out.lines().any(|found| found.starts_with(&line)), "{name} {line}\n{out}");
        }
    }
}

#[test]
fn ls_prints_one_topic() {
    let out = mqstore(&["ls", &Golden::unpack("plain-5x").dir(), "--topic", "GoldenPlainB"]).well();
    assert_eq!(out, "TOPIC\tQUEUE\tMIN\tMAX\tCOUNT\tFROM\tTO\tBYTES\nGoldenPlainB\t0\t0\t75\t75\t0\t2288133\t2400\n");
}

#[test]
fn cat_prints_every_message_as_the_reference_served_it() {
    for name in ["plain-5x", "plain-4x", "batch", "ipv6", "long-topic", "transaction"] {
        let golden = Golden::unpack(name);
        let found = lines(&mqstore(&["cat", &golden.dir()]).well());
        for expected in golden.expected()["messages"].as_array().unwrap() {
            let record = found.iter().find(|record| record["physicalOffset"] == expected["commitLogOffset"]).unwrap();
            for (ours, theirs) in [
                ("msgId", "msgId"),
                ("topic", "topic"),
                ("queueId", "queueId"),
                ("queueOffset", "queueOffset"),
                ("size", "storeSize"),
                ("flag", "flag"),
                ("bornTimestamp", "bornTimestamp"),
                ("storeTimestamp", "storeTimestamp"),
                ("reconsumeTimes", "reconsumeTimes"),
                ("properties", "properties"),
            ] {
                assert_eq!(record[ours], expected[theirs], "{name} {ours} {expected}");
            }
        }
    }
}

#[test]
fn cat_finds_by_offset_queue_key_and_time() {
    let golden = Golden::unpack("plain-5x");
    let dir = golden.dir();
    let cat = |words: &[&str]| lines(&mqstore(&[&["cat", dir.as_str()], words].concat()).well());
    let all = cat(&[]);
    assert_eq!(all.len(), 520);
    let at = |n: usize, name: &str| all[n][name].to_string().replace('"', "");

    // from a record, and from a place within one
    let offset = all[100]["physicalOffset"].as_i64().unwrap();
    assert_eq!(cat(&["--offset", &offset.to_string(), "--max", "2"]), all[100..102]);
    assert_eq!(cat(&["--offset", &(offset - 1).to_string(), "--max", "1"]), all[100..101]);

    let queue = cat(&["--topic", "GoldenPlainA", "--queue", "2", "--from", "10", "--to", "13"]);
    let offsets: Vec<_> = queue.iter().map(|record| record["queueOffset"].as_i64().unwrap()).collect();
    assert_eq!(offsets, [10, 11, 12]);

    let unique = at(7, "topic");
    let id = all[7]["properties"]["UNIQ_KEY"].as_str().unwrap();
    let by_index = cat(&["--topic", &unique, "--unique-key", id]);
    assert_eq!(by_index, all[7..8]);
    assert_eq!(cat(&["--unique-key", id]), by_index);
    let shared = cat(&["--topic", "GoldenPlainA", "--key", "shared"]);
    assert!(shared.len() > 10, "{}", shared.len());
    assert_eq!(cat(&["--topic", "GoldenPlainA", "--key", "shared", "--scan"]), shared);

    let [begin, end] = [200, 220].map(|n| at(n, "storeTimestamp"));
    let in_time = |record: &&Value| {
        (begin.parse().unwrap()..=end.parse().unwrap()).contains(&record["storeTimestamp"].as_i64().unwrap())
    };
    let expected: Vec<_> = all.iter().filter(in_time).cloned().collect();
    assert_eq!(cat(&["--begin", &begin, "--end", &end]), expected);
    assert!(cat(&["--begin", "2030-01-01T00:00:00Z"]).is_empty());
}

#[test]
fn an_export_can_be_read_back() {
    let golden = Golden::unpack("plain-5x");
    let [json, raw] = ["out.json", "out.raw"].map(|name| golden.beside(name));
    let out = mqstore(&["export", &golden.dir(), &json, "--topic", "GoldenPlainB"]).well();
    assert_eq!(out, format!("75 records, {} bytes in {json}\n", fs::metadata(&json).unwrap().len()));
    assert_eq!(fs::read_to_string(&json).unwrap(), mqstore(&["cat", &golden.dir(), "--topic", "GoldenPlainB"]).well());

    mqstore(&["export", &golden.dir(), &raw, "--format", "raw"]).well();
    let bytes = fs::read(&raw).unwrap();
    let records: Vec<_> = entries(&bytes).map(Result::unwrap).collect();
    assert_eq!(records.len(), 520);
    let log: Vec<u8> = contents(&golden.path().join("commitlog")).into_iter().flat_map(|(_, bytes)| bytes).collect();
    for record in records {
        assert_eq!(record.as_bytes(), &log[record.physical_offset as usize..][..record.size()]);
    }
    // never over what is there
    mqstore(&["export", &golden.dir(), &raw]).with(2);
}

#[test]
fn several_log_directories_and_a_configuration_file() {
    let golden = Golden::unpack("plain-5x");
    let one = golden.path().join("commitlog");
    let whole = mqstore(&["cat", &golden.dir()]).well();
    let [a, b] = ["a", "b"].map(|name| golden.beside(name));
    for (n, (path, content)) in contents(&one).into_iter().enumerate() {
        let directory = if n % 2 == 0 { &a } else { &b };
        fs::create_dir_all(directory).unwrap();
        fs::write(format!("{directory}/{}", path.file_name().unwrap().display()), content).unwrap();
    }
    fs::remove_dir_all(&one).unwrap();
    assert_eq!(mqstore(&["cat", &golden.dir(), "--commit-log", &format!("{a},{b}")]).well(), whole);
    let conf = golden.beside("broker.conf");
    let sizes =
        "mappedFileSizeCommitLog=262144\nmappedFileSizeConsumeQueue=1200\nmaxHashSlotNum=100\nmaxIndexNum=400\n";
    fs::write(&conf, format!("storePathCommitLog={a},{b}\n{sizes}")).unwrap();
    mqstore(&["verify", &golden.dir(), "-c", &conf]).well();
    // a copy of a store is not led back to the original by its configuration
    let copied = Golden::unpack("plain-5x");
    fs::write(&conf, format!("storePathRootDir=/elsewhere\nstorePathCommitLog=/elsewhere/commitlog\n{sizes}")).unwrap();
    assert_eq!(mqstore(&["cat", &copied.dir(), "-c", &conf]).well(), whole);
}

#[test]
fn looking_needs_no_write_access_and_changes_nothing() {
    let golden = Golden::unpack("crashed");
    let before = contents(&golden.path());
    let set = |mode| {
        for path in [golden.path(), golden.path().join("commitlog"), golden.path().join("index")] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    for command in ["info", "ls", "cat", "verify"] {
        mqstore(&[command, &golden.dir()]).well();
    }
    mqstore(&["diff", &golden.dir(), &golden.dir()]).well();
    set(0o755);
    assert_eq!(contents(&golden.path()), before);
}

#[test]
fn what_is_no_store_is_refused_in_one_line() {
    let ended = mqstore(&["verify", "/nowhere/at/all"]);
    assert_eq!((ended.status, ended.err.lines().count()), (2, 1), "{}", ended.err);
    assert!(ended.err.contains("storePathRootDir"), "{}", ended.err);

    // A directory one too high or too low: all is well with nothing, and a repair would begin a store there.
    let golden = Golden::unpack("plain-5x");
    let (above, below) = (golden.beside(""), golden.path().join("commitlog").display().to_string());
    for directory in [&above, &below] {
        let before = contents(Path::new(directory));
        for command in ["info", "ls", "cat", "verify", "rebuild"] {
            let ended = mqstore(&[command, directory]);
            assert_eq!(ended.status, 2, "{command} {directory}");
            assert!(ended.err.contains("there is no") && ended.err.contains("storePathRootDir"), "{}", ended.err);
        }
        assert_eq!(mqstore(&["salvage", directory, &golden.beside("new")]).status, 2);
        assert_eq!(mqstore(&["diff", &golden.dir(), directory]).status, 2);
        assert_eq!(contents(Path::new(directory)), before);
    }
    let ended = mqstore(&["verify", &golden.dir(), "--commit-log", &above, "--commit-log", "/nowhere/at/all"]);
    assert_eq!(ended.status, 1, "{}", ended.out);
    assert_eq!(mqstore(&["verify", &golden.dir(), "--commit-log", "/nowhere/at/all"]).status, 2);
}

/// Numbers that no store has, in arguments and in names of files.
#[test]
fn numbers_out_of_range_are_refused() {
    let golden = Golden::unpack("plain-5x");
    let dir = golden.dir();
    for number in ["-1", "4611686018427387904", "9223372036854775807", "-9223372036854775808", "99999999999999999999"] {
        for command in
            ["cat --offset", "truncate --at", "cat --topic T --queue 0 --from", "cat --topic T --queue 0 --to"]
        {
            let (command, last) = command.split_once(' ').unwrap();
            let mut arguments = vec![command, &dir];
            let last = format!("{last}={number}");
            arguments.extend(last.split(' '));
            let ended = mqstore(&arguments);
            assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{arguments:?}");
            assert!(ended.err.contains(number) && !ended.err.contains("panicked"), "{}", ended.err);
        }
    }
    let last = format!("--offset={}", i64::MAX / 2);
    assert_eq!(mqstore(&["cat", &dir, &last]).well(), "");
    for key in ["log-file-size", "queue-file-size", "batch-queue-file-size", "extension-file-size", "index-slots"] {
        for number in ["0", "2147483648", "18446744073709551615"] {
            let ended = mqstore(&["verify", &dir, &format!("--{key}={number}")]);
            assert_eq!(ended.status, 2, "{key} {number}: {}", ended.err);
        }
    }
    let before = mqstore(&["verify", &dir]).well();
    let last = i64::MAX / 262_144 * 262_144;
    let first = |directory: &Path| fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let queue = first(&first(&golden.path().join("consumequeue")));
    for directory in [&golden.path().join("commitlog"), &queue] {
        fs::write(directory.join(format!("{last:020}")), [0; 100]).unwrap();
    }
    assert_eq!(mqstore(&["verify", &dir]).well(), before);
}
