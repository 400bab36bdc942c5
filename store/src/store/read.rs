//! Reading from the store.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::Store;
use crate::log::Reader;
use crate::queue::{ExtensionUnit, Queue, Unit};
use crate::read::record::{HEAD, size_at};
use crate::read::{
    Boundary, GetRequest, GetResult, MessageFilter, RecordSource, get, offset_by_time, record_at, store_time,
    store_time_at,
};

impl Store {
    /// Reads messages by queue offset. It may wait for the disk.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn get(&self, request: &GetRequest<'_>, filter: Option<&dyn MessageFilter>) -> io::Result<GetResult> {
        get(&self.reader(), &self.queues, &self.limits.load(), request, filter)
    }

    /// The same from memory; `None` when that would take a wait for the disk.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn get_at_once(
        &self,
        request: &GetRequest<'_>,
        filter: Option<&dyn MessageFilter>,
    ) -> io::Result<Option<GetResult>> {
        let limits = self.limits.load();
        let log = self.log.reader(limits.memory_distance, false);
        at_once(get(&log, &self.queues, &limits, request, filter))
    }

    /// Has the record read that is at a physical offset, from memory; the outer `None` when that would take a wait for the
    /// disk. What this process wrote lately is not verified: it did not go through a disk.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_record_at_once<T>(&self, offset: i64, read: impl FnOnce(Option<&[u8]>) -> T) -> io::Result<Option<T>> {
        let log = self.log.reader(self.limits.load().memory_distance, false);
        let mut read = Some(read);
        let mut give = |record: Option<&[u8]>| read.take().map(|read| read(record));
        if let Some(given) = log.read_recent(offset, |stretch| give(first_record(stretch, offset))) {
            return Ok(given);
        }
        Ok(at_once(record_at(&log, offset))?.and_then(|record| give(record.as_deref())))
    }

    /// The log for a thread that may wait.
    pub(super) fn reader(&self) -> Reader<'_> {
        self.log.reader(self.limits.load().memory_distance, true)
    }

    /// Whether a queue's record at this offset is as near to the end of the log as memory likely reaches back. An offset
    /// without a record counts as near.
    pub fn is_in_memory(&self, topic: &str, queue_id: i32, offset: i64) -> bool {
        let Some(queue) = self.queues.get(topic, queue_id) else { return true };
        match queue.unit(offset) {
            Ok(Some(unit)) => self.log.max_offset() - unit.physical_offset <= self.limits.load().memory_distance,
            _ => true,
        }
    }

    /// The offset of a queue's oldest message; without the queue 0, or -1 for a topic with batch queues.
    pub fn min_offset(&self, topic: &str, queue_id: i32) -> i64 {
        self.queues.get(topic, queue_id).map_or_else(|| self.queues.min_of_empty(topic), |queue| queue.min_offset())
    }

    /// The offset behind a queue's newest message; 0 without the queue.
    pub fn max_offset(&self, topic: &str, queue_id: i32) -> i64 {
        self.queues.get(topic, queue_id).map_or(0, |queue| queue.max_offset())
    }

    /// The offset of the message stored at a time (ms); the minimum without the queue.
    pub fn offset_by_time(&self, topic: &str, queue_id: i32, time: i64, boundary: Boundary) -> io::Result<i64> {
        match self.queues.get(topic, queue_id) {
            Some(queue) => offset_by_time(&self.reader(), &queue, time, boundary),
            None => Ok(self.queues.min_of_empty(topic)),
        }
    }

    /// When the message at a queue offset was stored, ms; -1 when it is not there.
    pub fn store_time(&self, topic: &str, queue_id: i32, offset: i64) -> io::Result<i64> {
        let Some(queue) = self.queues.get(topic, queue_id) else { return Ok(-1) };
        match queue.unit(offset)? {
            Some(unit) => Ok(store_time(&self.reader(), unit)?.unwrap_or(-1)),
            None => Ok(-1),
        }
    }

    /// When a queue's oldest message was stored, ms; -1 when it has none.
    pub fn earliest_time(&self, topic: &str, queue_id: i32) -> io::Result<i64> {
        self.store_time(topic, queue_id, self.min_offset(topic, queue_id))
    }

    /// When the oldest message of the log was stored, ms; -1 when there is none.
    pub fn earliest_time_of_log(&self) -> i64 {
        store_time_at(&self.reader(), self.log.min_offset()).ok().flatten().unwrap_or(-1)
    }

    /// The record at a physical offset; `None` when there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn record_at(&self, offset: i64) -> io::Result<Option<Bytes>> {
        record_at(&self.reader(), offset)
    }

    /// Topics that have queues, in no order.
    pub fn topics(&self) -> Vec<Arc<str>> {
        self.queues.topics()
    }

    /// Numbers of a topic's queues, in no order.
    pub fn queue_ids(&self, topic: &str) -> Vec<i32> {
        self.queues.queues(topic).iter().map(|queue| queue.queue_id()).collect()
    }

    /// At most `count` units of a queue from an offset on, with their first offsets; none without the queue, before its
    /// first message or behind its last.
    ///
    /// # Errors
    /// The queue's file cannot be read.
    pub fn units(&self, topic: &str, queue_id: i32, offset: i64, count: usize) -> io::Result<Vec<(i64, Unit)>> {
        let units = self.extended_units(topic, queue_id, offset, count)?.into_iter();
        Ok(units.map(|(offset, unit, _)| (offset, unit)).collect())
    }

    /// The same with what the queue's extension holds for each. A unit whose entry there is lost keeps its address
    /// ([`Unit::extension_address`]).
    ///
    /// # Errors
    /// The queue's file or its extension's cannot be read.
    pub fn extended_units(
        &self,
        topic: &str,
        queue_id: i32,
        offset: i64,
        count: usize,
    ) -> io::Result<Vec<(i64, Unit, Option<ExtensionUnit>)>> {
        let Some(queue) = self.queues.get(topic, queue_id) else { return Ok(Vec::new()) };
        if offset < queue.min_offset() {
            return Ok(Vec::new());
        }
        let end = queue.max_offset();
        let mut units = Vec::with_capacity(count.min(FEW));
        for entry in queue.iter_from(offset).take(count) {
            let entry = entry?;
            if entry.offset >= end {
                break;
            }
            units.push(extended(&queue, entry.offset, entry.unit)?);
        }
        Ok(units)
    }

    /// The record that a unit points at; `None` when it is no longer in the log.
    ///
    /// # Errors
    /// The log's file cannot be read.
    pub fn record_of(&self, unit: Unit) -> io::Result<Option<Bytes>> {
        self.records().record_of(unit)
    }

    /// Reads many records, one after the other.
    pub fn records(&self) -> Records<'_> {
        Records { log: self.reader(), stretch: Bytes::new(), start: 0 }
    }
}

/// Reads records that mostly lie near one another.
pub struct Records<'a> {
    log: Reader<'a>,
    /// The log in memory, from a physical offset on.
    stretch: Bytes,
    start: i64,
}

impl Records<'_> {
    /// As [`Store::record_of`].
    ///
    /// # Errors
    /// The log's file cannot be read.
    pub fn record_of(&mut self, unit: Unit) -> io::Result<Option<Bytes>> {
        let Some(size) = usize::try_from(unit.size).ok().filter(|_| unit.is_record()) else { return Ok(None) };
        let offset = unit.physical_offset;
        if let Some(bytes) = self.in_stretch(offset, size) {
            return Ok(Some(bytes));
        }
        if let Some(stretch) = self.log.recent_from(offset)? {
            (self.stretch, self.start) = (stretch, offset);
            if let Some(bytes) = self.in_stretch(offset, size) {
                return Ok(Some(bytes));
            }
        }
        self.log.slice(offset, size)
    }

    fn in_stretch(&self, offset: i64, size: usize) -> Option<Bytes> {
        let from = usize::try_from(offset - self.start).ok()?;
        let to = from.checked_add(size).filter(|to| *to <= self.stretch.len())?;
        Some(self.stretch.slice(from..to))
    }
}

/// The record that a stretch of the log begins with, at a physical offset.
fn first_record(stretch: &[u8], offset: i64) -> Option<&[u8]> {
    stretch.get(..size_at(stretch.get(..HEAD)?, offset)?)
}

/// Tells a read that would wait from one that fails.
fn at_once<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        read => read.map(Some),
    }
}

/// The unit with its own tags code, where that stands in the queue's extension.
fn extended(queue: &Queue, offset: i64, mut unit: Unit) -> io::Result<(i64, Unit, Option<ExtensionUnit>)> {
    let extension = queue.extension_of(unit, true)?;
    if let Some(extension) = &extension {
        unit.tags_code = extension.tags_code;
    }
    Ok((offset, unit, extension))
}

/// As many units as are mostly asked for.
const FEW: usize = 64;
