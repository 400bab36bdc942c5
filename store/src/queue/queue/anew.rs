//! Deciding about units that are held: what came after them does not show what they mean.

use std::io;
use std::sync::atomic::Ordering;

use tracing::warn;

use super::{Queue, State};
use crate::queue::Entry;

/// How far a queue is, that may be one of a topic's former life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Queue offset behind the last unit.
    pub max: i64,
    /// Physical offset behind the record of that unit.
    pub max_physical: i64,
    /// The physical offset of a record behind it whose queue offset the queue has passed, and the queue offset behind it: it
    /// is held.
    pub held: Option<(i64, i64)>,
}

impl Queue {
    /// How far it is; `None` when no record was ever put into it.
    pub fn life(&self) -> Option<Life> {
        self.life_of(&self.state.lock())
    }

    fn life_of(&self, state: &State) -> Option<Life> {
        let max_physical = self.max_physical.load(Ordering::Relaxed);
        let held = state.behind.as_deref().map(|(held, _)| (held.unit.physical_offset, held.end()));
        (max_physical >= 0).then(|| Life { max: self.max.load(Ordering::Relaxed), max_physical, held })
    }

    /// Whether it holds a unit, which it would not have after a restart.
    pub(in crate::queue) fn holds(&self) -> bool {
        let state = self.state.lock();
        state.behind.is_some() || state.ahead.is_some()
    }

    /// Begins at 0 again, with the unit that is held if there is one, unless it is no longer as it was. Says whether it did.
    ///
    /// # Errors
    /// Files cannot be written or removed.
    pub(crate) fn begin_anew(&self, as_it_was: Life) -> io::Result<bool> {
        let mut state = self.state.lock();
        if state.deleted || self.life_of(&state) != Some(as_it_was) {
            return Ok(false);
        }
        match state.behind.as_deref().cloned() {
            Some((held, bit_map)) => self.begin_with(&mut state, held, &bit_map)?,
            None => self.end_life(&mut state)?,
        }
        Ok(true)
    }

    /// Begins at 0 again, and with this unit.
    pub(super) fn begin_with(&self, state: &mut State, first: Entry, bit_map: &[u8]) -> io::Result<()> {
        self.end_life(state)?;
        self.skip_to(state, first)?;
        self.push(state, first, bit_map);
        self.files.shared().note_remade(&self.topic, first.unit.physical_offset);
        Ok(())
    }

    /// Empties it: what it had is of the topic's former life.
    fn end_life(&self, state: &mut State) -> io::Result<()> {
        let end = self.max_physical.load(Ordering::Relaxed);
        self.reset(state, "its topic was created anew")?;
        self.files.shared().begins_anew(&self.topic, end);
        Ok(())
    }

    /// Takes the number in the record of the unit that is held for a damaged one, unless it is no longer as it was.
    pub fn give_up_held(&self, as_it_was: Life) {
        let mut state = self.state.lock();
        if self.life_of(&state) == Some(as_it_was)
            && let Some(held) = state.behind.take()
        {
            self.report_damaged(held.0);
        }
    }

    /// Whether the last unit given shows that the queue may begin anew, if another queue of its topic does.
    pub(in crate::queue) fn may_begin_anew(&self) -> bool {
        self.state.lock().behind.is_some()
    }

    /// Decides about units that are held: the log ends, so no other will show what they mean. A gap is real when so many
    /// messages have room in the log between the queue's last one and this one. `begins_anew`: the topic was created anew;
    /// `None` where somebody else will tell.
    ///
    /// # Errors
    /// Files cannot be written or removed.
    pub(in crate::queue) fn settle(&self, begins_anew: Option<bool>) -> io::Result<()> {
        let mut state = self.state.lock();
        match (state.behind.as_deref().cloned(), begins_anew) {
            (Some((held, bit_map)), Some(true)) => self.begin_with(&mut state, held, &bit_map)?,
            (Some((held, _)), Some(false)) => {
                self.report_damaged(held);
                state.behind = None;
            }
            _ => {}
        }
        let Some((held, bit_map)) = state.ahead.as_deref().cloned() else { return Ok(()) };
        if self.has_room_for(held.offset - self.max_offset(), held.unit) {
            self.skip_to(&mut state, held)?;
            self.push(&mut state, held, &bit_map);
        } else {
            warn!(topic = %self.topic, queue_id = self.id, held.offset, physical = held.unit.physical_offset,
                "the last record of a consume queue has an impossible offset and is not served");
            state.ahead = None;
        }
        Ok(())
    }
}
