//! The stored record: what the commit log holds for a message, and what a pull answers with.
//!
//! | # | field | bytes |
//! |---|---|---|
//! | 1 | total size | 4 |
//! | 2 | magic: 0xDAA320A7 (V1), 0xDAA320AB (V2) | 4 |
//! | 3 | CRC32 of the body & 0x7FFFFFFF | 4 |
//! | 4 | queue id | 4 |
//! | 5 | flag | 4 |
//! | 6 | queue offset | 8 |
//! | 7 | physical offset | 8 |
//! | 8 | sysFlag | 4 |
//! | 9 | born timestamp | 8 |
//! | 10 | born host: address 4 or 16 (sysFlag 0x10), port 4 | 8 / 20 |
//! | 11 | store timestamp | 8 |
//! | 12 | store host, as the born host (sysFlag 0x20) | 8 / 20 |
//! | 13 | reconsume times | 4 |
//! | 14 | prepared transaction offset | 8 |
//! | 15 | body length, body | 4 + n |
//! | 16 | topic length, topic | V1 1 + n, V2 2 + n |
//! | 17 | properties length, properties | 2 + n |
//!
//! All numbers are big endian (constants.md, section 5).

mod decode;
mod encode;
mod patch;
mod property_crc;
#[cfg(test)]
mod tests;

pub use decode::{Entry, Record, RecordError, Records, entries};
pub use encode::{Draft, DraftError};
pub use patch::Placement;
pub use property_crc::PROPERTY_CRC_LENGTH;

/// Magic of a record whose topic length takes one byte.
pub const MAGIC_V1: u32 = 0xDAA3_20A7;
/// Magic of a record whose topic length takes two bytes: for topics longer than 127 bytes.
pub const MAGIC_V2: u32 = 0xDAA3_20AB;
/// Magic of the blank at the end of a file: size of the rest of the file 4, magic 4.
pub const MAGIC_BLANK: u32 = 0xCBD4_3194;
/// Bytes of a blank's head; every file of a log keeps room for one.
pub const BLANK_HEAD: usize = 8;
/// The shortest record: IPv4 hosts, no body, topic or properties.
pub const LEAST_SIZE: usize = 91;

/// The checksum a record stores for `bytes`.
pub fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) & CRC_MASK
}

const CRC_MASK: u32 = 0x7FFF_FFFF;
const QUEUE_OFFSET_AT: usize = 20;
const PHYSICAL_OFFSET_AT: usize = 28;
const SYS_FLAG_AT: usize = 36;
const BORN_HOST_AT: usize = 48;

/// Bytes of a host's stored form.
const fn host_length(sys_flag: i32, v6: i32) -> usize {
    if sys_flag & v6 == 0 { 8 } else { 20 }
}
