//! Changing an encoded record in place: what is known only when it gets its place in the log.

use super::{BORN_HOST_AT, PHYSICAL_OFFSET_AT, QUEUE_OFFSET_AT, SYS_FLAG_AT, host_length, property_crc};
use crate::message::sys_flag::BORN_HOST_V6;

/// Where and when a record is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Offset in the queue.
    pub queue_offset: i64,
    /// Place in the log.
    pub physical_offset: i64,
    /// When, ms.
    pub store_timestamp: i64,
}

impl Placement {
    /// Writes the placement into one whole encoded record. `property_crc`: the record was encoded with room for the
    /// checksum over all of it, which is filled in.
    ///
    /// # Panics
    /// `record` is none that `Draft::encode` wrote.
    pub fn write(self, record: &mut [u8], property_crc: bool) {
        let born_host = host_length(sys_flag(record), BORN_HOST_V6);
        put(record, QUEUE_OFFSET_AT, self.queue_offset);
        put(record, PHYSICAL_OFFSET_AT, self.physical_offset);
        put(record, BORN_HOST_AT + born_host, self.store_timestamp);
        if property_crc {
            property_crc::fill(record);
        }
    }
}

fn sys_flag(record: &[u8]) -> i32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&record[SYS_FLAG_AT..SYS_FLAG_AT + 4]);
    i32::from_be_bytes(bytes)
}

fn put(record: &mut [u8], at: usize, value: i64) {
    record[at..at + 8].copy_from_slice(&value.to_be_bytes());
}
