//! Finding out at start what consume queues hold.
//!
//! Queues are derived from the log: whatever in them does not verify is cut off, and the dispatcher makes
//! it again from where the good part ends.

use std::io;

use tracing::{info, warn};

use super::queue::Queue;
use super::table::QueueTable;
use super::unit::{UNIT_SIZE, Unit};

/// The log's side of recovery.
pub trait RecordAt: Sync {
    /// Whether the record at the unit's place is that of this queue and queue offset.
    fn matches(&self, queue: &Queue, offset: i64, unit: Unit) -> bool;
}

/// What the log looks like while queues are recovered.
#[derive(Clone, Copy)]
pub struct Loaded<'a> {
    /// First physical offset of the log.
    pub log_min: i64,
    /// Physical offset behind the last good record.
    pub log_end: i64,
    /// The last stop was clean: ends are trusted and not compared with the log.
    pub clean: bool,
    /// Physical offset behind the last record that was dispatched before a clean stop, 0 if unknown. What is before
    /// it and in no queue belongs to a topic that was deleted.
    pub dispatched: i64,
    /// The records.
    pub records: &'a dyn RecordAt,
}

impl QueueTable {
    /// Reads all queues from disk, cuts off what the log does not have, and sets their minimum.
    ///
    /// Returns where the dispatcher must start at the latest for the queues to become complete, or `None`
    /// when nothing is missing that the queues themselves show. After a clean stop without damage that is the
    /// end of the last record in any queue, or of the last one dispatched.
    ///
    /// # Errors
    /// A directory cannot be read or a file changed; a file is not of the configured size.
    pub fn recover(&self, log: Loaded<'_>) -> io::Result<Option<i64>> {
        let queues = self.discover()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = queues.len().div_ceil(threads).max(1);
        let ends: Vec<io::Result<QueueEnd>> = std::thread::scope(|scope| {
            let workers: Vec<_> = queues
                .chunks(share)
                .map(|part| {
                    scope.spawn(move || {
                        let mut all = QueueEnd::default();
                        for queue in part {
                            all.add(&queue.recover(log)?);
                        }
                        Ok(all)
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| {
                    worker.join().unwrap_or_else(|_| Err(io::Error::other("recovery of consume queues panicked")))
                })
                .collect()
        });
        let mut all = QueueEnd::default();
        for end in ends {
            all.add(&end?);
        }
        info!(queues = queues.len(), damaged_from = ?all.damaged_from, "consume queues recovered");
        Ok(match (all.damaged_from, log.clean) {
            (Some(from), _) => Some(from.clamp(log.log_min, log.log_end)),
            (None, true) => Some(all.max_physical.max(log.dispatched).clamp(log.log_min, log.log_end)),
            (None, false) => None,
        })
    }
}

/// How far queues reach.
#[derive(Default)]
struct QueueEnd {
    max_physical: i64,
    damaged_from: Option<i64>,
}

impl QueueEnd {
    fn add(&mut self, other: &QueueEnd) {
        self.max_physical = self.max_physical.max(other.max_physical);
        self.damaged_from = match (self.damaged_from, other.damaged_from) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

impl Queue {
    fn recover(&self, log: Loaded<'_>) -> io::Result<QueueEnd> {
        let found = self.files().list()?;
        let mut damaged = false;
        let mut starts: Vec<i64> = Vec::with_capacity(found.len());
        let per_file = self.files().shared().units_per_file();
        let last_found = found.last().map(|(start, _)| *start);
        for (start, length) in found {
            let follows = starts.last().is_none_or(|last| last + per_file == start);
            if damaged || !follows {
                // A file is missing before this one: it is made again, with all that follow.
                damaged = true;
                self.files().remove(start)?;
                continue;
            }
            starts.push(start);
            if length < self.files().shared().file_size() {
                damaged = length > 0 || last_found != Some(start);
                let whole_units = length - length % UNIT_SIZE as u64;
                self.files().clear_from(start + (whole_units / UNIT_SIZE as u64) as i64)?;
            }
        }
        let Some(&first) = starts.first() else {
            return Ok(QueueEnd::default());
        };
        let whole = starts.last().map_or(first, |last| last + per_file);

        let mut scan = Scan { queue: self, end: log.log_end };
        let mut end = if log.clean { scan.end_by_halves(&starts)? } else { scan.end_by_reading(&starts)? };
        if !log.clean {
            while end > first {
                let unit = scan.unit(end - 1)?;
                if !unit.is_record() || unit.end() <= log.log_min || log.records.matches(self, end - 1, unit) {
                    break;
                }
                damaged = true;
                end -= 1;
            }
        }
        self.cut(&mut starts, end, whole, log.clean)?;

        let max_physical = match scan.last_record(first, end)? {
            Some(unit) => unit.end(),
            None => -1,
        };
        self.restore(starts, end, max_physical);
        self.correct_min_offset(log.log_min)?;
        if damaged {
            warn!(topic = %self.topic(), queue_id = self.queue_id(), end,
                "consume queue is damaged behind this offset and is made again from the log");
        }
        Ok(QueueEnd { max_physical, damaged_from: damaged.then_some(max_physical.max(0)) })
    }

    /// Removes files behind the end and zeros what is left behind it in the last one.
    fn cut(&self, starts: &mut Vec<i64>, end: i64, whole: i64, clean: bool) -> io::Result<()> {
        while starts.len() > 1
            && let Some(&last) = starts.last()
            && last >= end
        {
            self.files().remove(last)?;
            starts.pop();
        }
        let last_end = starts.last().map_or(whole, |last| last + self.files().shared().units_per_file());
        if end < last_end {
            let mut next = [0; UNIT_SIZE];
            self.files().read(end, &mut next)?;
            if !clean || next != [0; UNIT_SIZE] {
                self.files().clear_from(end)?;
            }
        }
        Ok(())
    }
}

/// Looks for the last good unit of a queue's files.
struct Scan<'a> {
    queue: &'a Queue,
    /// End of the log.
    end: i64,
}

impl Scan<'_> {
    fn unit(&self, offset: i64) -> io::Result<Unit> {
        let mut bytes = [0; UNIT_SIZE];
        self.queue.files().read(offset, &mut bytes)?;
        Ok(Unit::from_bytes(&bytes))
    }

    fn good(&self, unit: Unit) -> bool {
        unit.is_written() && (!unit.is_record() || unit.end() <= self.end)
    }

    /// After a clean stop: units are dense, so the end is found by halving.
    fn end_by_halves(&mut self, starts: &[i64]) -> io::Result<i64> {
        let per_file = self.queue.files().shared().units_per_file();
        for &start in starts.iter().rev() {
            if !self.good(self.unit(start)?) {
                continue;
            }
            let (mut low, mut high) = (start, start + per_file);
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                if self.good(self.unit(middle)?) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            return Ok(high);
        }
        Ok(starts.first().copied().unwrap_or(0))
    }

    /// After a kill: reads the last three files up to the first unit that is not written, lies behind the log's end or
    /// goes backwards.
    fn end_by_reading(&mut self, starts: &[i64]) -> io::Result<i64> {
        let per_file = self.queue.files().shared().units_per_file();
        let mut from = starts.len().saturating_sub(3);
        // nothing good in these: go on before them
        while from > 0 && !self.good(self.unit(starts[from])?) {
            from -= 1;
        }
        let mut buffer = vec![0; READ_AT_ONCE * UNIT_SIZE];
        let mut previous = -1;
        for &start in &starts[from..] {
            let mut at = start;
            while at < start + per_file {
                let length = self.queue.files().read(at, &mut buffer)?;
                for unit in buffer[..length].as_chunks::<UNIT_SIZE>().0 {
                    let unit = Unit::from_bytes(unit);
                    let backwards = unit.is_record() && unit.physical_offset <= previous;
                    if !self.good(unit) || backwards {
                        return Ok(at);
                    }
                    if unit.is_record() {
                        previous = unit.physical_offset;
                    }
                    at += 1;
                }
            }
        }
        Ok(starts.last().map_or(0, |last| last + per_file))
    }

    /// The last unit before `end` that points at a record.
    fn last_record(&self, first: i64, end: i64) -> io::Result<Option<Unit>> {
        if end <= first {
            return Ok(None);
        }
        // blanks stand only before the first record, or in a gap right before another one
        Ok(Some(self.unit(end - 1)?).filter(|unit| unit.is_record()))
    }
}

const READ_AT_ONCE: usize = 3000;

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
