//! The fields of a stored record that reading and dispatching look at (layout: constants.md, section 5).

use apogee_remoting::message::properties::{Properties, key};

use crate::light;

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

    /// Whether a unit at this offset of this queue may point at the record: it is the record's own queue, or one of the
    /// light queues it was also put into.
    pub fn is_of(&self, topic: &str, queue_id: i32, queue_offset: i64) -> bool {
        if self.topic == topic {
            return self.queue_id == queue_id && self.queue_offset == queue_offset;
        }
        self.light_queues().any(|queue| queue == (topic, queue_id, queue_offset))
    }

    /// The light queues that the record was also put into, each with its number and the offset there. As in the reference, a
    /// batch is in its own queue alone.
    pub fn light_queues(&self) -> impl Iterator<Item = (&'a str, i32, i64)> + use<'a> {
        let is_single = self.inner_batch().is_none();
        is_single.then(|| light::queues_of(self.topic, self.queue_id, self.properties)).into_iter().flatten()
    }

    /// First queue offset and number of the messages in the record of a batch; `None` for a record that is one message.
    pub fn inner_batch(&self) -> Option<(i64, i16)> {
        if self.sys_flag & INNER_BATCH == 0 {
            return None;
        }
        let base = self.properties.get_str(key::INNER_BASE)?.parse().ok()?;
        Some((base, self.properties.get_str(key::INNER_NUM)?.parse().ok().filter(|count| *count > 0)?))
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

/// Bytes of the record at an offset, by its first [`HEAD`] bytes; `None` for what is none, or one of another place.
pub(crate) fn size_at(head: &[u8], offset: i64) -> Option<usize> {
    let head = head.first_chunk::<HEAD>()?;
    let (size, behind) = head.split_first_chunk()?;
    let (magic, place) = (behind.first_chunk()?, head.last_chunk()?);
    let is_record = matches!(i32::from_be_bytes(*magic), MAGIC_V1 | MAGIC_V2) && i64::from_be_bytes(*place) == offset;
    usize::try_from(i32::from_be_bytes(*size)).ok().filter(|_| is_record)
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

/// Bytes up to and with the physical offset.
pub(crate) const HEAD: usize = 36;
/// Bytes up to and with the store time, whichever form the born host has.
pub(crate) const HEAD_TO_STORE_TIME: usize = 76;
const MAGIC_V1: i32 = 0xDAA3_20A7_u32 as i32;
const MAGIC_V2: i32 = 0xDAA3_20AB_u32 as i32;
const MAGIC_BLANK: i32 = 0xCBD4_3194_u32 as i32;
const BLANK_SIZE: usize = 8;
/// A record with IPv4 hosts, no body, no topic and no properties.
const LEAST_SIZE: usize = 91;
const INNER_BATCH: i32 = 0x80;
const BORN_HOST_V6: i32 = 0x10;
const STORE_HOST_V6: i32 = 0x20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::memory_log::{MemoryLog, TestRecord};
    use crate::read::{RecordSource, record_at};

    fn record(sys_flag: i32) -> Vec<u8> {
        let log = MemoryLog::new(4096);
        let (place, size) = log.append(&TestRecord {
            queue_id: 2,
            queue_offset: 7,
            sys_flag,
            store_timestamp: 99,
            properties: b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02INNER_MULTI_QUEUE_OFFSET\x011,4\x02",
            ..TestRecord::default()
        });
        log.slice(place, size as usize).unwrap().unwrap().to_vec()
    }

    #[test]
    fn hosts_of_any_form_are_passed() {
        for sys_flag in [0, 0x10, 0x20, 0x30] {
            let record = record(sys_flag);
            let fields = RecordFields::of(&record).unwrap();
            assert_eq!((fields.topic, fields.queue_id, fields.store_timestamp), ("t", 2, 99));
            assert_eq!(store_time(&record[..HEAD_TO_STORE_TIME]), Some(99));
            assert_eq!(store_time(&record[..60]), None);
        }
    }

    #[test]
    fn a_record_is_found_at_its_place_only() {
        let log = MemoryLog::new(4096);
        let mut places = Vec::new();
        for n in 0..3 {
            places.push(log.append(&TestRecord { queue_offset: n, body: &[1; 40], ..TestRecord::default() }));
        }
        for (place, size) in &places {
            let found = record_at(&log, *place).unwrap().unwrap();
            assert_eq!((found.len(), found), (*size as usize, log.slice(*place, *size as usize).unwrap().unwrap()));
        }
        let end = log.max_offset();
        for offset in [-1, 1, places[1].0 - 1, places[2].0 + 1, end - 36, end, i64::MAX] {
            assert_eq!(record_at(&log, offset).unwrap(), None, "{offset}");
        }
        // in its body, and where it starts
        for (n, at) in [(0, 100), (1, 0)] {
            log.damage(places[n].0 + at);
            assert_eq!(record_at(&log, places[n].0).unwrap(), None);
        }
    }

    #[test]
    fn a_record_is_of_its_queue_and_its_light_queues() {
        let record = record(0);
        let fields = RecordFields::of(&record).unwrap();
        assert!(fields.is_of("t", 2, 7) && fields.is_of("%LMQ%a", 0, 1) && fields.is_of("%LMQ%b", 0, 4));
        assert!(
            !fields.is_of("t", 2, 8)
                && !fields.is_of("t", 1, 7)
                && !fields.is_of("%LMQ%a", 0, 4)
                && !fields.is_of("u", 0, 1)
        );
        assert_eq!(fields.light_queues().collect::<Vec<_>>(), [("%LMQ%a", 0, 1), ("%LMQ%b", 0, 4)]);
        let properties = [fields.properties.as_bytes(), b"INNER_BASE\x017\x02INNER_NUM\x012\x02"].concat();
        let batch = RecordFields { sys_flag: 0xC0, properties: Properties::new(&properties), ..fields };
        assert!(batch.is_of("t", 2, 7) && !batch.is_of("%LMQ%a", 0, 1) && batch.light_queues().next().is_none());
    }

    proptest! {
        #[test]
        fn any_change_is_looked_at(at in 0usize..200, byte: u8, cut in 0usize..200) {
            let mut record = record(0x30);
            let length = record.len();
            record[at % length] = byte;
            let _ = At::look(&record);
            let _ = RecordFields::of(&record[..cut.min(length)]);
            let _ = store_time(&record[..cut.min(length)]);
        }

        #[test]
        fn any_bytes_are_looked_at(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = At::look(&bytes);
            if bytes.len() >= 8 {
                bytes[..4].copy_from_slice(&200i32.to_be_bytes());
                bytes[4..8].copy_from_slice(&MAGIC_V2.to_be_bytes());
            }
            let _ = At::look(&bytes);
        }
    }
}
