use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::index::IndexBuilder;
use crate::read::memory_log::{MemoryLog, TestRecord};

const FOREVER: (i64, i64) = (0, i64::MAX);

struct Fixture {
    directory: TempDir,
    log: Arc<MemoryLog>,
}

impl Fixture {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), log: Arc::new(MemoryLog::new(1 << 16)) }
    }

    /// Appends a record with four keys: unique, two keys, tag.
    fn append(&self, n: i64) -> i64 {
        let properties = format!("UNIQ_KEY\x01u{n}\x02KEYS\x01k{} all\x02TAGS\x01tag\x02", n % 10);
        let (place, _) = self.log.append(&TestRecord {
            queue_offset: n,
            store_timestamp: 1_000_000 + n * 1000,
            properties: properties.as_bytes(),
            ..TestRecord::default()
        });
        place
    }

    fn build(&self, clean: bool) -> IndexBuilder {
        let index = IndexTable::open(self.directory.path().to_owned(), 7, 50, &*self.log, clean).unwrap();
        IndexBuilder::start(Arc::new(index), Arc::clone(&self.log) as _, false, Duration::ZERO, |_| {}).unwrap()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.directory.path()).unwrap().count()
    }
}

fn query(index: &IndexBuilder, key: &str, kind: IndexKind) -> Vec<i64> {
    index.reader().query("t", key, kind, 64, FOREVER.0, FOREVER.1).unwrap().offsets
}

fn all_there(index: &IndexBuilder, places: &[i64]) {
    for (n, place) in places.iter().enumerate() {
        assert_eq!(query(index, &format!("u{n}"), IndexKind::Key), [*place], "{n}");
        let same: Vec<_> = places.iter().copied().skip(n % 10).step_by(10).collect();
        assert_eq!(query(index, &format!("k{}", n % 10), IndexKind::Key), same, "{n}");
    }
    assert_eq!(query(index, "all", IndexKind::Key), places);
    assert_eq!(query(index, "tag", IndexKind::Tag), places);
    assert!(query(index, "tag", IndexKind::Key).is_empty());
}

#[test]
fn keys_are_found_over_files() {
    let fixture = Fixture::new();
    let mut places: Vec<_> = (0..40).map(|n| fixture.append(n)).collect();
    let index = fixture.build(true);
    all_there(&index, &places);
    index.stop().unwrap();
    // 49 items a file
    assert_eq!(fixture.files(), 4);
    let index = fixture.build(true);
    all_there(&index, &places);
    places.push(fixture.append(40));
    all_there(&index, &places);
}

/// Names are local times: each autumn an hour of them comes twice.
#[test]
fn a_clock_that_was_set_back_hides_no_key() {
    let damages = [None, Some(0), Some(1), Some(2), Some(3)];
    for (moved, damaged) in [2, 3, 4].into_iter().flat_map(|moved| damages.map(|damaged| (moved, damaged))) {
        let fixture = Fixture::new();
        let mut places: Vec<_> = (0..40).map(|n| fixture.append(n)).collect();
        fixture.build(true).stop().unwrap();
        let mut files = names(fixture.directory.path()).unwrap();
        files.sort_unstable();
        assert_eq!(files.len(), 4);
        for (n, file) in files.iter_mut().enumerate().skip(moved) {
            let earlier = fixture.directory.path().join(format!("{n:017}"));
            fs::rename(std::mem::replace(file, earlier.clone()), earlier).unwrap();
        }
        if let Some(damaged) = damaged {
            let file = fs::File::options().write(true).open(&files[damaged]).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &[0; 40], 0).unwrap();
        }
        let index = fixture.build(true);
        all_there(&index, &places);
        places.extend((40..60).map(|n| fixture.append(n)));
        all_there(&index, &places);
        index.stop().unwrap();
        all_there(&fixture.build(true), &places);
    }
}

/// As long as it is behind, each file is named behind the one before.
#[test]
fn files_are_named_in_order_whatever_the_clock_says() {
    let fixture = Fixture::new();
    for n in 0..13 {
        fixture.append(n);
    }
    fixture.build(true).stop().unwrap();
    let [first, second] = names(fixture.directory.path()).unwrap().try_into().unwrap();
    let last = std::cmp::max(&first, &second);
    fs::rename(last, fixture.directory.path().join("99991231235959999")).unwrap();
    for n in 13..40 {
        fixture.append(n);
    }
    fixture.build(true).stop().unwrap();
    let mut later = names(fixture.directory.path()).unwrap();
    later.retain(|path| path.file_name().unwrap().to_str().unwrap() > "99991231235959999");
    assert_eq!(later.len(), 2);
}

#[test]
fn times_and_numbers_limit() {
    let fixture = Fixture::new();
    let places: Vec<_> = (0..40).map(|n| fixture.append(n)).collect();
    let index = fixture.build(true);
    let within = |begin, end, max| index.reader().query("t", "all", IndexKind::Key, max, begin, end).unwrap().offsets;
    assert_eq!(within(1_010_000, 1_020_000, 64), places[10..=20]);
    assert_eq!(within(FOREVER.0, FOREVER.1, 3), places[37..]);
    assert!(within(0, 999_000, 64).is_empty());
    let found = index.reader().query("t", "none", IndexKind::Key, 64, 0, 1).unwrap();
    assert_eq!((found.last_update_time, found.last_update_offset), (1_039_000, places[39]));
}

#[test]
fn a_kill_loses_and_doubles_nothing() {
    for flushed in [0, 1, 12, 13, 25, 39] {
        let fixture = Fixture::new();
        let mut places: Vec<_> = (0..flushed).map(|n| fixture.append(n)).collect();
        let index = fixture.build(true);
        query(&index, "all", IndexKind::Key);
        index.table().flush().unwrap();
        let kept = TempDir::new().unwrap();
        for entry in fs::read_dir(fixture.directory.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), kept.path().join(entry.file_name())).unwrap();
        }
        places.extend((flushed..40).map(|n| fixture.append(n)));
        drop(index);
        let killed = Fixture { directory: kept, log: Arc::clone(&fixture.log) };
        all_there(&killed.build(false), &places);
    }
}

#[test]
fn damage_is_made_again() {
    for (at, byte) in [(3, 0xFF), (38, 0xFF), (44, 0x7F), (90, 0xEE), (500, 0x00)] {
        let fixture = Fixture::new();
        let places: Vec<_> = (0..30).map(|n| fixture.append(n)).collect();
        fixture.build(true).stop().unwrap();
        let last = names(fixture.directory.path()).unwrap().into_iter().max().unwrap();
        let mut bytes = fs::read(&last).unwrap();
        let end = (at + 30).min(bytes.len());
        bytes[at..end].fill(byte);
        fs::write(&last, bytes).unwrap();
        let index = fixture.build(false);
        // never an endless chain or a panic; what was not cut is found
        let found = query(&index, "all", IndexKind::Key);
        assert!(found.iter().all(|place| places.contains(place)), "{at}");
    }
    let fixture = Fixture::new();
    let places: Vec<_> = (0..30).map(|n| fixture.append(n)).collect();
    fixture.build(true).stop().unwrap();
    fs::write(names(fixture.directory.path()).unwrap().into_iter().min().unwrap(), "short").unwrap();
    all_there(&fixture.build(true), &places);
}

#[test]
fn what_is_behind_the_log_goes() {
    let fixture = Fixture::new();
    let places: Vec<_> = (0..30).map(|n| fixture.append(n)).collect();
    fixture.build(true).stop().unwrap();
    fixture.log.set_end(places[11]);
    all_there(&fixture.build(false), &places[..11]);
    fixture.log.set_min(places[10]);
    assert_eq!(fixture.build(true).table().delete_expired(places[10]).unwrap(), 0);
}
