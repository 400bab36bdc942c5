//! Java's `String.hashCode`, on which tag codes and index keys rest.

/// `String.hashCode` of UTF-8 text: `31 * h + unit` over its UTF-16 code units, wrapping.
///
/// Bytes that are no UTF-8 count as U+FFFD, which is what a Java reader decodes them to.
pub fn java_hash(text: &[u8]) -> i32 {
    JavaHash::default().with(text).finish()
}

/// The code a consume queue stores for a message with these TAGS: the hash as a signed long, 0 without
/// tags (consume queue unit, bytes 12..20).
pub fn tags_code(tags: Option<&[u8]>) -> i64 {
    match tags {
        Some(tags) if !tags.is_empty() => i64::from(java_hash(tags)),
        _ => 0,
    }
}

/// The same hash fed in pieces, for keys that are put together from parts (`topic#key`).
///
/// Each piece must end at a character boundary.
#[derive(Clone, Copy, Debug, Default)]
pub struct JavaHash(i32);

impl JavaHash {
    /// Feeds a piece of text.
    #[must_use]
    pub fn with(mut self, text: &[u8]) -> Self {
        if text.is_ascii() {
            // Eight at a time, as pairs and fours of them: each multiplication of the whole waits for the one before it.
            let (eights, rest) = text.as_chunks::<8>();
            for eight in eights {
                let word = u64::from_le_bytes(*eight);
                let pairs = (word & ODD_BYTES) * 31 + (word >> 8 & ODD_BYTES);
                let fours = (pairs & ODD_PAIRS) * 961 + (pairs >> 16 & ODD_PAIRS);
                let eight = (fours as i32).wrapping_mul(POWER_4).wrapping_add((fours >> 32) as i32);
                self.0 = self.0.wrapping_mul(POWER_4.wrapping_mul(POWER_4)).wrapping_add(eight);
            }
            for &byte in rest {
                self.unit(u16::from(byte));
            }
        } else {
            for chunk in text.utf8_chunks() {
                for unit in chunk.valid().encode_utf16() {
                    self.unit(unit);
                }
                if !chunk.invalid().is_empty() {
                    self.unit(0xFFFD);
                }
            }
        }
        self
    }

    /// The hash of everything fed so far.
    pub fn finish(self) -> i32 {
        self.0
    }

    fn unit(&mut self, unit: u16) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(i32::from(unit));
    }
}

/// The first, third and so on: of ASCII, sums of pairs and of fours have room beside one another.
const ODD_BYTES: u64 = 0x00FF_00FF_00FF_00FF;
const ODD_PAIRS: u64 = 0x0000_FFFF_0000_FFFF;
/// 31 to the fourth power.
const POWER_4: i32 = 923_521;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_java() {
        assert_eq!(java_hash(b""), 0);
        assert_eq!(java_hash(b"TagA"), 2_598_919);
        assert_eq!(java_hash(b"Aa"), java_hash(b"BB"));
        assert_eq!(java_hash(b"polygenelubricants"), i32::MIN);
        // U+4E2D, and a character outside the basic plane: two UTF-16 units
        assert_eq!(java_hash("中".as_bytes()), 0x4E2D);
        assert_eq!(java_hash("😀".as_bytes()), 0xD83D * 31 + 0xDE00);
    }

    #[test]
    fn pieces_hash_like_the_whole() {
        let whole = java_hash("topic#ключ".as_bytes());
        let pieces = JavaHash::default().with(b"topic").with(b"#").with("ключ".as_bytes());
        assert_eq!(pieces.finish(), whole);
    }

    #[test]
    fn any_length_hashes_like_its_bytes_one_by_one() {
        let text = b"The quick brown fox ~{}\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x7F\x00\x01";
        for length in 0..=text.len() {
            let text = &text[..length];
            let one_by_one = text.iter().fold(JavaHash::default(), |hash, byte| hash.with(&[*byte]));
            assert_eq!(java_hash(text), one_by_one.finish());
        }
    }

    #[test]
    fn code_of_tags() {
        assert_eq!(tags_code(None), 0);
        assert_eq!(tags_code(Some(b"")), 0);
        assert_eq!(tags_code(Some(b"polygenelubricants")), i64::from(i32::MIN));
    }
}
