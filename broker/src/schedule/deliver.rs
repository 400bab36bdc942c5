//! Delivering what is due.

use std::io;
use std::sync::atomic::Ordering;

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_store::dispatch::DelayLevels;
use apogee_store::queue::Unit;
use apogee_store::{AppendError, Store};
use thiserror::Error;

use super::alarm::NEVER;
use super::{Schedule, queue_of_level};
use crate::names;
use crate::replication::NotTaken;

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

/// What deliveries need and who hears of them.
pub(super) struct Delivery<'a, F> {
    pub(super) store: &'a Store,
    /// New version of the offsets after so many changes.
    pub(super) version_step: u64,
    /// Told the topic and the bytes of each message delivered into this store.
    pub(super) delivered: F,
    /// Takes the messages of a broker whose store is not its own.
    pub(super) elsewhere: Option<&'a Elsewhere<'a>>,
}

/// Has another broker store a message.
pub(super) type Elsewhere<'a> = dyn Fn(&Draft<'_>) -> Result<(), NotTaken> + 'a;

/// A message that cannot be delivered now.
#[derive(Debug, Error)]
enum Refused {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
}

impl Schedule {
    /// Delivers of every level some of what is due at `now` (ms since the epoch), so that a level with much
    /// does not hold up the others. Answers when to go on: not later than `now` if there is more.
    pub(super) fn deliver<F: FnMut(&str, usize)>(&self, delivery: &mut Delivery<'_, F>, now: i64) -> i64 {
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

    fn deliver_level<F: FnMut(&str, usize)>(&self, level: &mut Level, delivery: &mut Delivery<'_, F>, now: i64) -> i64 {
        let (store, queue_id) = (delivery.store, queue_of_level(level.number));
        let (min, max) =
            (store.min_offset(names::SCHEDULE_TOPIC, queue_id), store.max_offset(names::SCHEDULE_TOPIC, queue_id));
        let noted = self.offsets.get(level.number);
        // Messages that expired, or that a recovery could not save.
        let mut offset = noted.min(max).max(min);
        if offset != noted {
            tracing::warn!(level = level.number, noted, min, max, "the offset of a delay level is corrected");
            self.offsets.set(level.number, offset, delivery.version_step);
        }
        if offset == max {
            return NEVER;
        }
        let units = match store.units(names::SCHEDULE_TOPIC, queue_id, offset, AT_ONCE) {
            Ok(units) => units,
            Err(error) => return level.stuck(offset, now, &error.into()),
        };
        for (at, unit) in units {
            let due = level.due(unit, now);
            if due > now {
                // A level whose messages only wait is shown, too.
                self.offsets.begin(level.number, offset);
                return due;
            }
            if self.stopped.load(Ordering::Acquire) {
                return NEVER;
            }
            match deliver_message(store, unit, delivery.elsewhere) {
                Ok(Some(delivered)) => (delivery.delivered)(&delivered.topic, delivered.size),
                Ok(None) => {}
                Err(refused) => return level.stuck(at, now, &refused),
            }
            level.stuck_at = None;
            offset = at + 1;
            self.offsets.set(level.number, offset, delivery.version_step);
        }
        now
    }
}

struct Delivered {
    topic: String,
    size: usize,
}

/// Stores a message where it was meant for. `None` for one that nobody can deliver.
fn deliver_message(store: &Store, unit: Unit, elsewhere: Option<&Elsewhere<'_>>) -> Result<Option<Delivered>, Refused> {
    let Some(bytes) = store.record_of(unit)? else {
        tracing::warn!(offset = unit.physical_offset, "a delayed message is no longer in the log");
        return Ok(None);
    };
    let lost = |why: &str| {
        tracing::error!(offset = unit.physical_offset, why, "a delayed message cannot be delivered and is passed over");
        Ok(None)
    };
    let record = match Record::parse(&bytes) {
        Ok(record) => record,
        Err(error) => return lost(&error.to_string()),
    };
    let target = (record.properties.get_str(key::REAL_TOPIC), record.properties.get_number(key::REAL_QID));
    let (Some(topic), Some(queue_id)) = target else {
        return lost("it does not say what queue it is for");
    };
    if topic == names::HALF_TOPIC || topic == names::SCHEDULE_TOPIC {
        return lost("no message is delayed for this topic");
    }
    // Its properties stay as they were sent, the delay included.
    let draft = Draft { topic, queue_id, ..record.draft() };
    if let Some(elsewhere) = elsewhere {
        let mut properties = PropertiesBuf::from_text(draft.properties);
        // There it would wait again.
        properties.retain(|name| !AGAIN.iter().any(|again| name == again.as_bytes()));
        elsewhere(&Draft { properties: properties.as_bytes(), ..draft })?;
        return Ok(None);
    }
    match store.append(&draft) {
        Ok(appended) => Ok(Some(Delivered { topic: topic.to_owned(), size: appended.size })),
        // They do not change with time.
        Err(error @ (AppendError::Draft(_) | AppendError::Properties | AppendError::Queue { .. })) => {
            lost(&error.to_string())
        }
        Err(error) => Err(error.into()),
    }
}

/// What makes a message wait.
const AGAIN: [&str; 3] = [key::DELAY, key::TIMER_DELIVER_MS, key::TIMER_DELAY_SEC];
/// Messages of a level that are delivered before it is the next one's turn.
const AT_ONCE: usize = 64;
/// A message that was refused is tried again after so many ms.
const RETRY: i64 = 100;
