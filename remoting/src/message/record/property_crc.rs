//! The checksum over a whole record, kept as its last property (enabledAppendPropCRC):
//! `__CRC32#` 0x01, ten decimal digits with the least significant first, 0x02 (constants.md, section 5).

use super::crc;

/// Bytes of the property.
pub const PROPERTY_CRC_LENGTH: usize = NAME.len() + DIGITS + 1;

const NAME: &[u8] = b"__CRC32#\x01";
const DIGITS: usize = 10;

/// Appends the property with no checksum in it yet.
pub(super) fn reserve(into: &mut Vec<u8>) {
    into.extend_from_slice(NAME);
    into.extend_from_slice(&[b'0'; DIGITS]);
    into.push(2);
}

/// Properties without the checksum.
pub(super) fn strip(properties: &[u8]) -> &[u8] {
    let at = properties.len().saturating_sub(PROPERTY_CRC_LENGTH);
    if properties[at..].starts_with(NAME) { &properties[..at] } else { properties }
}

/// Computes the checksum over everything before the property.
pub(super) fn fill(record: &mut [u8]) {
    let at = record.len() - PROPERTY_CRC_LENGTH;
    let mut rest = crc(&record[..at]);
    for digit in &mut record[at + NAME.len()..][..DIGITS] {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Whether the checksum is there and right; `None` when the record does not end with one.
pub(super) fn check(record: &[u8]) -> Option<bool> {
    let at = record.len().checked_sub(PROPERTY_CRC_LENGTH)?;
    let digits = record[at..].strip_prefix(NAME)?.strip_suffix(&[2])?;
    let mut stored: u64 = 0;
    for digit in digits.iter().rev() {
        if !digit.is_ascii_digit() {
            return Some(false);
        }
        stored = stored * 10 + u64::from(digit - b'0');
    }
    Some(stored == u64::from(crc(&record[..at])))
}
