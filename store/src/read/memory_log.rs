//! A log in memory, for tests of reading and dispatching.

use std::io;

use apogee_remoting::message::record::crc;
use bytes::{BufMut, Bytes};
use parking_lot::RwLock;

use super::RecordSource;

pub(crate) struct MemoryLog {
    file_size: usize,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    min: i64,
    end: i64,
    /// From here on it counts as written by this process.
    written_from: Option<i64>,
}

#[derive(Clone)]
pub(crate) struct TestRecord<'a> {
    pub(crate) topic: &'a str,
    pub(crate) queue_id: i32,
    pub(crate) queue_offset: i64,
    pub(crate) sys_flag: i32,
    pub(crate) store_timestamp: i64,
    pub(crate) body: &'a [u8],
    pub(crate) properties: &'a [u8],
}

impl Default for TestRecord<'_> {
    fn default() -> Self {
        Self {
            topic: "t",
            queue_id: 0,
            queue_offset: 0,
            sys_flag: 0,
            store_timestamp: 0,
            body: b"body",
            properties: b"",
        }
    }
}

impl MemoryLog {
    pub(crate) fn new(file_size: usize) -> Self {
        Self { file_size, state: RwLock::default() }
    }

    /// Appends a record, behind a blank where it does not fit its file; gives its place and size.
    pub(crate) fn append(&self, record: &TestRecord<'_>) -> (i64, i32) {
        let mut state = self.state.write();
        let hosts = 16 + 12 * (record.sys_flag >> 4 & 1) as usize + 12 * (record.sys_flag >> 5 & 1) as usize;
        let size = 75 + hosts + record.body.len() + record.topic.len() + record.properties.len();
        let left = self.file_size - state.bytes.len() % self.file_size;
        if left < size + 8 {
            state.bytes.put_i32(left as i32);
            state.bytes.put_u32(0xCBD4_3194);
            let end = state.bytes.len().next_multiple_of(self.file_size);
            state.bytes.resize(end, 0);
        }
        let bytes = &mut state.bytes;
        let place = bytes.len() as i64;
        bytes.put_i32(size as i32);
        bytes.put_u32(0xDAA3_20A7);
        bytes.put_u32(crc(record.body));
        bytes.put_i32(record.queue_id);
        bytes.put_i32(0);
        bytes.put_i64(record.queue_offset);
        bytes.put_i64(place);
        bytes.put_i32(record.sys_flag);
        bytes.put_i64(1);
        bytes.put_bytes(7, if record.sys_flag & 0x10 == 0 { 4 } else { 16 });
        bytes.put_i32(7);
        bytes.put_i64(record.store_timestamp);
        bytes.put_bytes(7, if record.sys_flag & 0x20 == 0 { 4 } else { 16 });
        bytes.put_i32(7);
        bytes.put_i32(0);
        bytes.put_i64(0);
        bytes.put_i32(record.body.len() as i32);
        bytes.put_slice(record.body);
        bytes.put_u8(record.topic.len() as u8);
        bytes.put_slice(record.topic.as_bytes());
        bytes.put_i16(record.properties.len() as i16);
        bytes.put_slice(record.properties);
        state.end = state.bytes.len() as i64;
        (place, size as i32)
    }

    pub(crate) fn set_min(&self, min: i64) {
        self.state.write().min = min;
    }

    /// Hides what is behind `end`.
    pub(crate) fn set_end(&self, end: i64) {
        self.state.write().end = end;
    }

    pub(crate) fn set_written_from(&self, from: i64) {
        self.state.write().written_from = Some(from);
    }

    pub(crate) fn damage(&self, at: i64) {
        self.state.write().bytes[at as usize..][..8].fill(0xEE);
    }
}

impl RecordSource for MemoryLog {
    fn min_offset(&self) -> i64 {
        self.state.read().min
    }

    fn max_offset(&self) -> i64 {
        self.state.read().end
    }

    fn slice(&self, offset: i64, length: usize) -> io::Result<Option<Bytes>> {
        let state = self.state.read();
        let end = offset.saturating_add(length as i64);
        let one_file = offset / self.file_size as i64 == (end - 1) / self.file_size as i64;
        if offset < state.min || end > state.end || !one_file {
            return Ok(None);
        }
        Ok(Some(Bytes::copy_from_slice(&state.bytes[offset as usize..][..length])))
    }

    fn window(&self, offset: i64, at_most: usize) -> io::Result<Option<Bytes>> {
        let at_most = if self.is_as_written(offset) { i64::MAX } else { at_most as i64 };
        let length = (self.next_file_start(offset).min(self.max_offset()) - offset).min(at_most);
        if length <= 0 {
            return Ok(None);
        }
        self.slice(offset, length as usize)
    }

    fn is_as_written(&self, offset: i64) -> bool {
        self.state.read().written_from.is_some_and(|from| offset >= from)
    }

    fn next_file_start(&self, offset: i64) -> i64 {
        (offset / self.file_size as i64 + 1) * self.file_size as i64
    }
}
