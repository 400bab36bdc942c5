//! Queue offsets by store time.

use std::io;

use super::record;
use super::source::RecordSource;
use crate::queue::{Queue, QueueKind, Unit};

/// Which offset is meant when a time lies between messages, or when several have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// The first message stored at or after the time; the queue's maximum when there is none.
    #[default]
    Lower,
    /// The last message stored at or before the time; when all are later, the queue's minimum.
    Upper,
}

/// The queue offset for a time in ms, within the queue's minimum and maximum.
///
/// # Errors
/// A file of the queue or the log cannot be read.
pub fn offset_by_time<S: RecordSource + ?Sized>(
    log: &S,
    queue: &Queue,
    time: i64,
    boundary: Boundary,
) -> io::Result<i64> {
    if queue.kind() == QueueKind::Batch {
        return queue.offset_by_time(time, boundary);
    }
    let (min, max) = (queue.min_offset(), queue.max_offset());
    // behind the last record whose store time is before the time (lower) or not past it (upper)
    let behind = queue.behind_those(min, max, |unit| {
        Ok(match (store_time(log, unit)?, boundary) {
            // a record that is gone is older than all that are there
            (None, _) => true,
            (Some(stored), Boundary::Lower) => stored < time,
            (Some(stored), Boundary::Upper) => stored <= time,
        })
    })?;
    Ok(match boundary {
        Boundary::Lower => behind,
        Boundary::Upper => (behind - 1).max(min),
    })
}

/// The store time of the record a unit points at, in ms; `None` when the log does not have it.
///
/// # Errors
/// The log cannot be read.
pub fn store_time<S: RecordSource + ?Sized>(log: &S, unit: Unit) -> io::Result<Option<i64>> {
    if !unit.is_record() {
        return Ok(None);
    }
    store_time_at(log, unit.physical_offset)
}

/// The store time of the record at a physical offset, in ms.
///
/// # Errors
/// The log cannot be read.
pub fn store_time_at<S: RecordSource + ?Sized>(log: &S, physical_offset: i64) -> io::Result<Option<i64>> {
    let head = log.slice(physical_offset, record::HEAD_TO_STORE_TIME)?;
    Ok(head.and_then(|head| record::store_time(&head)))
}
