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

/// How many bytes both begin with alike.
#[inline]
pub(crate) fn same_length(one: &[u8], other: &[u8]) -> usize {
    let length = one.len().min(other.len());
    let (one, other) = (&one[..length], &other[..length]);
    let mut at = 0;
    for (one, other) in one.as_chunks::<32>().0.iter().zip(other.as_chunks::<32>().0) {
        if one != other {
            break;
        }
        at += 32;
    }
    let (eights, rest) = one[at..].as_chunks::<8>();
    let (other_eights, other_rest) = other[at..].as_chunks::<8>();
    for (one, other) in eights.iter().zip(other_eights) {
        let differing = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return at + differing.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + rest.iter().zip(other_rest).take_while(|(one, other)| one == other).count()
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

/// What eight decimal digits say, the first of them in the highest place, and whether they are digits.
#[inline]
pub(crate) const fn eight_digits(text: [u8; 8]) -> (u64, bool) {
    let word = u64::from_le_bytes(text);
    let digits = word.wrapping_sub(ONES * b'0' as u64);
    // from 10 on the first sum reaches the top bit; what is below 0 or no ASCII has it set in one of the others
    let strange = (word.wrapping_add(ONES * (0x7F - b'9') as u64) | digits | word) & TOPS;
    // pairs, fours, all of them; none of the sums overflows its part
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & (ONES_OF_16 * 0xFF);
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0xFFFF_0000_FFFF;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF;
    (eight, strange == 0)
}

const ONES_OF_16: u64 = 0x0001_0001_0001_0001;
pub(crate) const ONES: u64 = u64::from_le_bytes([1; 8]);
pub(crate) const TOPS: u64 = u64::from_le_bytes([0x80; 8]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_bytes_that_are_the_same() {
        for (length, other_length) in (0..80).flat_map(|one| (0..80).map(move |other| (one, other))) {
            let (one, mut other) = (vec![b'a'; length], vec![b'a'; other_length]);
            assert_eq!(same_length(&one, &other), length.min(other_length));
            for at in 0..other_length {
                other[at] = b'b';
                assert_eq!(same_length(&one, &other), at.min(length), "{length}");
                other[at] = b'a';
            }
        }
    }

    #[test]
    fn reads_eight_digits_and_nothing_else() {
        for number in [0, 1, 9, 10, 12_345_678, 90_000_009, 99_999_999, 10_203_040] {
            let text = format!("{number:08}");
            let digits: [u8; 8] = text.as_bytes().try_into().unwrap();
            assert_eq!(eight_digits(digits), (number, true));
            for (at, byte) in (0..8).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut other = digits;
                other[at] = byte;
                assert_eq!(eight_digits(other).1, byte.is_ascii_digit(), "{other:?}");
            }
        }
    }

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
