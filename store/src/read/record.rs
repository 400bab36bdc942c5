//! The fields of a stored record that reading and dispatching look at (layout: constants.md, section 5).

use apogee_remoting::message::properties::Properties;

/// What stands at a place of the log.
#[derive(Debug)]
pub(crate) enum At<'a> {
    /// A record.
    Record(RecordFields<'a>),
    /// The rest of a file.
    Blank,
    /// A record whose bytes are not all there; so many are needed.
    Incomplete(usize),
    /// Something else.
    Damaged(&'static str),
}

/// Fields of a record; texts borrow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFields<'a> {
    /// Bytes of the record.
    pub size: i32,
    /// Queue of the topic.
    pub queue_id: i32,
    /// Offset in the queue.
    pub queue_offset: i64,
    /// Place in the log.
    pub physical_offset: i64,
    /// Bits: compression, transaction, host forms.
    pub sys_flag: i32,
    /// When it was stored, ms.
    pub store_timestamp: i64,
    /// Topic.
    pub topic: &'a str,
    /// Properties.
    pub properties: Properties<'a>,
}

impl<'a> At<'a> {
    /// Looks at the bytes from a place of the log on.
    pub(crate) fn look(bytes: &'a [u8]) -> Self {
        let mut fields = Cursor { bytes, at: 0 };
        let (Some(size), Some(magic)) = (fields.i32(), fields.i32()) else {
            return At::Incomplete(BLANK_SIZE);
        };
        let long_topic = match magic {
            MAGIC_V1 => false,
            MAGIC_V2 => true,
            MAGIC_BLANK if size >= BLANK_SIZE as i32 => return At::Blank,
            _ => return At::Damaged("no record starts here"),
        };
        let Some(record) = usize::try_from(size).ok().filter(|size| *size >= LEAST_SIZE) else {
            return At::Damaged("the size is too small");
        };
        match bytes.get(..record) {
            None => At::Incomplete(record),
            Some(record) => RecordFields::read(record, size, long_topic)
                .map_or(At::Damaged("a length leads out of the record"), At::Record),
        }
    }
}

impl<'a> RecordFields<'a> {
    /// The fields of a whole record; `None` for bytes that are none.
    pub fn of(record: &'a [u8]) -> Option<Self> {
        match At::look(record) {
            At::Record(fields) => Some(fields),
            _ => None,
        }
    }

    fn read(bytes: &'a [u8], size: i32, long_topic: bool) -> Option<Self> {
        let mut fields = Cursor { bytes, at: 12 };
        let queue_id = fields.i32()?;
        fields.skip(4)?;
        let queue_offset = fields.i64()?;
        let physical_offset = fields.i64()?;
        let sys_flag = fields.i32()?;
        fields.skip(8 + host_length(sys_flag, BORN_HOST_V6))?;
        let store_timestamp = fields.i64()?;
        fields.skip(host_length(sys_flag, STORE_HOST_V6) + 4 + 8)?;
        let body = fields.i32()?;
        fields.skip(usize::try_from(body).ok()?)?;
        let topic = if long_topic { usize::try_from(fields.i16()?).ok()? } else { usize::from(fields.take(1)?[0]) };
        let topic = std::str::from_utf8(fields.take(topic)?).ok()?;
        let properties = usize::try_from(fields.i16()?).ok()?;
        let properties = Properties::new(fields.take(properties)?);
        Some(Self { size, queue_id, queue_offset, physical_offset, sys_flag, store_timestamp, topic, properties })
    }
}

/// The store time in the first [`HEAD_TO_STORE_TIME`] bytes of a record, ms.
pub(crate) fn store_time(head: &[u8]) -> Option<i64> {
    let mut fields = Cursor { bytes: head, at: 4 };
    let magic = fields.i32()?;
    if magic != MAGIC_V1 && magic != MAGIC_V2 {
        return None;
    }
    fields.at = 36;
    let sys_flag = fields.i32()?;
    fields.skip(8 + host_length(sys_flag, BORN_HOST_V6))?;
    fields.i64()
}

/// The properties of a whole record.
pub(crate) fn properties(record: &[u8]) -> Option<Properties<'_>> {
    RecordFields::of(record).map(|fields| fields.properties)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }
}

fn host_length(sys_flag: i32, v6: i32) -> usize {
    if sys_flag & v6 == 0 { 8 } else { 20 }
}

/// Bytes up to and with the store time, whichever form the born host has.
pub(crate) const HEAD_TO_STORE_TIME: usize = 76;
const MAGIC_V1: i32 = 0xDAA3_20A7_u32 as i32;
const MAGIC_V2: i32 = 0xDAA3_20AB_u32 as i32;
const MAGIC_BLANK: i32 = 0xCBD4_3194_u32 as i32;
const BLANK_SIZE: usize = 8;
/// A record with IPv4 hosts, no body, no topic and no properties.
const LEAST_SIZE: usize = 91;
const BORN_HOST_V6: i32 = 0x10;
const STORE_HOST_V6: i32 = 0x20;
