//! Walking the log and making queue units.

use std::io;
use std::sync::Arc;

use apogee_remoting::message::java_hash::tags_code;
use apogee_remoting::message::properties::{Properties, key};
use parking_lot::Mutex;
use thiserror::Error;
use tracing::{error, warn};

use super::delay::DelayLevels;
use super::progress::{Progress, Published};
use crate::queue::{Appended, QueueTable, Unit};
use crate::read::RecordSource;
use crate::read::record::{At, RecordFields};

/// Something else that is made from records: an index, filters. Called in log order, from the dispatcher's
/// thread, and after a restart again for records it may have seen.
pub trait RecordConsumer: Send {
    /// Takes a record.
    ///
    /// # Errors
    /// It could not be taken; the dispatcher logs it and goes on.
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()>;
}

/// A message that can be read now.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Topic of the queue.
    pub topic: &'a str,
    /// The queue.
    pub queue_id: i32,
    /// Its new maximum offset.
    pub max_offset: i64,
    /// As in the queue's unit.
    pub tags_code: i64,
    /// Store time of the message, ms.
    pub store_timestamp: i64,
    /// Its properties.
    pub properties: Properties<'a>,
}

/// Who waits for messages. Called from the dispatcher's thread for each message: it must not block.
pub trait ArrivalListener: Send + Sync {
    /// A message arrived.
    fn arrived(&self, arrival: &Arrival<'_>);
}

/// Why dispatching stopped.
#[derive(Debug, Error)]
pub enum DispatchError {
    /// The log cannot be read.
    #[error("cannot read the commit log at {position}")]
    Read {
        /// Physical offset.
        position: i64,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// What stands in the log is no record. Nothing behind it is dispatched.
    #[error("commit log is damaged at {position}: {reason}")]
    Damaged {
        /// Physical offset.
        position: i64,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The work of the dispatcher, on whichever thread.
pub struct Dispatch {
    log: Arc<dyn RecordSource>,
    queues: Arc<QueueTable>,
    delays: DelayLevels,
    /// Whether messages also go to the light queues their properties name (enableMultiDispatch).
    light_queues: bool,
    listener: Option<Arc<dyn ArrivalListener>>,
    published: Published,
    consumers: Mutex<Vec<Box<dyn RecordConsumer>>>,
}

impl Dispatch {
    /// Dispatches `log` into `queues`, from `position` on.
    pub fn new(log: Arc<dyn RecordSource>, queues: Arc<QueueTable>, position: i64) -> Self {
        Self {
            log,
            queues,
            delays: DelayLevels::default(),
            light_queues: false,
            listener: None,
            published: Published::new(position),
            consumers: Mutex::default(),
        }
    }

    /// With these delay levels.
    pub fn with_delays(mut self, delays: DelayLevels) -> Self {
        self.delays = delays;
        self
    }

    /// With light queues.
    pub fn with_light_queues(mut self, light_queues: bool) -> Self {
        self.light_queues = light_queues;
        self
    }

    /// Tells `listener` of every message.
    pub fn with_listener(mut self, listener: Arc<dyn ArrivalListener>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Gives `consumer` every record from the current position on.
    pub fn with_consumer(self, consumer: Box<dyn RecordConsumer>) -> Self {
        self.consumers.lock().push(consumer);
        self
    }

    /// Physical offset up to which records are dispatched.
    pub fn position(&self) -> i64 {
        self.published.position()
    }

    /// How far dispatching came, with the last record's time.
    pub fn progress(&self) -> Progress {
        self.published.get()
    }

    /// Bytes of the log that are not dispatched (dispatchBehindBytes).
    pub fn behind_bytes(&self) -> i64 {
        (self.log.max_offset() - self.position()).max(0)
    }

    /// Goes on from another place: a log that lost its end to a new master.
    pub fn reset(&self, position: i64) {
        let consumers = self.consumers.lock();
        self.published.set(Progress { position, ..self.published.get() });
        drop(consumers);
    }

    /// Dispatches everything that is in the log.
    ///
    /// # Errors
    /// The log cannot be read or is damaged; [`Dispatch::position`] stays at the place.
    pub fn catch_up(&self) -> Result<(), DispatchError> {
        while self.step()? {}
        Ok(())
    }

    /// End of the log as it is now.
    pub(super) fn log_end(&self) -> i64 {
        self.log.max_offset()
    }

    /// Dispatches one stretch of the log; says whether there was any.
    pub(super) fn step(&self) -> Result<bool, DispatchError> {
        // also keeps two callers from walking at the same time
        let mut consumers = self.consumers.lock();
        let mut progress = self.published.get();
        if progress.position < self.log.min_offset() {
            warn!(
                position = progress.position,
                min = self.log.min_offset(),
                "files of the commit log went before they were dispatched"
            );
            progress.position = self.log.min_offset();
        }
        let from = progress.position;
        let mut at_most = WINDOW;
        let stepped = loop {
            match self.window(progress.position, at_most)? {
                None => break Ok(()),
                Some(window) => match self.walk(&window, &mut progress, &mut consumers) {
                    // a record larger than the window
                    Ok(Some(needed)) if progress.position == from && needed > at_most => at_most = needed,
                    Ok(_) => break Ok(()),
                    Err(error) => break Err(error),
                },
            }
        };
        let moved = progress.position != from;
        if moved {
            self.published.set(progress);
        }
        stepped.map(|()| moved)
    }

    fn window(&self, position: i64, at_most: usize) -> Result<Option<bytes::Bytes>, DispatchError> {
        self.log.window(position, at_most).map_err(|source| DispatchError::Read { position, source })
    }

    /// Dispatches the records of a window. `Some`: the next record is not all in it and needs so many bytes.
    fn walk(
        &self,
        window: &[u8],
        progress: &mut Progress,
        consumers: &mut [Box<dyn RecordConsumer>],
    ) -> Result<Option<usize>, DispatchError> {
        let mut rest = window;
        let mut since_published = 0;
        while !rest.is_empty() {
            let position = progress.position;
            let record = match At::look(rest) {
                At::Record(record) => record,
                At::Blank => {
                    progress.position = self.log.next_file_start(position);
                    return Ok(None);
                }
                At::Incomplete(needed) => return Ok(Some(needed)),
                At::Damaged(reason) => return Err(DispatchError::Damaged { position, reason }),
            };
            if record.physical_offset != position {
                let reason = "the record there is of another place";
                return Err(DispatchError::Damaged { position, reason });
            }
            self.dispatch(&record, progress);
            for consumer in &mut *consumers {
                if let Err(error) = consumer.consume(&record) {
                    error!(position, %error, "record was not taken");
                }
            }
            progress.position += i64::from(record.size);
            rest = &rest[record.size as usize..];
            since_published += record.size;
            if since_published >= PUBLISH {
                since_published = 0;
                self.published.set(*progress);
            }
        }
        Ok(None)
    }

    fn dispatch(&self, record: &RecordFields<'_>, progress: &mut Progress) {
        // half messages of old versions and rollback marks are in no queue
        if matches!(record.sys_flag & TRANSACTION_BITS, TRANSACTION_PREPARED | TRANSACTION_ROLLBACK) {
            return;
        }
        if self.queues.is_of_deleted(record.topic, record.physical_offset) {
            return;
        }
        let unit =
            Unit { physical_offset: record.physical_offset, size: record.size, tags_code: self.tags_code(record) };
        self.put(record, record.topic, record.queue_id, record.queue_offset, unit);
        if self.light_queues {
            self.put_light_queues(record, unit);
        }
        progress.last_record = record.physical_offset;
        progress.store_timestamp = record.store_timestamp;
    }

    fn tags_code(&self, record: &RecordFields<'_>) -> i64 {
        if record.topic == SCHEDULE_TOPIC
            && let Some(level) = record.properties.get_number(key::DELAY)
            && level > 0
        {
            // a level without a delay waits a second, as in the reference
            return record.store_timestamp + self.delays.delay(level).unwrap_or(1000);
        }
        tags_code(record.properties.get(key::TAGS))
    }

    fn put(&self, record: &RecordFields<'_>, topic: &str, queue_id: i32, offset: i64, unit: Unit) {
        let appended = self
            .queues
            .get_or_create(topic, queue_id)
            .and_then(|queue| queue.append(offset, unit).map(|appended| (queue, appended)));
        match appended {
            Ok((queue, Appended::Added)) => {
                if let Some(listener) = &self.listener {
                    listener.arrived(&Arrival {
                        topic,
                        queue_id,
                        max_offset: queue.max_offset(),
                        tags_code: unit.tags_code,
                        store_timestamp: record.store_timestamp,
                        properties: record.properties,
                    });
                }
            }
            Ok(_) => {}
            Err(error) => {
                error!(topic, queue_id, offset, %error, "consume queue unit is not on disk");
            }
        }
    }

    /// Puts the unit into the light queues that the record names.
    fn put_light_queues(&self, record: &RecordFields<'_>, unit: Unit) {
        let (Some(names), Some(offsets)) = (
            record.properties.get_str(key::INNER_MULTI_DISPATCH),
            record.properties.get_str(key::INNER_MULTI_QUEUE_OFFSET),
        ) else {
            return;
        };
        for (name, offset) in names.split(',').zip(offsets.split(',')) {
            let queue_id = if name.starts_with(LIGHT_QUEUE) { 0 } else { record.queue_id };
            if let Ok(offset) = offset.parse() {
                self.put(record, name, queue_id, offset, unit);
            }
        }
    }
}

const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
const LIGHT_QUEUE: &str = "%LMQ%";
const TRANSACTION_BITS: i32 = 0xC;
const TRANSACTION_PREPARED: i32 = 0x4;
const TRANSACTION_ROLLBACK: i32 = 0xC;
/// Bytes of the log read at once where it is not mapped.
const WINDOW: usize = 1 << 20;
/// Bytes of the log after which the position is published.
const PUBLISH: i32 = 64 * 1024;

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
