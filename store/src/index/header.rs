//! The first 40 bytes of an index file, and its items.

/// Begin store time 8, end store time 8, begin physical offset 8, end physical offset 8, used slots 4, next item number 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Store time of the first item, ms.
    pub begin_time: i64,
    /// Store time of the last item, ms.
    pub end_time: i64,
    /// Physical offset of the first item.
    pub begin_offset: i64,
    /// Physical offset of the last item.
    pub end_offset: i64,
    /// Slots that have items.
    pub used_slots: i32,
    /// Number of the next item; 1 is the first.
    pub next: i32,
}

/// Bytes of a header.
pub const HEADER_SIZE: usize = 40;

impl Header {
    /// Of a new file that follows one that ended so (0, 0 for none).
    pub(super) fn after(end_offset: i64, end_time: i64) -> Self {
        Self { begin_time: end_time, end_time, begin_offset: end_offset, end_offset, used_slots: 0, next: 1 }
    }

    /// Reads the stored form; any content is accepted.
    pub fn from_bytes(bytes: &[u8; HEADER_SIZE]) -> Self {
        let long = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            i64::from_be_bytes(word)
        };
        let counts = long(32);
        Self {
            begin_time: long(0),
            end_time: long(8),
            begin_offset: long(16),
            end_offset: long(24),
            used_slots: (counts >> 32) as i32,
            next: (counts as i32).max(1),
        }
    }

    /// The stored form.
    pub fn to_bytes(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&self.begin_time.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.end_time.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.begin_offset.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.end_offset.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.used_slots.to_be_bytes());
        bytes[36..].copy_from_slice(&self.next.to_be_bytes());
        bytes
    }

    /// Physical offsets of the first and the last item, where there are any.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        (self.next > 1).then_some((self.begin_offset, self.end_offset))
    }

    /// Whether items stored in [begin, end] can be in the file.
    pub(super) fn overlaps(&self, begin: i64, end: i64) -> bool {
        begin <= self.end_time && end >= self.begin_time
    }
}

/// Key hash 4, physical offset 8, seconds since the file's begin time 4, previous item of the slot 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Of the key, with its topic.
    pub hash: i32,
    /// Of the record that has the key.
    pub physical_offset: i64,
    /// Between the store times of the file's first record and this one.
    pub seconds: i32,
    /// Number of the item before it in its slot, 0 without one.
    pub previous: i32,
}

/// Bytes of an item.
pub const ITEM_SIZE: usize = 20;

impl Item {
    /// Reads the stored form; any content is accepted.
    pub fn from_bytes(bytes: &[u8; ITEM_SIZE]) -> Self {
        let int = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            i32::from_be_bytes(word)
        };
        Self {
            hash: int(0),
            physical_offset: i64::from(int(4)) << 32 | i64::from(int(8) as u32),
            seconds: int(12),
            previous: int(16),
        }
    }

    /// The stored form.
    pub fn to_bytes(self) -> [u8; ITEM_SIZE] {
        let mut bytes = [0; ITEM_SIZE];
        bytes[..4].copy_from_slice(&self.hash.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.physical_offset.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[16..].copy_from_slice(&self.previous.to_be_bytes());
        bytes
    }
}

/// The hash of a key as stored: the absolute value of Java's, 0 for the one number that has none.
pub(super) fn stored_hash(java_hash: i32) -> i32 {
    java_hash.checked_abs().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let header =
            Header { begin_time: 1, end_time: i64::MAX, begin_offset: -3, end_offset: 4, used_slots: 5, next: 6 };
        assert_eq!(Header::from_bytes(&header.to_bytes()), header);
        assert_eq!(Header::from_bytes(&[0; HEADER_SIZE]), Header::after(0, 0));
        let item = Item { hash: 1, physical_offset: -2, seconds: 3, previous: -4 };
        assert_eq!(Item::from_bytes(&item.to_bytes()), item);
    }

    #[test]
    fn the_smallest_hash_is_stored_as_0() {
        assert_eq!([i32::MIN, -1, 7].map(stored_hash), [0, 1, 7]);
    }
}
