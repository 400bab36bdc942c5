//! Writing records.

use std::net::{IpAddr, SocketAddr};

use bytes::BufMut;
use thiserror::Error;

use super::{LEAST_SIZE, MAGIC_V1, MAGIC_V2, PROPERTY_CRC_LENGTH, crc, host_length, property_crc};
use crate::message::properties::MAX_PROPERTIES_LENGTH;
use crate::message::sys_flag::{BORN_HOST_V6, STORE_HOST_V6};

/// A message that is to become a record; everything but its place and store time.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// Topic, at most 32767 bytes.
    pub topic: &'a str,
    /// Queue of the topic.
    pub queue_id: i32,
    /// The user's flag.
    pub flag: i32,
    /// Bits of `sys_flag`; those for IPv6 hosts are set by the encoder.
    pub sys_flag: i32,
    /// When the producer made the message, ms.
    pub born_timestamp: i64,
    /// Where from.
    pub born_host: SocketAddr,
    /// This broker's address.
    pub store_host: SocketAddr,
    /// How often a consumer gave it back.
    pub reconsume_times: i32,
    /// On a committed message, the physical offset of its first half.
    pub prepared_transaction_offset: i64,
    /// The body, compressed or not.
    pub body: &'a [u8],
    /// Its checksum where it is known ([`crc`]): of a message that is stored once more, that of its first record. A body that
    /// was damaged meanwhile is then told from a good one by whoever reads it next.
    pub body_crc: Option<u32>,
    /// Properties in their stored form.
    pub properties: &'a [u8],
}

/// Why a draft cannot become a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DraftError {
    /// The topic's length does not fit its field.
    #[error("topic of {0} bytes, at most 32767 can be stored")]
    TopicTooLong(usize),
    /// The properties' length does not fit its field.
    #[error("{0} bytes of properties, at most 32767 can be stored")]
    PropertiesTooLong(usize),
    /// The record's size does not fit its field.
    #[error("record of {0} bytes, at most 2147483647 can be stored")]
    TooLarge(usize),
}

impl<'a> Draft<'a> {
    /// A message with a body and nothing else, made by this host for itself at time 0.
    pub fn new(topic: &'a str, queue_id: i32, host: SocketAddr, body: &'a [u8]) -> Self {
        Self {
            topic,
            queue_id,
            flag: 0,
            sys_flag: 0,
            born_timestamp: 0,
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body,
            body_crc: None,
            properties: b"",
        }
    }

    /// Bytes of the record; `property_crc` as in [`Draft::encode`].
    pub fn encoded_len(&self, property_crc: bool) -> usize {
        let sys_flag = self.sys_flag();
        LEAST_SIZE - 16
            + host_length(sys_flag, BORN_HOST_V6)
            + host_length(sys_flag, STORE_HOST_V6)
            + usize::from(self.is_v2())
            + self.body.len()
            + self.topic.len()
            + self.properties_len(property_crc)
    }

    /// Appends the record, with zeros for its place and store time (see `Placement`). `property_crc` reserves room
    /// for the checksum over all of it (enabledAppendPropCRC), which the placement fills in.
    ///
    /// # Errors
    /// A part is too long; nothing was appended.
    pub fn encode(&self, into: &mut Vec<u8>, property_crc: bool) -> Result<(), DraftError> {
        let properties = self.properties_len(property_crc);
        if self.topic.len() > i16::MAX as usize {
            return Err(DraftError::TopicTooLong(self.topic.len()));
        }
        if properties > MAX_PROPERTIES_LENGTH {
            return Err(DraftError::PropertiesTooLong(properties));
        }
        let size = self.encoded_len(property_crc);
        let stored_size = i32::try_from(size).map_err(|_| DraftError::TooLarge(size))?;

        into.reserve(size);
        let sys_flag = self.sys_flag();
        let mut head = Head { bytes: [0; MOST_HEAD], length: 0 };
        head.put(stored_size.to_be_bytes());
        head.put(if self.is_v2() { MAGIC_V2 } else { MAGIC_V1 }.to_be_bytes());
        head.put(self.body_crc.unwrap_or_else(|| crc(self.body)).to_be_bytes());
        head.put(self.queue_id.to_be_bytes());
        head.put(self.flag.to_be_bytes());
        head.put([0; 16]);
        head.put(sys_flag.to_be_bytes());
        head.put(self.born_timestamp.to_be_bytes());
        head.put_host(self.born_host);
        head.put([0; 8]);
        head.put_host(self.store_host);
        head.put(self.reconsume_times.to_be_bytes());
        head.put(self.prepared_transaction_offset.to_be_bytes());
        head.put((self.body.len() as i32).to_be_bytes());
        into.extend_from_slice(&head.bytes[..head.length]);
        into.put_slice(self.body);
        if self.is_v2() {
            into.put_u16(self.topic.len() as u16);
        } else {
            into.put_u8(self.topic.len() as u8);
        }
        into.put_slice(self.topic.as_bytes());
        into.put_u16(properties as u16);
        into.put_slice(self.properties);
        if property_crc {
            property_crc::reserve(into);
        }
        Ok(())
    }

    fn is_v2(&self) -> bool {
        self.topic.len() > i8::MAX as usize
    }

    fn properties_len(&self, property_crc: bool) -> usize {
        self.properties.len() + if property_crc { PROPERTY_CRC_LENGTH } else { 0 }
    }

    fn sys_flag(&self) -> i32 {
        let mut flag = self.sys_flag & !(BORN_HOST_V6 | STORE_HOST_V6);
        if stored_ip(self.born_host).is_ipv6() {
            flag |= BORN_HOST_V6;
        }
        if stored_ip(self.store_host).is_ipv6() {
            flag |= STORE_HOST_V6;
        }
        flag
    }
}

/// An IPv4 address in IPv6 clothes is stored as IPv4: a dual-stack socket names its peers so.
fn stored_ip(host: SocketAddr) -> IpAddr {
    host.ip().to_canonical()
}

/// What stands before the body.
struct Head {
    bytes: [u8; MOST_HEAD],
    length: usize,
}

impl Head {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += N;
    }

    #[inline]
    fn put_host(&mut self, host: SocketAddr) {
        match stored_ip(host) {
            IpAddr::V4(ip) => self.put(ip.octets()),
            IpAddr::V6(ip) => self.put(ip.octets()),
        }
        self.put(i32::from(host.port()).to_be_bytes());
    }
}

/// With two IPv6 hosts, in bytes.
const MOST_HEAD: usize = 112;
