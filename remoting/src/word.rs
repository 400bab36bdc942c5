//! Looking for bytes eight at a time: most texts of the protocol are shorter than what a call of a search routine costs.

/// Where the first `byte` is.
#[inline]
pub(crate) fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    find(bytes, |word| equal_bytes(word, byte), |other| other == byte)
}

/// Where the first byte is that `in_byte` holds of. `in_word` sets the top bit of such bytes among eight, of the lowest
/// one at least, and none below it.
#[inline]
pub(crate) fn find(bytes: &[u8], in_word: impl Fn(u64) -> u64, in_byte: impl Fn(u8) -> bool) -> Option<usize> {
    let mut rest = bytes;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        let found = in_word(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(bytes.len() - rest.len() + found.trailing_zeros() as usize / 8);
        }
        rest = behind;
    }
    let tail = rest.iter().position(|byte| in_byte(*byte));
    tail.map(|tail| bytes.len() - rest.len() + tail)
}

/// In each byte of the result the top bit is set if that byte of `word` equals `byte`. Bytes above the first equal one
/// may have it set by mistake, which the lowest one never has.
pub(crate) const fn equal_bytes(word: u64, byte: u8) -> u64 {
    let differing = word ^ (ONES * byte as u64);
    differing.wrapping_sub(ONES) & !differing & TOPS
}

/// The same for bytes that are less than `limit`, which is at most 0x80.
pub(crate) const fn bytes_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & TOPS
}

pub(crate) const ONES: u64 = u64::from_le_bytes([1; 8]);
pub(crate) const TOPS: u64 = u64::from_le_bytes([0x80; 8]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_of_a_byte_among_bytes_near_it() {
        for byte in [0, 1, 2, 0x7F, 0x80, 0xFF] {
            for length in 0..20 {
                for at in 0..=length {
                    let mut bytes = vec![byte ^ 1; length];
                    for place in [at, at + 3] {
                        if let Some(one) = bytes.get_mut(place) {
                            *one = byte;
                        }
                    }
                    assert_eq!(find_byte(&bytes, byte), (at < length).then_some(at), "{bytes:?}");
                }
            }
        }
    }
}
