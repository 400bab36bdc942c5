//! Finding out at start what consume queues hold.
//!
//! Queues are derived from the log: whatever in them does not verify is cut off, and the dispatcher makes
//! it again from where the good part ends.

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{info, warn};

use super::ends::KnownEnd;
use super::entry::Entry;
use super::layout::QueueKind;
use super::queue::Queue;
use super::table::QueueTable;
use super::unit::Unit;
use crate::progress::Progress;

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
    /// The last stop was clean: ends are trusted and not compared with the log, as far as `ours` goes.
    pub clean: bool,
    /// Physical offset up to which this broker wrote log and queues, and nobody cut them since. The reference leaves units
    /// behind the end of a queue that it cuts, and takes them for good once the log has gone past them.
    pub ours: i64,
    /// After an unclean stop, the physical offset from which on records were checked. What is in queues from there on
    /// may be of a former end of the log, or of records that were lost: it is made again.
    pub checked_from: i64,
    /// Physical offset behind the first of them.
    pub checked_behind: i64,
    /// Physical offset behind the last record that was dispatched before a clean stop, 0 if unknown. What is before
    /// it and in no queue belongs to a topic that was deleted.
    pub dispatched: i64,
    /// How far queues were on disk once; not complete, and of queues that are not there any more, too. Those of a topic are
    /// next to one another.
    pub known_ends: &'a [KnownEnd],
    /// Nobody else changed the table of topics since that time.
    pub same_topics: bool,
    /// The records.
    pub records: &'a dyn RecordAt,
    /// Called before anything is changed that the next start could not find out again from files and checkpoint.
    pub before_repair: &'a (dyn Fn() -> io::Result<()> + Sync),
    /// How often is told how far it has come.
    pub tell_every: Duration,
}

impl QueueTable {
    /// Reads all queues from disk, cuts off what the log does not have or has to be made again, and sets their minimum.
    ///
    /// Returns where the dispatcher must start at the latest for the queues to become complete, or `None`
    /// when nothing is missing that the queues themselves show. After a clean stop without damage that is the
    /// end of the last record in any queue, or of the last one dispatched.
    ///
    /// # Errors
    /// A directory cannot be read or a file changed; a file is not of the configured size.
    pub fn recover(&self, log: Loaded<'_>) -> io::Result<Option<i64>> {
        let queues = self.discover()?;
        if !log.same_topics {
            self.find_remade(log)?;
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let progress = Progress::new("reading consume queues", 0, queues.len() as i64, log.tell_every);
        let (progress, read) = (&Mutex::new(progress), &AtomicI64::new(0));
        let share = queues.len().div_ceil(threads).max(1);
        let ends: Vec<io::Result<QueueEnd>> = std::thread::scope(|scope| {
            let workers: Vec<_> = queues
                .chunks(share)
                .map(|part| {
                    scope.spawn(move || {
                        let mut all = QueueEnd::default();
                        for queue in part {
                            all.add(&queue.recover(log)?);
                            let read = read.fetch_add(1, Ordering::Relaxed) + 1;
                            // who finds it taken has nothing newer to tell
                            if let Some(mut progress) = progress.try_lock() {
                                progress.at(read);
                            }
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
        for end in log.known_ends {
            if let Some(from) = self.lost_from(end, log)? {
                (log.before_repair)()?;
                warn!(
                    topic = end.topic,
                    queue_id = end.queue_id,
                    max = end.max,
                    from,
                    "a consume queue lost units and is made again from the log behind this place"
                );
                all.add(&QueueEnd { max_physical: -1, damaged_from: Some(from) });
            }
        }
        info!(queues = queues.len(), damaged_from = ?all.damaged_from, "consume queues recovered");
        Ok(match (all.damaged_from, log.clean) {
            (Some(from), _) => Some(from.clamp(log.log_min, log.log_end)),
            (None, true) => Some(all.max_physical.max(log.dispatched).clamp(log.log_min, log.log_end)),
            (None, false) => None,
        })
    }
}

impl QueueTable {
    /// The physical offset behind which a queue has no units that it once had, if so. Its files may all be gone; then it is
    /// put into the table, for its units to come back.
    fn lost_from(&self, end: &KnownEnd, log: Loaded<'_>) -> io::Result<Option<i64>> {
        let is_in_log = log.log_min < end.max_physical && end.max_physical <= log.log_end;
        if !is_in_log || !self.is_known(&end.topic) || self.is_of_deleted(&end.topic, end.max_physical - 1) {
            return Ok(None);
        }
        let Some(queue) = self.get(&end.topic, end.queue_id).filter(|queue| queue.has_files()) else {
            self.get_or_create(&end.topic, end.queue_id)?;
            return Ok(Some(log.log_min));
        };
        // what lies behind the place from which on all is made again does not count
        let is_trusted = log.clean || end.max_physical <= log.checked_from;
        let is_shorter = queue.max_offset() < end.max;
        let is_behind = queue.max_physical_offset() < end.max_physical;
        if is_shorter && queue.max_physical_offset() > end.max_physical {
            // It began anew: the last process ended before that was written down, or somebody else had the store.
            self.shared().begins_anew(&end.topic, end.max_physical);
        }
        let is_short = is_trusted && is_shorter && is_behind;
        Ok(is_short.then(|| queue.max_physical_offset().max(log.log_min)))
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
        let (mut starts, mut damaged) = self.whole_files(log)?;
        let Some(&first) = starts.first() else {
            return Ok(QueueEnd::default());
        };
        let per_file = self.files().layout().units_per_file;
        let whole = starts.last().map_or(first, |last| last + per_file);

        let scan = Scan { queue: self, end: if log.clean { log.log_end } else { log.checked_from } };
        let (mut end, mut is_worse) =
            if log.clean { (scan.end_by_halves(&starts)?, false) } else { scan.end_by_reading(&starts)? };
        // blanks stand only before a record: one that is cut takes them along
        let is_ours = |unit: Unit| log.clean && unit.end() <= log.ours;
        let last = loop {
            match self.last_record(first, end)? {
                Some((at, Entry { offset, unit, .. }))
                    if !is_ours(unit) && unit.end() > log.log_min && !log.records.matches(self, offset, unit) =>
                {
                    is_worse = true;
                    end = at;
                }
                last => break last,
            }
        };
        let end = last.map_or(first, |(at, _)| at + 1);
        if is_worse && !damaged {
            damaged = true;
            (log.before_repair)()?;
        }
        self.cut(&mut starts, end, whole, log.clean)?;

        let max_physical = last.map_or(-1, |(_, entry)| entry.unit.end());
        let none = if self.kind() == QueueKind::Simple { first } else { 0 };
        self.restore(starts, end, last.map_or(none, |(_, entry)| entry.end()), max_physical);
        if last.is_some_and(|(_, entry)| !is_ours(entry.unit) && entry.unit.end() <= log.log_min) {
            self.set_unproven();
        }
        if let Some(extension) = self.extension() {
            extension.recover(last.map(|(_, entry)| entry.unit))?;
        }
        self.correct_min_offset(log.log_min)?;
        if damaged {
            warn!(topic = %self.topic(), queue_id = self.queue_id(), end,
                "consume queue is damaged behind this offset and is made again from the log");
        }
        Ok(QueueEnd { max_physical, damaged_from: damaged.then_some(max_physical.max(0)) })
    }

    /// First units of the files that follow on one another, and whether something is missing or short. What is behind
    /// a missing or short file is removed: it is made again.
    fn whole_files(&self, log: Loaded<'_>) -> io::Result<(Vec<i64>, bool)> {
        let found = self.files().list()?;
        let (per_file, size) = (self.files().layout().units_per_file, self.files().layout().file_size());
        let last_found = found.last().map(|(start, _)| *start);
        let mut starts: Vec<i64> = Vec::with_capacity(found.len());
        let mut damaged = false;
        for (start, length) in found {
            let follows = starts.last().is_none_or(|last| last + per_file == start);
            if damaged || !follows {
                if !damaged {
                    damaged = true;
                    (log.before_repair)()?;
                }
                self.files().remove(start)?;
                continue;
            }
            starts.push(start);
            if length < size {
                // an empty last file is one whose making was interrupted
                if length > 0 || last_found != Some(start) {
                    damaged = true;
                    (log.before_repair)()?;
                }
                self.files().clear_from(start + (length / self.kind().unit_size() as u64) as i64)?;
            }
        }
        Ok((starts, damaged))
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
        let last_end = starts.last().map_or(whole, |last| last + self.files().layout().units_per_file);
        if end < last_end {
            let mut next = vec![0; self.kind().unit_size()];
            self.files().read(end, &mut next, true)?;
            if !clean || next.iter().any(|byte| *byte != 0) {
                self.files().clear_from(end)?;
            }
        }
        Ok(())
    }
}

/// Looks for the last good unit of a queue's files.
struct Scan<'a> {
    queue: &'a Queue,
    /// Physical offset behind the last record whose unit may be good.
    end: i64,
}

impl Scan<'_> {
    fn unit(&self, place: i64) -> io::Result<Unit> {
        Ok(self.queue.stored_at(place)?.unit)
    }

    fn good(&self, unit: Unit) -> bool {
        unit.is_written() && (!unit.is_record() || unit.end() <= self.end)
    }

    /// After a clean stop: units are dense, so the end is found by halving.
    fn end_by_halves(&self, starts: &[i64]) -> io::Result<i64> {
        let per_file = self.queue.files().layout().units_per_file;
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

    /// After a kill: reads the last three files up to the first unit that is not written, lies behind the end or
    /// goes backwards. Also says whether that unit is damage: more should be there.
    fn end_by_reading(&self, starts: &[i64]) -> io::Result<(i64, bool)> {
        let per_file = self.queue.files().layout().units_per_file;
        let mut from = starts.len().saturating_sub(3);
        // nothing good in these: go on before them
        while from > 0 && !self.good(self.unit(starts[from])?) {
            from -= 1;
        }
        let (kind, size) = (self.queue.kind(), self.queue.kind().unit_size());
        let mut buffer = vec![0; READ_AT_ONCE * size];
        let mut previous = -1;
        for &start in &starts[from..] {
            let mut at = start;
            while at < start + per_file {
                let length = self.queue.files().read(at, &mut buffer, true)?;
                for bytes in buffer[..length].chunks_exact(size) {
                    let Some(Entry { unit, .. }) = Entry::decode(kind, at, bytes) else { break };
                    if !unit.is_written() {
                        return Ok((at, bytes.iter().any(|byte| *byte != 0) || starts.last() != Some(&start)));
                    }
                    if unit.is_record() {
                        if unit.end() > self.end {
                            return Ok((at, false));
                        }
                        if unit.physical_offset <= previous {
                            return Ok((at, true));
                        }
                        previous = unit.physical_offset;
                    }
                    at += 1;
                }
            }
        }
        Ok((starts.last().map_or(0, |last| last + per_file), false))
    }
}

const READ_AT_ONCE: usize = 3000;

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
