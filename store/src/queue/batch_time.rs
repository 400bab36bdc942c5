//! Looking for a time in a batch queue, whose units carry the store time of their record.

use std::io;

use super::entry::Entry;
use super::queue::Queue;
use crate::read::Boundary;

impl Queue {
    /// The queue offset for a time in ms, within minimum and maximum; -1 in a queue without units. It goes the steps of the reference, which always is the
    /// first offset of a record. For times behind the last record it is that of the last one. Looking for the upper
    /// boundary of a time at which nothing was stored, the reference may fail, and answers the minimum.
    pub(crate) fn offset_by_time(&self, time: i64, boundary: Boundary) -> io::Result<i64> {
        let found = self.search_by_time(time, boundary)?;
        Ok(found.map_or(-1, |entry| entry.offset).max(self.min_offset()).min(self.max_offset()))
    }

    fn search_by_time(&self, time: i64, boundary: Boundary) -> io::Result<Option<Entry>> {
        let (first, end) = self.places();
        let per_file = self.files().layout().units_per_file;
        // the last file that begins at the time or before it, or else the first
        let mut start = first;
        for file in (first..end).step_by(per_file as usize).skip(1) {
            match self.entry_at(file, true)? {
                Some(entry) if entry.store_timestamp <= time => start = file,
                _ => break,
            }
        }
        let (mut left, mut right) = (start, end.min(start + per_file) - 1);
        match self.entry_at(right, true)? {
            Some(last) if time < last.store_timestamp => {}
            last => return Ok(last),
        }
        while left <= right {
            let middle = left + (right - left) / 2;
            let Some(entry) = self.entry_at(middle, true)? else { break };
            if middle == left {
                if entry.store_timestamp >= time {
                    return Ok(Some(entry));
                }
                left = middle + 1;
            } else {
                match boundary {
                    Boundary::Lower if entry.store_timestamp < time => left = middle + 1,
                    Boundary::Lower => right = middle,
                    Boundary::Upper if entry.store_timestamp <= time => left = middle,
                    Boundary::Upper => right = middle - 1,
                }
            }
        }
        Ok(None)
    }
}
