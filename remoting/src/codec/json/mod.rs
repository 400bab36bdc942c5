//! The JSON header: one flat object that is read in place and written by hand.
//!
//! A general JSON parser would allocate for every key and value; this one appends texts straight
//! to [`crate::Fields`]. Texts are scanned eight bytes at a time: most are shorter than what a search
//! routine pays for.

mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::encode;

/// In each byte of the result the top bit is set if that byte of `word` equals `byte`. Bytes above the first equal one
/// may have it set by mistake, which the lowest one never has.
const fn equal_bytes(word: u64, byte: u8) -> u64 {
    let differing = word ^ (ONES * byte as u64);
    differing.wrapping_sub(ONES) & !differing & TOPS
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
