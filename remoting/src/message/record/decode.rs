//! Reading records where they lie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;

use super::{BLANK_HEAD, Draft, LEAST_SIZE, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, crc, property_crc};
use crate::message::properties::Properties;
use crate::message::sys_flag::{BORN_HOST_V6, STORE_HOST_V6};

/// A record; body, topic and properties borrow from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    bytes: &'a [u8],
    /// Checksum of the body as stored.
    pub body_crc: u32,
    /// Queue of the topic.
    pub queue_id: i32,
    /// The user's flag.
    pub flag: i32,
    /// Offset in the queue.
    pub queue_offset: i64,
    /// Place in the log.
    pub physical_offset: i64,
    /// Bits of `sys_flag`.
    pub sys_flag: i32,
    /// When the producer made it, ms.
    pub born_timestamp: i64,
    /// Where from.
    pub born_host: SocketAddr,
    /// When it was stored, ms.
    pub store_timestamp: i64,
    /// The broker that stored it.
    pub store_host: SocketAddr,
    /// How often a consumer gave it back.
    pub reconsume_times: i32,
    /// On a committed message, the physical offset of its first half.
    pub prepared_transaction_offset: i64,
    /// The body, compressed or not.
    pub body: &'a [u8],
    /// Topic.
    pub topic: &'a str,
    /// Properties.
    pub properties: Properties<'a>,
}

/// What stands at a place of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A record.
    Record(Record<'a>),
    /// The rest of a file, of so many bytes.
    Blank(usize),
}

/// Why bytes are no good record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end within the entry.
    #[error("{needed} bytes needed, {available} there")]
    Incomplete {
        /// Bytes the entry takes, as far as that is known.
        needed: usize,
        /// Bytes given.
        available: usize,
    },
    /// No entry starts here.
    #[error("magic {0:#010x} is none of a record")]
    Magic(u32),
    /// The size cannot be that of a record.
    #[error("a record cannot have {0} bytes")]
    Size(i32),
    /// The parts do not add up to the size.
    #[error("the lengths within the record do not add up to its size")]
    Parts,
    /// A text or number has a value that is never stored.
    #[error("the {0} of the record cannot be read")]
    Field(&'static str),
    /// The body is not the one that was stored.
    #[error("the body's checksum is {found:#010x}, stored is {stored:#010x}")]
    BodyCrc {
        /// Stored in the record.
        stored: u32,
        /// Of the body.
        found: u32,
    },
    /// The record is not the one that was stored, by the checksum in its properties.
    #[error("the record's own checksum (property __CRC32#) is wrong")]
    PropertyCrc,
    /// There is no checksum in the properties and there has to be one.
    #[error("the record has no checksum in its properties")]
    NoPropertyCrc,
}

impl<'a> Entry<'a> {
    /// Looks at what starts with `bytes`, which may go on behind it. Checks sizes, not checksums.
    ///
    /// # Errors
    /// The entry is not all there, or it is none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let incomplete = |needed| RecordError::Incomplete { needed, available: bytes.len() };
        let mut head = Reader(bytes);
        let (Ok(size), Ok(magic)) = (head.i32(), head.u32()) else {
            return Err(incomplete(BLANK_HEAD));
        };
        let v2 = match magic {
            MAGIC_V1 => false,
            MAGIC_V2 => true,
            MAGIC_BLANK => {
                let size = usize::try_from(size).ok().filter(|size| *size >= BLANK_HEAD);
                return size.map(Entry::Blank).ok_or(RecordError::Parts);
            }
            _ => return Err(RecordError::Magic(magic)),
        };
        let length = usize::try_from(size).ok().filter(|size| *size >= LEAST_SIZE).ok_or(RecordError::Size(size))?;
        let record = bytes.get(..length).ok_or_else(|| incomplete(length))?;
        Record::read(record, v2).map(Entry::Record)
    }
}

impl<'a> Record<'a> {
    /// Reads one record from its bytes, which may go on behind it. Checks sizes, not checksums.
    ///
    /// # Errors
    /// As [`Entry::read`]; a blank is no record.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        match Entry::read(bytes)? {
            Entry::Record(record) => Ok(record),
            Entry::Blank(_) => Err(RecordError::Magic(MAGIC_BLANK)),
        }
    }

    /// The whole record.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the record.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Physical offset behind the record.
    pub fn end(&self) -> i64 {
        self.physical_offset.saturating_add(self.bytes.len() as i64)
    }

    /// Checks the body's checksum and, with `property_crc`, the one over the whole record, which must then be there
    /// (forceVerifyPropCRC).
    ///
    /// # Errors
    /// A checksum is wrong or missing.
    pub fn verify(&self, property_crc: bool) -> Result<(), RecordError> {
        let found = crc(self.body);
        if found != self.body_crc {
            return Err(RecordError::BodyCrc { stored: self.body_crc, found });
        }
        if property_crc {
            return match property_crc::check(self.bytes) {
                Some(true) => Ok(()),
                Some(false) => Err(RecordError::PropertyCrc),
                None => Err(RecordError::NoPropertyCrc),
            };
        }
        Ok(())
    }

    /// The same message to be stored once more, as it was but for its place, without the checksum over the record and
    /// without the transaction that it came from.
    pub fn draft(&self) -> Draft<'a> {
        Draft {
            topic: self.topic,
            queue_id: self.queue_id,
            flag: self.flag,
            sys_flag: self.sys_flag,
            born_timestamp: self.born_timestamp,
            born_host: self.born_host,
            store_host: self.store_host,
            reconsume_times: self.reconsume_times,
            prepared_transaction_offset: 0,
            body: self.body,
            body_crc: Some(self.body_crc),
            properties: property_crc::strip(self.properties.as_bytes()),
        }
    }

    fn read(bytes: &'a [u8], v2: bool) -> Result<Self, RecordError> {
        let mut from = Reader(&bytes[8..]);
        let body_crc = from.u32()?;
        let queue_id = from.i32()?;
        let flag = from.i32()?;
        let queue_offset = from.i64()?;
        let physical_offset = from.i64()?;
        let sys_flag = from.i32()?;
        let born_timestamp = from.i64()?;
        let born_host = from.host(sys_flag & BORN_HOST_V6 != 0, "born host")?;
        let store_timestamp = from.i64()?;
        let store_host = from.host(sys_flag & STORE_HOST_V6 != 0, "store host")?;
        let reconsume_times = from.i32()?;
        let prepared_transaction_offset = from.i64()?;
        let body = from.i32()?;
        let body = from.take(usize::try_from(body).map_err(|_| RecordError::Parts)?)?;
        let topic = if v2 { i32::from(from.i16()?) } else { i32::from(from.array::<1>()?[0].cast_signed()) };
        let topic = from.take(usize::try_from(topic).map_err(|_| RecordError::Parts)?)?;
        let topic = std::str::from_utf8(topic).map_err(|_| RecordError::Field("topic"))?;
        let properties = usize::try_from(from.i16()?).map_err(|_| RecordError::Parts)?;
        let properties = Properties::new(from.take(properties)?);
        if !from.0.is_empty() {
            return Err(RecordError::Parts);
        }
        Ok(Self {
            bytes,
            body_crc,
            queue_id,
            flag,
            queue_offset,
            physical_offset,
            sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            body,
            topic,
            properties,
        })
    }
}

/// The records in bytes that hold one behind another: the body of a pull's answer.
pub fn entries(bytes: &[u8]) -> Records<'_> {
    Records { rest: bytes }
}

/// Records behind one another, see [`entries`]. After an error the iteration ends.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let record = Record::parse(self.rest);
        self.rest = match &record {
            Ok(record) => &self.rest[record.size()..],
            Err(_) => &[],
        };
        Some(record)
    }
}

/// Takes fields from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(RecordError::Parts)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(RecordError::Parts)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn i16(&mut self) -> Result<i16, RecordError> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, RecordError> {
        self.array().map(i32::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, RecordError> {
        self.array().map(i64::from_be_bytes)
    }

    fn host(&mut self, v6: bool, name: &'static str) -> Result<SocketAddr, RecordError> {
        let ip = if v6 {
            IpAddr::V6(Ipv6Addr::from(self.array::<16>()?))
        } else {
            IpAddr::V4(Ipv4Addr::from(self.array::<4>()?))
        };
        let port = u16::try_from(self.i32()?).map_err(|_| RecordError::Field(name))?;
        Ok(SocketAddr::new(ip, port))
    }
}
