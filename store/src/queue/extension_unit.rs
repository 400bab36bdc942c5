//! What an extension holds for a message (constants.md, section 6): size of all 2, tags code 8, store time 8, length of
//! the bit map 2, bit map.

/// Bytes before the bit map.
pub(super) const HEAD: usize = 20;

/// An entry of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionUnit {
    /// What stands in the consume queue without an extension: the hash of the tag, or a delivery time.
    pub tags_code: i64,
    /// When the record was stored, ms.
    pub store_timestamp: i64,
    /// Bit `i` is bit `i % 8`, from the low end, of byte `i / 8`. Empty without a bit map.
    pub bit_map: Vec<u8>,
}

impl ExtensionUnit {
    /// Bytes of the stored form.
    pub fn stored_size(&self) -> usize {
        HEAD + self.bit_map.len()
    }

    /// Appends the stored form; `false` when the bit map is too long to be stored.
    pub(super) fn encode(tags_code: i64, store_timestamp: i64, bit_map: &[u8], into: &mut Vec<u8>) -> bool {
        let Ok(size) = i16::try_from(HEAD + bit_map.len()) else { return false };
        into.extend_from_slice(&size.to_be_bytes());
        into.extend_from_slice(&tags_code.to_be_bytes());
        into.extend_from_slice(&store_timestamp.to_be_bytes());
        into.extend_from_slice(&(bit_map.len() as i16).to_be_bytes());
        into.extend_from_slice(bit_map);
        true
    }

    /// Bytes of the unit that starts here; `None` at the end of what was written, and at the end of a file.
    pub fn size(bytes: &[u8]) -> Option<usize> {
        let size = i16::from_be_bytes(*bytes.first_chunk()?);
        usize::try_from(size).ok().filter(|size| *size >= HEAD)
    }

    /// Reads the stored form from as many bytes as [`ExtensionUnit::size`] says.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..)?.first_chunk().copied().map(i64::from_be_bytes);
        let length = usize::try_from(i16::from_be_bytes(*bytes.get(18..)?.first_chunk()?)).unwrap_or(0);
        let bit_map = bytes.get(HEAD..HEAD + length)?.to_vec();
        Some(Self { tags_code: word(2)?, store_timestamp: word(10)?, bit_map })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bit_map_may_be_too_long() {
        assert!(ExtensionUnit::encode(0, 0, &vec![0; 32747], &mut Vec::new()));
        assert!(!ExtensionUnit::encode(0, 0, &vec![0; 32748], &mut Vec::new()));
    }

    proptest! {
        #[test]
        fn round_trips(tags_code: i64, store_timestamp: i64, bit_map in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = Vec::new();
            prop_assert!(ExtensionUnit::encode(tags_code, store_timestamp, &bit_map, &mut bytes));
            prop_assert_eq!(ExtensionUnit::size(&bytes), Some(bytes.len()));
            prop_assert_eq!(ExtensionUnit::decode(&bytes), Some(ExtensionUnit { tags_code, store_timestamp, bit_map }));
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (ExtensionUnit::size(&bytes), ExtensionUnit::decode(&bytes));
        }
    }
}
