//! Adding units: which offset to believe.
//!
//! Records are dispatched in the order of the log, from any place on and more than once, and their queue offsets may be
//! damaged: the checksum of a record covers its body only.

use std::io;
use std::sync::atomic::Ordering;

use apogee_remoting::message::record::LEAST_SIZE;
use tracing::error;

use super::{Queue, State};
use crate::queue::{Entry, QueueKind, Unit};

/// What became of a unit given to [`Queue::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is the queue's last one now.
    Added,
    /// The queue had a unit at this offset already.
    Present,
    /// It would leave a gap in the queue: held until the next unit confirms the gap.
    Held,
    /// The queue has passed its offset before this record: held until the next unit shows what that means.
    Doubtful,
    /// The queue was deleted.
    Deleted,
}

impl Queue {
    /// Adds the unit of a record. Whoever dispatches calls it, one at a time. `bit_map` goes to the extension, where there is one.
    ///
    /// A unit that is there already is left as it is. The first unit of a queue may have any offset. A later
    /// one that leaves a gap is held: when the next one lies behind it, it goes to its place, in a simple queue with
    /// blanks before it; when the next one follows on what was there before, the offset was a damaged number in one
    /// record. So is one held whose offset was passed before its record: when the next one follows on it, the topic was
    /// deleted and created anew, and the queue begins with it; otherwise its offset is a damaged number.
    ///
    /// # Errors
    /// The unit is not in the queue: a file could not be written or removed (try again), or the offset is none
    /// (`InvalidData`). Units that only wait to be written are no error; the flush tells.
    pub fn append(&self, entry: Entry, bit_map: &[u8]) -> io::Result<Appended> {
        let Entry { offset, unit, .. } = entry;
        if !(0..MAX_OFFSET).contains(&offset) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("queue offset {offset} is out of range")));
        }
        let mut state = self.state.lock();
        if state.deleted {
            return Ok(Appended::Deleted);
        }
        let max = self.max.load(Ordering::Relaxed);
        if offset < max {
            if unit.physical_offset < self.max_physical.load(Ordering::Relaxed) {
                return Ok(Appended::Present);
            }
            if state.is_unproven || self.max_physical.load(Ordering::Relaxed) < 0 {
                // In the second case its file is of units that did not come to disk, and these begin before it.
                self.reset(&mut state, "its units were of a former end of the log, or lost")?;
                self.skip_to(&mut state, entry)?;
            } else if !self.begins_anew(&mut state, entry, bit_map)? {
                return Ok(Appended::Doubtful);
            }
        } else if self.is_damaged_before(&mut state, offset, max) {
            self.skip_to(&mut state, entry)?;
        } else if offset > max {
            match state.ahead.take().map(|held| *held) {
                _ if self.is_empty() => self.skip_to(&mut state, entry)?,
                Some((held, its_bit_map))
                    if held.end() == offset
                        || held.end() < offset && self.has_room_for(held.offset - max, held.unit) =>
                {
                    if let Err(error) = self.skip_to(&mut state, held) {
                        state.ahead = Some(Box::new((held, its_bit_map)));
                        return Err(error);
                    }
                    self.push(&mut state, held, &its_bit_map);
                    if held.end() < offset {
                        state.ahead = Some(Box::new((entry, bit_map.to_vec())));
                        return Ok(Appended::Held);
                    }
                }
                _ => {
                    self.files.shared().set_holds();
                    state.ahead = Some(Box::new((entry, bit_map.to_vec())));
                    return Ok(Appended::Held);
                }
            }
        }
        self.push(&mut state, entry, bit_map);
        Ok(Appended::Added)
    }

    /// Whether a unit at an offset that the queue has passed follows on one that is held; the queue then begins with that
    /// one. Otherwise it is held itself. After an error it can be called again.
    fn begins_anew(&self, state: &mut State, entry: Entry, bit_map: &[u8]) -> io::Result<bool> {
        if let Some((held, its_bit_map)) =
            state.behind.as_deref().filter(|(held, _)| held.end() == entry.offset).cloned()
        {
            self.begin_with(state, held, &its_bit_map)?;
            return Ok(true);
        }
        self.files.shared().set_holds();
        match state.behind.replace(Box::new((entry, bit_map.to_vec()))) {
            Some(held) if held.0.unit != entry.unit => self.report_damaged(held.0),
            _ => {}
        }
        Ok(false)
    }

    /// Whether the one record that is missing before an offset is the one that is held: with another offset than it was
    /// given, for which there is a gap.
    fn is_damaged_before(&self, state: &mut State, offset: i64, max: i64) -> bool {
        let Some(held) = state.behind.take().map(|held| held.0) else { return false };
        self.report_damaged(held);
        offset == max + i64::from(held.count)
    }

    pub(super) fn report_damaged(&self, Entry { offset, unit, .. }: Entry) {
        error!(topic = %self.topic, queue_id = self.id, offset, physical = unit.physical_offset,
            "the queue offset in a record of the commit log is damaged: the record is not served by its queue");
    }

    /// Whether the log has room for so many messages between the queue's last one and that of a unit.
    pub(super) fn has_room_for(&self, missing: i64, unit: Unit) -> bool {
        let room = unit.physical_offset - self.max_physical.load(Ordering::Relaxed).max(0);
        let least = match self.kind {
            QueueKind::Simple => LEAST_SIZE,
            QueueKind::Batch => LEAST_MEMBER,
        };
        missing <= room / least as i64
    }
}

/// Queue offsets stay below this: far above any real one, and in bytes still a positive number.
const MAX_OFFSET: i64 = i64::MAX / 64;
/// Bytes of a message without body and properties in the record of a batch.
const LEAST_MEMBER: usize = 22;
