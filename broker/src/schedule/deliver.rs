//! Delivering what is due.

use std::sync::atomic::Ordering;

use apogee_store::dispatch::DelayLevels;
use apogee_store::queue::Unit;

use super::alarm::NEVER;
use super::message::{Delivery, Refused};
use super::{Schedule, queue_of_level};
use crate::names;

/// What the one who delivers keeps of a level.
pub(super) struct Level {
    number: i32,
    /// Longest time that a message of it waits, ms.
    delay: i64,
    /// Nothing of it is to be done before, ms since the epoch; of a level without messages, always in the past.
    until: i64,
    /// Queue offset of a message that could not be delivered yet.
    stuck_at: Option<i64>,
}

impl Level {
    pub(super) fn new(number: i32, levels: &DelayLevels) -> Self {
        let is_configured = number <= levels.count() as i32;
        let delay = if is_configured { levels.delay(number).unwrap_or(0) } else { i64::MAX };
        Self { number, delay, until: 0, stuck_at: None }
    }

    /// Whether there is nothing to do yet. A clock that was set back must not make messages wait longer than they asked for.
    fn sleeps(&self, now: i64) -> bool {
        now < self.until && self.until - now <= self.delay.max(RETRY)
    }

    /// When a message is due; one that is due later than its level allows is due now: the level's delay became shorter, or
    /// the clock was set back.
    fn due(&self, unit: Unit, now: i64) -> i64 {
        if unit.tags_code > now.saturating_add(self.delay) { now } else { unit.tags_code }
    }

    /// How many of these, from the first one on, are delivered now.
    fn count_due(&self, units: &[(i64, Unit)], now: i64) -> usize {
        let mut bytes = 0;
        let is_due = |(_, unit): &&(i64, Unit)| {
            let has_room = bytes < BYTES_AT_ONCE;
            bytes += i64::from(unit.size);
            has_room && self.due(*unit, now) <= now
        };
        units.iter().take_while(is_due).count()
    }

    /// Leaves a message for a later try; tells of it once.
    fn stuck(&mut self, offset: i64, now: i64, refused: &Refused) -> i64 {
        if self.stuck_at != Some(offset) {
            let level = self.number;
            tracing::error!(level, offset, error = %refused, "a delayed message is not delivered yet, it is tried again");
            self.stuck_at = Some(offset);
        }
        now + RETRY
    }
}

impl Schedule {
    /// Delivers of every level some of what is due at `now` (ms since the epoch), so that a level with much
    /// does not hold up the others. Answers when to go on: not later than `now` if there is more.
    pub(super) fn deliver<F: FnMut(&str, usize, usize)>(&self, delivery: &mut Delivery<'_, F>, now: i64) -> i64 {
        let mut next = NEVER;
        for level in &mut *self.delivering.lock() {
            if !level.sleeps(now) {
                level.until = self.deliver_level(level, delivery, now);
            }
            next = next.min(level.until);
            if level.until == NEVER {
                level.until = 0;
            }
        }
        next
    }

    fn deliver_level<F: FnMut(&str, usize, usize)>(
        &self,
        level: &mut Level,
        delivery: &mut Delivery<'_, F>,
        now: i64,
    ) -> i64 {
        let (store, queue_id) = (delivery.store, queue_of_level(level.number));
        let (min, max) =
            (store.min_offset(names::SCHEDULE_TOPIC, queue_id), store.max_offset(names::SCHEDULE_TOPIC, queue_id));
        let noted = self.offsets.get(level.number);
        // Messages that expired, or that a recovery could not save.
        let offset = noted.min(max).max(min);
        if offset != noted {
            tracing::warn!(level = level.number, noted, min, max, "the offset of a delay level is corrected");
            self.offsets.set(level.number, offset, 1, delivery.version_step);
        }
        if offset == max {
            return NEVER;
        }
        // Of those behind one that is refused nothing is to be said each time.
        let at_once = if level.stuck_at.is_some() { 1 } else { AT_ONCE };
        let units = match store.units(names::SCHEDULE_TOPIC, queue_id, offset, at_once) {
            Ok(units) => units,
            Err(error) => return level.stuck(offset, now, &error.into()),
        };
        let (due, later) = units.split_at(level.count_due(&units, now));
        if due.is_empty() {
            // A level whose messages only wait is shown, too.
            self.offsets.begin(level.number, offset);
        }
        let (done, refused) = delivery.deliver(due, || self.stopped.load(Ordering::Acquire));
        if let Some((last, _)) = due[..done].last() {
            level.stuck_at = None;
            self.offsets.set(level.number, last + 1, done as u64, delivery.version_step);
        }
        match (refused, due.get(done), later.first()) {
            (Some(refused), Some((at, _)), _) => level.stuck(*at, now, &refused),
            // It was stopped.
            (_, Some(_), _) => NEVER,
            (_, None, Some((_, unit))) => level.due(*unit, now),
            (_, None, None) => now,
        }
    }
}

/// Messages of a level that are delivered before it is the next one's turn, and their bytes.
const AT_ONCE: usize = 64;
const BYTES_AT_ONCE: i64 = 256 << 10;
/// A message that was refused is tried again after so many ms.
const RETRY: i64 = 100;
