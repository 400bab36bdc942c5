//! Making queue units.

use std::io;
use std::sync::Arc;

use tracing::error;

use super::arrival::{Arrival, ArrivalListener};
use super::bit_map::BitMaps;
use super::delay::DelayLevels;
use super::feed::{Told, ToldUnit};
use super::walk::DispatchError;
use crate::queue::{Appended, Entry, Queue, QueueKind, QueueTable, Unit, is_queued};
use crate::read::record::RecordFields;

/// Puts units of records into queues.
pub(super) struct QueueBuilder {
    queues: Arc<QueueTable>,
    pub(super) delays: DelayLevels,
    /// Whether messages also go to the light queues their properties name (enableMultiDispatch).
    pub(super) light_queues: bool,
    pub(super) listener: Option<Arc<dyn ArrivalListener>>,
    pub(super) bit_maps: Option<Arc<dyn BitMaps>>,
    /// Where the walk began, while it still can begin earlier: a gap in a queue that ends before it, or is empty, is no gap
    /// of the log, but units that are missing.
    pub(super) began: Option<i64>,
    /// Physical offset before which a queue that is empty has no records.
    pub(super) whole_before: i64,
    /// Physical offset before which records are dispatched once more: those of topics that are not there any more make no
    /// queue.
    pub(super) known_before: i64,
}

impl QueueBuilder {
    pub(super) fn new(queues: Arc<QueueTable>) -> Self {
        Self {
            queues,
            delays: DelayLevels::default(),
            light_queues: false,
            listener: None,
            bit_maps: None,
            began: None,
            whole_before: 0,
            known_before: 0,
        }
    }

    /// Puts the unit of a record where it belongs.
    ///
    /// # Errors
    /// It is not there; what it needs may be put right, or looked for further back in the log.
    pub(super) fn put_record(&self, record: &RecordFields<'_>) -> Result<(), DispatchError> {
        if !is_queued(record.sys_flag) {
            return Ok(());
        }
        let tags_code = self.delays.tags_code(record);
        let unit = Unit { physical_offset: record.physical_offset, size: record.size, tags_code };
        self.put(record, record.topic, record.queue_id, record.queue_offset, unit)?;
        if self.light_queues {
            for (name, queue_id, offset) in record.light_queues() {
                self.put(record, name, queue_id, offset, unit)?;
            }
        }
        Ok(())
    }

    fn put(
        &self,
        record: &RecordFields<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        unit: Unit,
    ) -> Result<(), DispatchError> {
        let position = record.physical_offset;
        let is_gone =
            position < self.known_before && !self.queues.is_known(topic) && self.queues.get(topic, queue_id).is_none();
        if is_gone || self.queues.is_of_deleted(topic, position) {
            return Ok(());
        }
        let missing = |behind| Err(DispatchError::UnitsMissing { position, behind });
        let queue = match self.queues.get_or_create(topic, queue_id) {
            Ok(queue) if self.began.is_some_and(|began| began > self.whole_before) && queue.lacks_first(offset) => {
                return missing(self.whole_before);
            }
            queue => queue,
        };
        let appended =
            queue.and_then(|queue| self.append(record, &queue, offset, unit).map(|appended| (queue, appended)));
        match appended {
            Ok((queue, Appended::Added)) => self.arrived(record, &queue, unit.tags_code),
            Ok((queue, Appended::Held)) => {
                let behind = queue.max_physical_offset();
                if self.began.is_some_and(|began| behind < began) {
                    return missing(behind);
                }
            }
            Ok(_) => {}
            // what no queue can hold will not be held by one later
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                error!(topic, queue_id, offset, position, %error, "the record is in no queue");
            }
            Err(source) => return Err(DispatchError::Queue { position, source }),
        }
        Ok(())
    }

    /// Puts the unit of a record that the appender told of; `None` where the record has to be read for that.
    pub(super) fn put_told(&self, told: &Told, unit: &ToldUnit) -> Option<Added> {
        let ToldUnit { ref queue, queue_offset: offset, tags_code } = *unit;
        let unit = Unit { physical_offset: told.physical_offset, size: told.size, tags_code };
        match queue.append(Entry { offset, count: 1, unit, store_timestamp: told.store_timestamp }, &[]) {
            // asked for when the unit is there: who begins to wait then finds it
            Ok(Appended::Added) if self.listener.as_ref().is_some_and(|listener| listener.is_waited_for()) => {
                Some(Added::IsWaitedFor)
            }
            Ok(Appended::Added | Appended::Present) => Some(Added::Unnoticed),
            // what it means is for who has read the record
            Ok(Appended::Held | Appended::Doubtful | Appended::Deleted) | Err(_) => None,
        }
    }

    /// Tells of a message that can be read now.
    pub(super) fn arrived(&self, record: &RecordFields<'_>, queue: &Queue, tags_code: i64) {
        if let Some(listener) = &self.listener {
            listener.arrived(&Arrival {
                topic: queue.topic(),
                queue_id: queue.queue_id(),
                max_offset: queue.max_offset(),
                tags_code,
                store_timestamp: record.store_timestamp,
                properties: record.properties,
            });
        }
    }

    fn append(&self, record: &RecordFields<'_>, queue: &Queue, offset: i64, unit: Unit) -> io::Result<Appended> {
        let (offset, count) = match record.inner_batch().filter(|_| queue.kind() == QueueKind::Batch) {
            Some((base, count)) => (base, count),
            None => (offset, 1),
        };
        let bit_maps = self.bit_maps.as_ref().filter(|_| queue.takes_bit_maps());
        let bit_map = bit_maps.and_then(|bit_maps| bit_maps.bit_map(record)).unwrap_or_default();
        queue.append(Entry { offset, count, unit, store_timestamp: record.store_timestamp }, &bit_map)
    }
}

/// What became of a unit that was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// Nobody waits for it.
    Unnoticed,
    /// Somebody may wait for it.
    IsWaitedFor,
}
