use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::dispatch::Dispatch;
use crate::read::memory_log::{MemoryLog, TestRecord};
use crate::read::{Boundary, offset_by_time};

struct Fixture {
    directory: TempDir,
    log: Arc<MemoryLog>,
    queues: Arc<QueueTable>,
}

/// `count` messages in queue 0 of `t`, all of the same size, a file of the log holds 30 of them; tags a, b, a, b, ….
fn fixture(count: i64) -> Fixture {
    with_offsets(0..count)
}

/// The same with these queue offsets.
fn with_offsets(offsets: impl Iterator<Item = i64>) -> Fixture {
    let directory = TempDir::new().unwrap();
    let log = Arc::new(MemoryLog::new(30 * SIZE + 8));
    let queues = Arc::new(QueueTable::new(directory.path().to_owned(), 400, 8));
    for n in offsets {
        let (_, size) = log.append(&TestRecord {
            queue_offset: n,
            store_timestamp: 1000 + n / 2 * 10,
            properties: if n % 2 == 0 { b"TAGS\x01a\x02" } else { b"TAGS\x01b\x02" },
            ..TestRecord::default()
        });
        assert_eq!(size as usize, SIZE);
    }
    Dispatch::new(Arc::clone(&log) as _, Arc::clone(&queues), 0).catch_up().unwrap();
    Fixture { directory, log, queues }
}

const SIZE: usize = 103;

impl Fixture {
    fn get(&self, offset: i64, filter: Option<&dyn MessageFilter>) -> GetResult {
        self.limited(offset, &ReadLimits::default(), filter)
    }

    fn limited(&self, offset: i64, limits: &ReadLimits, filter: Option<&dyn MessageFilter>) -> GetResult {
        let request = GetRequest { topic: "t", queue_id: 0, offset, max_count: 1000, max_bytes: 1 << 30 };
        get(&*self.log, &self.queues, limits, &request, filter).unwrap()
    }
}

struct Tag(i64);

impl MessageFilter for Tag {
    fn matches_queue(&self, tags_code: i64, _: Option<&ExtensionUnit>) -> bool {
        tags_code == self.0
    }
}

struct Text(&'static str);

impl MessageFilter for Text {
    fn matches_queue(&self, _: i64, _: Option<&ExtensionUnit>) -> bool {
        true
    }
    fn needs_record(&self) -> bool {
        true
    }
    fn matches_record(&self, properties: Properties<'_>) -> bool {
        properties.get_str("TAGS") == Some(self.0)
    }
}

/// Damage that came while the store was closed: nothing has looked at the record before.
#[test]
fn a_record_that_does_not_say_it_is_one_costs_no_other() {
    let fixture = fixture(5);
    for (n, lengths) in [(2, vec![2, 2]), (3, vec![2, 1]), (0, vec![1, 1]), (4, vec![1]), (1, vec![])] {
        fixture.log.damage(n * SIZE as i64);
        let found = fixture.get(0, None);
        assert_eq!(found.runs.iter().map(|run| run.len() / SIZE).collect::<Vec<_>>(), lengths);
        assert_eq!((found.count, found.bytes), (lengths.iter().sum(), lengths.iter().sum::<usize>() * SIZE));
        assert_eq!(found.next_offset, 5);
    }
    assert_eq!(fixture.get(0, None).status, GetStatus::MessageWasRemoving);
}

#[test]
fn neighbours_are_one_run() {
    let fixture = fixture(100);
    let found = fixture.get(0, None);
    assert_eq!((found.status, found.count, found.next_offset), (GetStatus::Found, 32, 32));
    // 30 in the first file, 2 in the second
    let lengths: Vec<_> = found.runs.iter().map(Bytes::len).collect();
    assert_eq!(lengths, [30 * SIZE, 2 * SIZE]);
    assert_eq!((found.min_offset, found.max_offset, found.suggest_slave), (0, 100, false));
}

#[test]
fn offsets_outside_have_their_statuses() {
    let fixture = fixture(100);
    fixture.queues.get("t", 0).unwrap().correct_min_offset(10 * SIZE as i64).unwrap();
    for (offset, status, next) in [
        (-1, GetStatus::OffsetTooSmall, 10),
        (9, GetStatus::OffsetTooSmall, 10),
        (100, GetStatus::OffsetOverflowOne, 100),
        (101, GetStatus::OffsetOverflowBadly, 100),
        (i64::MAX, GetStatus::OffsetOverflowBadly, 100),
    ] {
        let found = fixture.get(offset, None);
        assert_eq!((found.status, found.next_offset), (status, next), "{offset}");
        let slave = ReadLimits { correct_next_offset: false, ..ReadLimits::default() };
        assert_eq!(fixture.limited(offset, &slave, None).next_offset, offset);
    }
    let request = GetRequest { topic: "t", queue_id: 1, offset: 5, max_count: 1, max_bytes: 1 };
    let absent = get(&*fixture.log, &fixture.queues, &ReadLimits::default(), &request, None).unwrap();
    assert_eq!((absent.status, absent.next_offset), (GetStatus::NoMatchedLogicQueue, 0));
    fixture.queues.get_or_create("t", 1).unwrap();
    let empty = get(&*fixture.log, &fixture.queues, &ReadLimits::default(), &request, None).unwrap();
    assert_eq!((empty.status, empty.next_offset), (GetStatus::NoMessageInQueue, 0));
}

#[test]
fn filters_choose_and_the_offset_advances() {
    let fixture = fixture(100);
    let tagged = fixture.get(0, Some(&Tag(i64::from(b'b'))));
    assert_eq!((tagged.count, tagged.runs.len(), tagged.next_offset), (32, 32, 64));
    let by_text = fixture.get(0, Some(&Text("b")));
    assert_eq!((by_text.count, by_text.filtered, by_text.next_offset), (32, 32, 64));
    assert_eq!(by_text.runs, tagged.runs);
    let none = fixture.get(3, Some(&Tag(0)));
    assert_eq!((none.status, none.next_offset), (GetStatus::NoMatchedMessage, 100));
    // no more units than the limit are looked at
    let limits = ReadLimits { filter_bytes: 200, ..ReadLimits::default() };
    let request = GetRequest { topic: "t", queue_id: 0, offset: 3, max_count: 1, max_bytes: 1 };
    let none = get(&*fixture.log, &fixture.queues, &limits, &request, Some(&Tag(0))).unwrap();
    assert_eq!(none.next_offset, 13);
}

#[test]
fn limits_are_kept() {
    let fixture = fixture(100);
    let limits = ReadLimits { memory_distance: 10, ..ReadLimits::default() };
    let from_disk = fixture.limited(0, &limits, None);
    assert_eq!((from_disk.count, from_disk.suggest_slave), (8, true));
    let limits = ReadLimits { bytes_in_memory: 5 * SIZE, ..ReadLimits::default() };
    assert_eq!(fixture.limited(0, &limits, None).count, 5);
    let limits = ReadLimits { bytes_in_memory: 1, ..ReadLimits::default() };
    assert_eq!(fixture.limited(0, &limits, None).count, 1);
    let request = GetRequest { topic: "t", queue_id: 0, offset: 0, max_count: 3, max_bytes: 1 << 20 };
    assert_eq!(get(&*fixture.log, &fixture.queues, &ReadLimits::default(), &request, None).unwrap().count, 3);
}

#[test]
fn records_that_are_gone_are_passed_over() {
    let fixture = fixture(100);
    fixture.log.set_min(30 * SIZE as i64 + 8);
    let found = fixture.get(0, None);
    assert_eq!((found.status, found.count, found.next_offset), (GetStatus::Found, 32, 62));
    fixture.log.set_min(1 << 40);
    let gone = fixture.get(0, None);
    assert_eq!((gone.status, gone.count, gone.next_offset), (GetStatus::MessageWasRemoving, 0, 100));
}

/// What a queue has no record for, and a unit that leads nowhere, cost no other message of the queue.
#[test]
fn messages_behind_a_blank_or_a_damaged_unit_are_read() {
    let fixture = with_offsets((0..10).chain(12..100));
    let mut expected: Vec<i64> = (0..10).chain(12..34).collect();
    let queue = fixture.queues.get("t", 0).unwrap();
    let offsets = |found: &GetResult| -> Vec<i64> {
        let records = found.runs.iter().flat_map(|run| run.chunks(SIZE));
        records.map(|record| record::RecordFields::of(record).unwrap().queue_offset).collect()
    };
    assert_eq!(queue.unit(10).unwrap(), Some(Unit::BLANK));
    let found = fixture.get(0, None);
    assert_eq!((found.status, offsets(&found), found.next_offset), (GetStatus::Found, expected.clone(), 34));
    // a reader that asks for a blank gets what follows it
    let found = fixture.get(10, None);
    assert_eq!((found.status, offsets(&found)[0]), (GetStatus::Found, 12));

    fixture.queues.flush(0).unwrap();
    let file = std::fs::File::options().write(true).open(fixture.directory.path().join("t/0/00000000000000000000"));
    let far = Unit { physical_offset: 1 << 50, size: SIZE as i32, tags_code: 0 };
    std::os::unix::fs::FileExt::write_all_at(&file.unwrap(), &far.to_bytes(), 5 * 20).unwrap();
    expected.remove(5);
    expected.push(34);
    let found = fixture.get(0, None);
    assert_eq!((found.status, offsets(&found), found.next_offset), (GetStatus::Found, expected, 35));
}

#[test]
fn a_missing_queue_file_leads_to_the_next() {
    let fixture = fixture(100);
    fixture.queues.flush(0).unwrap();
    // offsets 20..40
    std::fs::remove_file(fixture.directory.path().join("t/0/00000000000000000400")).unwrap();
    let queues = QueueTable::new(fixture.directory.path().to_owned(), 400, 8);
    let queue = queues.get_or_create("t", 0).unwrap();
    queue.restore(vec![0, 20, 40, 60, 80], 100, 100, 100);
    let request = GetRequest { topic: "t", queue_id: 0, offset: 25, max_count: 3, max_bytes: 1 << 20 };
    let found = get(&*fixture.log, &queues, &ReadLimits::default(), &request, None).unwrap();
    assert_eq!((found.status, found.next_offset), (GetStatus::OffsetFoundNull, 40));
}

#[test]
fn offsets_by_time() {
    // times 1000, 1000, 1010, 1010, …, 1490, 1490
    let fixture = fixture(100);
    let queue = fixture.queues.get("t", 0).unwrap();
    let both = |time| {
        [Boundary::Lower, Boundary::Upper]
            .map(|boundary| offset_by_time(&*fixture.log, &queue, time, boundary).unwrap())
    };
    assert_eq!(both(0), [0, 0]);
    assert_eq!(both(1000), [0, 1]);
    assert_eq!(both(1005), [2, 1]);
    assert_eq!(both(1010), [2, 3]);
    assert_eq!(both(1490), [98, 99]);
    assert_eq!(both(5000), [100, 99]);
    queue.correct_min_offset(1 << 40).unwrap();
    assert_eq!(both(1010), [100, 100]);
    let empty = fixture.queues.get_or_create("t", 7).unwrap();
    assert_eq!(offset_by_time(&*fixture.log, &empty, 5, Boundary::Upper).unwrap(), 0);
}

#[test]
fn blanks_do_not_hide_messages_from_a_search_by_time() {
    for (from, to) in [(1, 50), (10, 60), (40, 60), (49, 51), (60, 99)] {
        // times 1000, 1000, 1010, 1010, …
        let fixture = with_offsets((0..from).chain(to..101));
        let queue = fixture.queues.get("t", 0).unwrap();
        for offset in (0..from).chain(to..101) {
            let time = 1000 + offset / 2 * 10;
            let found = offset_by_time(&*fixture.log, &queue, time, Boundary::Upper).unwrap();
            let last = if offset % 2 == 0 && (offset + 1 < from || offset >= to) && offset < 100 {
                offset + 1
            } else {
                offset
            };
            assert_eq!(found, last, "{from}..{to} {time}");
            // from the offset found on, this message is the first of its time
            let lower = offset_by_time(&*fixture.log, &queue, time, Boundary::Lower).unwrap();
            let first = fixture.get(lower, None);
            let record = record::RecordFields::of(&first.runs[0][..SIZE]).unwrap();
            assert_eq!(record.store_timestamp, time, "{from}..{to} {time}");
        }
    }
}
