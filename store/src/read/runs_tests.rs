use proptest::prelude::*;

use super::*;
use crate::read::memory_log::{MemoryLog, TestRecord};

/// A log of records of these bodies, a few in each file; places and sizes.
fn log_of(bodies: &[usize]) -> (MemoryLog, Vec<(i64, usize)>) {
    let log = MemoryLog::new(1000);
    let append = |length: &usize| {
        let (place, size) = log.append(&TestRecord { body: &vec![7; *length], ..TestRecord::default() });
        (place, size as usize)
    };
    let records = bodies.iter().map(append).collect();
    (log, records)
}

fn sound(log: &MemoryLog, records: impl IntoIterator<Item = (i64, usize)>) -> Sound {
    let mut runs = Runs::new(log, 8);
    for (place, bytes) in records {
        runs.add(place, Amount { count: 1, bytes }).unwrap();
    }
    runs.finish().unwrap()
}

proptest! {
    /// Whoever wrote them, and in whatever order they are asked for.
    #[test]
    fn gives_the_records_asked_for_but_damaged_ones(
        bodies in proptest::collection::vec(0_usize..200, 1..40),
        asked in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        damaged in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        written in proptest::option::of(any::<prop::sample::Index>()),
        ends in 0_usize..200,
    ) {
        let (log, records) = log_of(&bodies);
        let written_from = written.map_or(i64::MAX, |index| index.get(&records).0);
        log.set_written_from(written_from);
        let damaged: Vec<i64> =
            damaged.iter().map(|index| index.get(&records).0).filter(|place| *place < written_from).collect();
        let end = log.max_offset() - ends as i64;
        let asked: Vec<_> = asked.iter().map(|index| *index.get(&records)).collect();
        let is_there = |(place, size): &(i64, usize)| place + *size as i64 <= end && !damaged.contains(place);
        let expected: Vec<_> = asked.iter().copied().filter(is_there).collect();
        let bytes: Vec<u8> = expected.iter().flat_map(|(place, size)| log.slice(*place, *size).unwrap().unwrap()).collect();
        for place in &damaged {
            log.damage(*place);
        }
        log.set_end(end);
        let asked = asked.into_iter().filter(|(place, size)| place + *size as i64 <= end);
        let sound = sound(&log, asked);
        prop_assert_eq!(sound.runs.concat(), bytes);
        prop_assert_eq!((sound.amount.count, sound.amount.bytes), (expected.len(), expected.iter().map(|it| it.1).sum()));
        prop_assert!(sound.runs.iter().all(|run| !run.is_empty()));
    }
}

#[test]
fn an_end_that_is_no_record_is_not_served_by_who_wrote_it_either() {
    for (at, lengths) in [(0, [false, true, true]), (2, [true, true, false])] {
        let (log, records) = log_of(&[5, 5, 5]);
        log.set_written_from(0);
        log.damage(records[at].0);
        let served = records.iter().zip(lengths).filter(|(_, is_served)| *is_served).map(|(record, _)| record.1);
        assert_eq!(sound(&log, records.iter().copied()).runs.concat().len(), served.sum::<usize>());
    }
}

/// The log's first files may go while a read runs.
#[test]
fn what_is_gone_is_not_counted() {
    for written_from in [0, i64::MAX] {
        let (log, records) = log_of(&[300; 6]);
        log.set_written_from(written_from);
        log.set_min(1000);
        let there = records.iter().filter(|(place, _)| *place >= 1000);
        let (count, bytes) = there.fold((0, 0), |(count, bytes), (_, size)| (count + 1, bytes + size));
        let sound = sound(&log, records.iter().copied());
        assert_eq!((sound.amount.count, sound.amount.bytes, sound.runs.concat().len()), (count, bytes, bytes));
    }
}
