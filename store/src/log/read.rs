//! Reading the log.

use std::io;
use std::sync::atomic::Ordering;

use apogee_remoting::message::record::Record;
use bytes::Bytes;

use super::CommitLog;
use super::passed::Passed;
use super::scan::Scan;
use crate::queue::{Queue, RecordAt, Unit};
use crate::read::{RecordFields, RecordSource};

impl RecordSource for CommitLog {
    fn min_offset(&self) -> i64 {
        self.segments.min_offset()
    }

    fn max_offset(&self) -> i64 {
        self.written()
    }

    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>> {
        let end = offset.checked_add(length as i64);
        if offset < 0 || end.is_none_or(|end| end > self.written()) {
            return Ok(None);
        }
        match self.segments.find_to_read(offset)? {
            Some(segment) => segment.slice((offset - segment.start()) as usize, length),
            None => Ok(None),
        }
    }

    fn window(&self, offset: i64, at_most: usize) -> io::Result<Option<Bytes>> {
        let written = self.written();
        if offset < 0 || offset >= written {
            return Ok(None);
        }
        let Some(segment) = self.segments.find_to_read(offset)? else {
            return Ok(None);
        };
        let there = (written.min(segment.end()) - offset) as usize;
        segment.window((offset - segment.start()) as usize, there, at_most)
    }

    fn next_file_start(&self, offset: i64) -> i64 {
        self.segments.next_start(offset)
    }

    fn damaged_until(&self, offset: i64) -> Option<i64> {
        if !self.is_damaged.load(Ordering::Acquire) {
            return None;
        }
        self.damage.load().iter().find(|(from, to)| (*from..*to).contains(&offset)).map(|(_, to)| *to)
    }

    fn resume_behind(&self, offset: i64) -> io::Result<Option<i64>> {
        let mut scan = Scan::new(&self.segments, self.options.require_property_crc);
        let found = scan.resume(offset, &mut Passed::new(offset, i64::MIN))?;
        Ok(found.filter(|found| *found < self.written()))
    }
}

impl RecordAt for CommitLog {
    fn matches(&self, queue: &Queue, offset: i64, unit: Unit) -> bool {
        let Ok(Some(bytes)) = self.slice(unit.physical_offset, unit.size as usize) else {
            return false;
        };
        Record::parse(&bytes)
            .is_ok_and(|record| record.physical_offset == unit.physical_offset && record.size() == unit.size as usize)
            && RecordFields::of(&bytes).is_some_and(|record| record.is_of(queue.topic(), queue.queue_id(), offset))
    }
}
