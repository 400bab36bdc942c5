//! The 20 bytes a consume queue holds for a record (constants.md, section 6):
//! physical offset 8, size 4, tags code 8.

use apogee_remoting::message::sys_flag;

/// Bytes of a unit.
pub const UNIT_SIZE: usize = 20;

/// One entry of a consume queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Physical offset of the record in the commit log.
    pub physical_offset: i64,
    /// Length of the record in bytes.
    pub size: i32,
    /// Hash of the tag, or the delivery time of a scheduled message (ms), or with an extension file the
    /// address of the entry there ([`Unit::extension_address`]).
    pub tags_code: i64,
}

impl Unit {
    /// Stands before the first record of a queue that does not start at 0, up to the start of its file.
    pub const BLANK: Unit = Unit { physical_offset: 0, size: i32::MAX, tags_code: 0 };

    /// The stored form.
    pub fn to_bytes(self) -> [u8; UNIT_SIZE] {
        let mut bytes = [0; UNIT_SIZE];
        bytes[..8].copy_from_slice(&self.physical_offset.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.size.to_be_bytes());
        bytes[12..].copy_from_slice(&self.tags_code.to_be_bytes());
        bytes
    }

    /// Reads the stored form; any content is accepted, see [`Unit::is_record`].
    pub fn from_bytes(bytes: &[u8; UNIT_SIZE]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            i64::from_be_bytes(word)
        };
        Self { physical_offset: word(0), size: (word(4) & 0xFFFF_FFFF) as i32, tags_code: word(12) }
    }

    /// Whether this is a written unit: of a record or a blank. Zeros behind the last one are none.
    pub fn is_written(self) -> bool {
        self.physical_offset >= 0 && self.size > 0
    }

    /// Whether this unit points at a record.
    pub fn is_record(self) -> bool {
        self.is_written() && self.size != i32::MAX
    }

    /// Physical offset behind the record.
    pub fn end(self) -> i64 {
        self.physical_offset.saturating_add(i64::from(self.size))
    }

    /// Where the entry in the extension file lies, for a tags code that is an address and no hash: file
    /// offset + `i64::MIN`, all below any 32-bit hash.
    pub fn extension_address(self) -> Option<i64> {
        (self.tags_code < i64::from(i32::MIN)).then(|| self.tags_code.wrapping_sub(i64::MIN))
    }
}

/// Stands as tags code for what is at a place of the extension.
pub(super) fn address_of(place: i64) -> i64 {
    place.wrapping_add(i64::MIN)
}

/// Places of an extension stay below this, so that their addresses stay below every hash.
pub(super) const MAX_EXTENSION_PLACE: i64 = (i32::MIN as i64).wrapping_sub(i64::MIN);

/// Whether a record with these bits is in a queue. Half messages of old versions and rollback marks are not: an offset
/// taken for one would be a hole that hides what is behind it.
pub fn is_queued(sys_flag: i32) -> bool {
    !matches!(sys_flag & sys_flag::TRANSACTION_TYPE, sys_flag::TRANSACTION_PREPARED | sys_flag::TRANSACTION_ROLLBACK)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blank_and_zero_point_nowhere() {
        let zero = Unit::from_bytes(&[0; UNIT_SIZE]);
        assert!(!zero.is_written() && !zero.is_record());
        assert!(Unit::BLANK.is_written() && !Unit::BLANK.is_record());
        assert_eq!(Unit::BLANK.to_bytes()[8..12], [0x7F, 0xFF, 0xFF, 0xFF]);
    }

    #[test]
    fn addresses_are_below_every_hash() {
        let unit = |tags_code| Unit { tags_code, ..Unit::BLANK };
        assert_eq!(unit(i64::from(i32::MIN)).extension_address(), None);
        assert_eq!(unit(i64::MIN + 20).extension_address(), Some(20));
    }

    proptest! {
        #[test]
        fn round_trips(bytes: [u8; UNIT_SIZE]) {
            let unit = Unit::from_bytes(&bytes);
            prop_assert_eq!(unit.to_bytes(), bytes);
            let _ = (unit.is_record(), unit.end(), unit.extension_address());
        }
    }
}
