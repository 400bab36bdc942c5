//! Appending many messages as one record (sysFlag 0xC0, for batch consume queues).

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, PROPERTY_CRC_LENGTH};

use super::CommitLog;
use super::append::{Appended, ENCODED};
use super::error::AppendError;
use crate::queue::Queue;

impl CommitLog {
    /// Stores `count` messages as one record that takes as many queue offsets; the property `INNER_BASE` with the first
    /// of them is added.
    ///
    /// # Errors
    /// Nothing was stored.
    pub fn append_inner_batch(&self, draft: &Draft<'_>, count: i16, queue: &Queue) -> Result<Appended, AppendError> {
        self.gate.check()?;
        ENCODED.with_borrow_mut(|buffer| {
            loop {
                // The offset is only known under the lock, its number of digits nearly always before.
                let expected = queue.next_offset().to_string();
                buffer.clear();
                self.encode(&Draft { properties: with_base(draft, &expected).as_bytes(), ..*draft }, buffer)?;
                let size = buffer.len();
                let mut appender = self.lock_for(size)?;
                let base = queue.next_offset().to_string();
                if base.len() != expected.len() {
                    continue;
                }
                let behind = 1 + if self.options.property_crc { PROPERTY_CRC_LENGTH } else { 0 };
                let at = size - behind - base.len();
                buffer[at..at + base.len()].copy_from_slice(base.as_bytes());
                let placement = self.place(&mut appender, queue, i64::from(count), 0);
                placement.write(buffer, self.options.property_crc);
                appender.copy(buffer);
                self.publish(&mut appender, placement.store_timestamp);
                drop(appender);
                self.appended(buffer);
                return Ok(Appended::new(&placement, size));
            }
        })
    }
}

/// The properties of a draft with `INNER_BASE` as the last one.
fn with_base(draft: &Draft<'_>, base: &str) -> PropertiesBuf {
    let mut properties = PropertiesBuf::from_text(draft.properties);
    properties.set(key::INNER_BASE, base);
    properties
}
