//! Delayed messages: a message with a delay level waits in the queue of its level until it is due, and is then
//! stored again where it was meant for.
//!
//! All levels are served by one task. Within a level messages are due in their order, so only the first one that
//! waits needs a time; the task sleeps until the earliest of these.

mod alarm;
mod deliver;
mod message;
mod offsets;
mod requests;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_store::Store;
use apogee_store::dispatch::DelayLevels;
use parking_lot::Mutex;

pub(crate) use alarm::Alarm;
pub(crate) use offsets::DelayOffsets;
pub(crate) use requests::get_offsets;
pub(crate) use task::{run, save};

use crate::names;
use deliver::Level;

/// The delay levels and how far each is delivered.
pub(crate) struct Schedule {
    levels: DelayLevels,
    pub(crate) offsets: DelayOffsets,
    alarm: Arc<Alarm>,
    /// Held by the one who delivers.
    delivering: Mutex<Vec<Level>>,
    stopped: AtomicBool,
}

impl Schedule {
    /// The schedule of a store. Levels that have messages but are no longer in the table are served, too.
    pub(crate) fn new(levels: DelayLevels, offsets: DelayOffsets, alarm: Arc<Alarm>, store: &Store) -> Self {
        let configured = levels.count() as i32;
        let removed =
            store.queue_ids(names::SCHEDULE_TOPIC).into_iter().map(level_of_queue).filter(|n| *n > configured);
        let delivering = (1..=configured).chain(removed).map(|number| Level::new(number, &levels)).collect();
        Self { levels, offsets, alarm, delivering: Mutex::new(delivering), stopped: AtomicBool::new(false) }
    }

    /// Lets a message wait: gives it the properties of a delayed one and answers the queue of [`names::SCHEDULE_TOPIC`]
    /// that it belongs in. `None` when the level asks for no delay. A level above the last one is the last one.
    pub(crate) fn delay(&self, properties: &mut PropertiesBuf, level: i32, topic: &str, queue_id: i32) -> Option<i32> {
        let level = level.min(self.levels.count() as i32);
        if level <= 0 {
            return None;
        }
        properties.retain(|name| !REPLACED.iter().any(|replaced| name == replaced.as_bytes()));
        properties
            .push(key::DELAY, itoa::Buffer::new().format(level))
            .push(key::REAL_TOPIC, topic)
            .push(key::REAL_QID, itoa::Buffer::new().format(queue_id));
        Some(queue_of_level(level))
    }

    /// Ends deliveries; when this returns, none is under way.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        drop(self.delivering.lock());
    }
}

/// Queue of [`names::SCHEDULE_TOPIC`] that holds a level.
pub(crate) fn queue_of_level(level: i32) -> i32 {
    level - 1
}

fn level_of_queue(queue_id: i32) -> i32 {
    queue_id + 1
}

/// What a delayed message has anew; a level overrides the arbitrary times of a timer.
const REPLACED: [&str; 6] =
    [key::DELAY, key::REAL_TOPIC, key::REAL_QID, key::TIMER_DELIVER_MS, key::TIMER_DELAY_SEC, key::TIMER_DELAY_MS];

#[cfg(test)]
mod tests;
