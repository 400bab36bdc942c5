//! Telling records behind damage that belong to the log from those of a former end.
//!
//! The reference cuts a log without writing over what lies behind the cut, goes on there, and may end before it has
//! covered all of it. What is left are whole records in their place, older than those before them. So are records stored after
//! the clock was set back, though, and these count. The queue offsets of a former end were given again to the records
//! written over its beginning; those of the same log go on.

use std::collections::HashMap;
use std::io;

use super::scan::{Good, Scan};
use crate::queue::is_queued;

/// The records that a walk has passed.
#[derive(Debug)]
pub(super) struct Passed {
    /// Store time of the newest, ms.
    pub(super) newest: i64,
    /// Bad bytes with good records behind them: from, to.
    pub(super) damage: Vec<(i64, i64)>,
    /// Up to where they were looked at once more.
    at: i64,
    /// The last offset of each queue before that place.
    last: HashMap<QueueName, i64>,
}

/// Topic and number of a queue.
type QueueName = (String, i32);
/// A queue and an offset in it.
type InQueue = (QueueName, i64);

impl Passed {
    /// A walk that begins at a place, behind a record of that time (ms).
    pub(super) fn new(at: i64, newest: i64) -> Self {
        Self { newest, damage: Vec::new(), at, last: HashMap::new() }
    }
}

impl Scan<'_> {
    /// Whether the good record at a place, of that time, cannot follow on those passed before `end`: it is older, and its
    /// queue has gone past its offset.
    pub(super) fn is_former(&mut self, place: i64, time: i64, passed: &mut Passed, end: i64) -> io::Result<bool> {
        if time >= passed.newest {
            return Ok(false);
        }
        while passed.at < end {
            let damage = passed.damage.iter().find(|(from, _)| *from == passed.at);
            passed.at = match (damage, self.place_in_queue(passed.at)?) {
                (Some((_, to)), _) => *to,
                (_, Some(Good::Record { size, seen, .. })) => {
                    passed.last.extend(seen);
                    passed.at + size as i64
                }
                (_, Some(Good::Blank)) => self.next_start(passed.at),
                // it was good before
                (_, None) => end,
            };
        }
        let Some(Good::Record { seen: Some((queue, offset)), .. }) = self.place_in_queue(place)? else {
            return Ok(false);
        };
        Ok(passed.last.get(&queue).is_some_and(|last| offset <= *last))
    }

    /// A good entry, and of a record its queue and offset there.
    fn place_in_queue(&mut self, at: i64) -> io::Result<Option<Good<Option<InQueue>>>> {
        let entry = self.entry_with(at, |record| {
            let queue = || (record.topic.to_owned(), record.queue_id);
            is_queued(record.sys_flag).then(|| (queue(), record.queue_offset))
        })?;
        Ok(entry.ok())
    }
}
