//! Reading messages of a queue by offset.

use std::io;

use apogee_remoting::message::properties::Properties;
use bytes::Bytes;

use super::limits::{Amount, ReadLimits};
use super::record;
use super::runs::Runs;
use super::source::RecordSource;
use crate::queue::{Entry, ExtensionUnit, Queue, QueueTable, Unit};

/// Which messages, and how much of them at most.
#[derive(Clone, Copy, Debug)]
pub struct GetRequest<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Queue of the topic.
    pub queue_id: i32,
    /// First queue offset.
    pub offset: i64,
    /// Most messages.
    pub max_count: usize,
    /// Most bytes of records.
    pub max_bytes: usize,
}

/// How a read went; the statuses are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetStatus {
    /// There are messages.
    Found,
    /// None of those looked at passed the filter; there may be others behind.
    NoMatchedMessage,
    /// The records are no longer in the log.
    MessageWasRemoving,
    /// The queue's file is missing.
    OffsetFoundNull,
    /// The offset is further than one behind the last message.
    OffsetOverflowBadly,
    /// The offset is that of the next message to come.
    OffsetOverflowOne,
    /// The offset is before the first message.
    OffsetTooSmall,
    /// There is no such queue.
    NoMatchedLogicQueue,
    /// The queue never had a message.
    NoMessageInQueue,
}

/// What a read found.
#[derive(Clone, Debug)]
pub struct GetResult {
    /// How it went.
    pub status: GetStatus,
    /// Records in their stored form, in order; neighbours in the log are one run.
    pub runs: Vec<Bytes>,
    /// Number of messages in the runs.
    pub count: usize,
    /// Bytes in the runs.
    pub bytes: usize,
    /// Where to read on.
    pub next_offset: i64,
    /// First offset of the queue.
    pub min_offset: i64,
    /// One past its last.
    pub max_offset: i64,
    /// The messages read lie further back than memory reaches: let the consumer read from a slave.
    pub suggest_slave: bool,
    /// Messages whose record was looked at and did not pass.
    pub filtered: usize,
}

/// Chooses messages.
pub trait MessageFilter {
    /// Whether the message may be wanted, by what the consume queue knows: a hash of the tag or delivery time, and what
    /// the queue's extension has, where there is one. `false` is final.
    fn matches_queue(&self, tags_code: i64, extension: Option<&ExtensionUnit>) -> bool;

    /// Whether [`MessageFilter::matches_record`] has a say.
    fn needs_record(&self) -> bool {
        false
    }

    /// Whether the message is wanted, by its properties.
    fn matches_record(&self, properties: Properties<'_>) -> bool {
        let _ = properties;
        true
    }
}

/// Reads messages from `log` as `queues` know them.
///
/// # Errors
/// A file of the queue or the log cannot be read; `WouldBlock` when a read would wait for the disk and the log does not let it.
pub fn get<S: RecordSource + ?Sized>(
    log: &S,
    queues: &QueueTable,
    limits: &ReadLimits,
    request: &GetRequest<'_>,
    filter: Option<&dyn MessageFilter>,
) -> io::Result<GetResult> {
    let correct = |corrected: i64| {
        if limits.correct_next_offset { corrected } else { request.offset }
    };
    let Some(queue) = queues.get(request.topic, request.queue_id) else {
        let min = queues.min_of_empty(request.topic);
        return Ok(GetResult::empty(GetStatus::NoMatchedLogicQueue, correct(0), min, 0));
    };
    let (min, max) = (queue.min_offset(), queue.max_offset());
    let offset = request.offset;
    let (status, next) = if max == 0 {
        (GetStatus::NoMessageInQueue, correct(0))
    } else if offset < min {
        (GetStatus::OffsetTooSmall, correct(min))
    } else if offset == max {
        (GetStatus::OffsetOverflowOne, offset)
    } else if offset > max {
        (GetStatus::OffsetOverflowBadly, correct(max))
    } else {
        return Gathering::new(log, limits, request, min, max).run(&queue, filter);
    };
    Ok(GetResult::empty(status, next, min, max))
}

impl GetResult {
    /// A result without messages.
    pub fn empty(status: GetStatus, next_offset: i64, min_offset: i64, max_offset: i64) -> Self {
        Self {
            status,
            runs: Vec::new(),
            count: 0,
            bytes: 0,
            next_offset,
            min_offset,
            max_offset,
            suggest_slave: false,
            filtered: 0,
        }
    }
}

/// A read that found its place in the queue.
struct Gathering<'a, S: ?Sized> {
    log: &'a S,
    limits: &'a ReadLimits,
    asked: Amount,
    first: i64,
    /// Where the log began and ended when the read began. Its first files may go meanwhile, which shows when they are read.
    log_min: i64,
    log_end: i64,
    runs: Runs<'a, S>,
    result: GetResult,
}

impl<'a, S: RecordSource + ?Sized> Gathering<'a, S> {
    fn new(log: &'a S, limits: &'a ReadLimits, request: &GetRequest<'_>, min: i64, max: i64) -> Self {
        let asked = Amount { count: request.max_count, bytes: request.max_bytes.clamp(LEAST_BYTES, MOST_BYTES) };
        Self {
            log,
            limits,
            asked,
            first: request.offset,
            log_min: log.min_offset(),
            log_end: log.max_offset(),
            runs: Runs::new(log, asked.count),
            result: GetResult::empty(GetStatus::NoMatchedMessage, request.offset, min, max),
        }
    }

    fn run(mut self, queue: &Queue, filter: Option<&dyn MessageFilter>) -> io::Result<GetResult> {
        let most_offsets = (self.limits.filter_bytes / queue.kind().unit_size()).max(self.asked.count) as i64;
        let mut last_physical = 0;
        for entry in queue.iter_as(self.first, self.log.may_wait()) {
            let entry = match entry {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if self.runs.amount().count == 0 {
                        self.result.status = GetStatus::OffsetFoundNull;
                        if self.limits.correct_next_offset {
                            self.result.next_offset = queue.next_file_start(self.result.next_offset);
                        }
                    }
                    break;
                }
                entry => entry?,
            };
            let Entry { offset, unit, count, .. } = entry;
            if offset >= self.result.max_offset || offset - self.first >= most_offsets {
                break;
            }
            let more =
                Amount { count: usize::try_from(count).unwrap_or(0), bytes: usize::try_from(unit.size).unwrap_or(0) };
            let is_there = self.has(unit);
            if is_there {
                let in_memory = self.log_end - unit.physical_offset <= self.limits.memory_distance;
                if self.limits.full(&self.asked, self.runs.amount(), more, in_memory) {
                    break;
                }
                last_physical = unit.physical_offset;
            }
            self.result.next_offset = entry.end();
            if let Some(filter) = filter
                && !queue_matches(queue, unit, filter, self.log.may_wait())?
            {
                self.nothing_yet(GetStatus::NoMatchedMessage);
                continue;
            }
            if !is_there {
                // Expired, a blank or damaged: it says nothing of its neighbours.
                self.nothing_yet(GetStatus::MessageWasRemoving);
                continue;
            }
            if let Some(filter) = filter
                && filter.needs_record()
                && !self.record_matches(unit, filter)?
            {
                self.nothing_yet(GetStatus::NoMatchedMessage);
                self.result.filtered += 1;
                continue;
            }
            self.runs.add(unit.physical_offset, more)?;
        }
        let has_any = self.runs.amount().count > 0;
        let sound = self.runs.finish()?;
        if has_any {
            self.result.status = if sound.amount.count > 0 { GetStatus::Found } else { GetStatus::MessageWasRemoving };
        }
        (self.result.runs, self.result.count, self.result.bytes) = (sound.runs, sound.amount.count, sound.amount.bytes);
        self.result.suggest_slave = self.log_end - last_physical > self.limits.memory_distance;
        Ok(self.result)
    }

    /// Whether the log has the unit's record, not known to be damaged.
    fn has(&self, unit: Unit) -> bool {
        unit.is_record()
            && unit.physical_offset >= self.log_min
            && unit.end() <= self.log_end
            && self.log.damaged_until(unit.physical_offset).is_none()
    }

    fn nothing_yet(&mut self, status: GetStatus) {
        if self.runs.amount().count == 0 {
            self.result.status = status;
        }
    }

    fn record_matches(&self, unit: Unit, filter: &dyn MessageFilter) -> io::Result<bool> {
        let Some(bytes) = self.log.slice(unit.physical_offset, unit.size as usize)? else {
            return Ok(false);
        };
        Ok(record::properties(&bytes).is_some_and(|properties| filter.matches_record(properties)))
    }
}

/// Whether a message may be wanted by what the queue knows of it. What cannot be found out lets it pass: the client
/// filters again.
fn queue_matches(queue: &Queue, unit: Unit, filter: &dyn MessageFilter, may_wait: bool) -> io::Result<bool> {
    if unit.extension_address().is_none() {
        return Ok(filter.matches_queue(unit.tags_code, None));
    }
    let extension = queue.extension_of(unit, may_wait)?;
    Ok(extension.is_none_or(|extension| filter.matches_queue(extension.tags_code, Some(&extension))))
}

/// A reader that asks for less gets this much.
const LEAST_BYTES: usize = 100;
/// A reader that asks for more gets this much.
const MOST_BYTES: usize = 128 * 1024 * 1024;

#[cfg(test)]
#[path = "get_tests.rs"]
mod tests;
