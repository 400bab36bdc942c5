//! What a unit says, whichever kind of queue it is in.
//!
//! The 46 bytes a batch consume queue holds for a record (constants.md, section 6): physical offset 8, size 4,
//! tags code 8, store time 8, first queue offset 8, number of messages 2, then 4 of `FF` and 4 of `00`.

use super::layout::QueueKind;
use super::unit::{UNIT_SIZE, Unit};

/// Bytes of a unit of a batch consume queue.
pub const BATCH_UNIT_SIZE: usize = 46;

/// A unit, and for which messages of the queue it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Queue offset of the record's first message.
    pub offset: i64,
    /// Messages in the record; more than one only in batch queues.
    pub count: i16,
    /// Where the record is.
    pub unit: Unit,
    /// When the record was stored, ms. Simple queues do not keep it: read from one, it is -1.
    pub store_timestamp: i64,
}

impl Entry {
    /// Queue offset behind the record's last message.
    pub fn end(self) -> i64 {
        self.offset.saturating_add(i64::from(self.count))
    }

    /// Appends the stored form.
    pub(super) fn encode(self, kind: QueueKind, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.unit.to_bytes());
        if kind == QueueKind::Batch {
            into.extend_from_slice(&self.store_timestamp.to_be_bytes());
            into.extend_from_slice(&self.offset.to_be_bytes());
            into.extend_from_slice(&self.count.to_be_bytes());
            into.extend_from_slice(&BATCH_REST);
        }
    }

    /// Reads the stored form of a unit at a place of its queue; `None` for too few bytes. Any content is accepted;
    /// what is no unit comes as one that is not written.
    pub fn decode(kind: QueueKind, place: i64, bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..kind.unit_size())?;
        let unit = Unit::from_bytes(bytes.first_chunk::<UNIT_SIZE>()?);
        if kind == QueueKind::Simple {
            return Some(Self { offset: place, count: 1, unit, store_timestamp: -1 });
        }
        let word = |at: usize| bytes.get(at..)?.first_chunk().copied().map(i64::from_be_bytes);
        let count = i16::from_be_bytes(*bytes.get(36..)?.first_chunk()?);
        let mut entry = Self { offset: word(28)?, count, unit, store_timestamp: word(20)? };
        if entry.offset < 0 || count <= 0 {
            entry.unit.size = 0;
        }
        Some(entry)
    }
}

/// Offset in a compacted log, which there is none of, and reserved bytes.
const BATCH_REST: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNIT: Unit = Unit { physical_offset: 2703, size: 913, tags_code: 0 };

    #[test]
    fn a_batch_unit_is_the_references() {
        let entry = Entry { offset: 8, count: 3, unit: UNIT, store_timestamp: 1_795_964_711_435 };
        let mut bytes = Vec::new();
        entry.encode(QueueKind::Batch, &mut bytes);
        let stored = 0x0000_01a2_27d6_b20b_0000_0000_0000_0008_u128.to_be_bytes();
        assert_eq!(bytes[..20], UNIT.to_bytes());
        assert_eq!((&bytes[20..36], &bytes[36..]), (&stored[..], &[0, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0][..]));
        assert_eq!(Entry::decode(QueueKind::Batch, 1, &bytes), Some(entry));
        assert_eq!(Entry::decode(QueueKind::Batch, 1, &bytes[..45]), None);
    }

    #[test]
    fn zeros_and_impossible_numbers_are_not_written() {
        let decode = |bytes: &[u8]| Entry::decode(QueueKind::Batch, 0, bytes).unwrap().unit.is_written();
        assert!(!decode(&[0; BATCH_UNIT_SIZE]));
        for (offset, count) in [(-1, 1), (0, 0), (0, -1)] {
            let mut bytes = Vec::new();
            Entry { offset, count, unit: UNIT, store_timestamp: 0 }.encode(QueueKind::Batch, &mut bytes);
            assert!(!decode(&bytes), "{offset} {count}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..50), place in 0i64..1 << 40) {
            for kind in [QueueKind::Simple, QueueKind::Batch] {
                if let Some(entry) = Entry::decode(kind, place, &bytes) {
                    let mut again = Vec::new();
                    entry.encode(kind, &mut again);
                    prop_assert!(!entry.unit.is_written() || again[..38.min(again.len())] == bytes[..38.min(again.len())]);
                    let _ = entry.end();
                }
            }
        }
    }
}
