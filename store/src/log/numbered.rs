//! Appending a record whose last property is known only with its place: the first queue offset of a batch
//! (`INNER_BASE`, sysFlag 0xC0), or the offsets in the light queues that a message names (`INNER_MULTI_QUEUE_OFFSET`).

use std::sync::Arc;

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, PROPERTY_CRC_LENGTH, Placement};

use super::CommitLog;
use super::append::{Appended, Appender, ENCODED};
use super::error::AppendError;
use crate::queue::Queue;

impl CommitLog {
    /// Stores `count` messages as one record that takes as many queue offsets; the property `INNER_BASE` with the first
    /// of them is added.
    ///
    /// # Errors
    /// Nothing was stored.
    pub fn append_inner_batch(&self, draft: &Draft<'_>, count: i16, queue: &Queue) -> Result<Appended, AppendError> {
        let base = || queue.next_offset().to_string();
        self.append_numbered(draft, key::INNER_BASE, base, |appender| Self::place(appender, queue, i64::from(count), 0))
    }

    /// Stores a message that goes to light queues, too; the property `INNER_MULTI_QUEUE_OFFSET` with its offset in each is
    /// added. A queue that stands twice gives the same offset twice.
    ///
    /// # Errors
    /// Nothing was stored.
    pub fn append_to_light_queues(
        &self,
        draft: &Draft<'_>,
        queue: &Queue,
        light: &[Arc<Queue>],
    ) -> Result<Appended, AppendError> {
        let offsets = || {
            let offsets: Vec<_> = light.iter().map(|queue| queue.next_offset().to_string()).collect();
            offsets.join(",")
        };
        self.append_numbered(draft, key::INNER_MULTI_QUEUE_OFFSET, offsets, |appender| {
            let given: Vec<_> = light.iter().map(|queue| queue.next_offset()).collect();
            for (queue, offset) in light.iter().zip(given) {
                queue.set_next_offset(offset + 1);
            }
            Self::place(appender, queue, 1, 0)
        })
    }

    /// Appends with the property `name` as the last one. Its `value` is asked for under the append lock, and right after it
    /// the record is placed.
    fn append_numbered(
        &self,
        draft: &Draft<'_>,
        name: &str,
        value: impl Fn() -> String,
        place: impl FnOnce(&Appender) -> Placement,
    ) -> Result<Appended, AppendError> {
        self.gate.check()?;
        ENCODED.with_borrow_mut(|buffer| {
            loop {
                // The value is only known under the lock, its number of digits nearly always before.
                let expected = value();
                let mut properties = PropertiesBuf::from_text(draft.properties);
                properties.set(name, &expected);
                buffer.clear();
                self.encode(&Draft { properties: properties.as_bytes(), ..*draft }, buffer)?;
                let size = buffer.len();
                let mut appender = self.lock_for(size)?;
                let value = value();
                if value.len() != expected.len() {
                    continue;
                }
                let behind = 1 + if self.options.property_crc { PROPERTY_CRC_LENGTH } else { 0 };
                let at = size - behind - value.len();
                buffer[at..at + value.len()].copy_from_slice(value.as_bytes());
                let placement = place(&appender);
                placement.write(buffer, self.options.property_crc);
                self.copy(&mut appender, buffer);
                self.publish(appender, placement.store_timestamp)?;
                self.appended(buffer);
                return Ok(Appended::new(&placement, size));
            }
        })
    }
}
