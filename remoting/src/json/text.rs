//! What stands between the quotes of a text, in headers and in bodies.

use bytes::BufMut;

use crate::word::{ONES, TOPS, equal_bytes, find};

/// How many bytes come before the next `quote` or backslash; `None` where neither comes.
#[inline]
pub(crate) fn plain_length(bytes: &[u8], quote: u8) -> Option<usize> {
    find(bytes, |word| special_bytes(word, quote), |byte| byte == quote || byte == b'\\')
}

/// The top bit of each byte of `word` that is `quote` or a backslash, as [`equal_bytes`] sets it.
#[inline]
pub(crate) const fn special_bytes(word: u64, quote: u8) -> u64 {
    equal_bytes(word, quote) | equal_bytes(word, b'\\')
}

/// Reads what stands behind a backslash, at the start of `text`: the character, and how many bytes it takes there.
/// Half of a surrogate pair becomes U+FFFD: no text here can hold it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn unescape(text: &[u8]) -> Result<(char, usize), &'static str> {
    let character = match text.first() {
        // the separators of properties, above all
        Some(b'u')
            if text.starts_with(b"u00")
                && let Some(code) = two_digits(text) =>
        {
            return Ok((char::from(code), 5));
        }
        Some(b'u') => return unescape_unit(text),
        Some(b'x') => {
            let code = hex(text, 1, 2)?;
            return Ok((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 3));
        }
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'v') => '\u{b}',
        Some(b'0') => '\0',
        Some(plain @ (b'"' | b'\'' | b'\\' | b'/')) => char::from(*plain),
        _ => return Err("an unknown escape in a text"),
    };
    Ok((character, 1))
}

/// `uXXXX`, and the second half of a surrogate pair where there is one.
fn unescape_unit(text: &[u8]) -> Result<(char, usize), &'static str> {
    let first = hex(text, 1, 4)?;
    if (0xD800..0xDC00).contains(&first) && text[5..].starts_with(b"\\u") {
        let second = hex(text, 7, 4)?;
        if (0xDC00..0xE000).contains(&second) {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11));
        }
    }
    Ok((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5))
}

/// What the digits of `u00XX` say.
#[inline]
fn two_digits(text: &[u8]) -> Option<u8> {
    let [_, _, _, high, low] = *text.first_chunk()?;
    Some((hex_digit(high)? << 4 | hex_digit(low)?) as u8)
}

fn hex(text: &[u8], at: usize, digits: usize) -> Result<u32, &'static str> {
    let digits = text.get(at..at + digits).ok_or(BROKEN)?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | hex_digit(*digit)?)).ok_or(BROKEN)
}

fn hex_digit(byte: u8) -> Option<u32> {
    match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'a'..=b'f' | b'A'..=b'F' => Some(u32::from((byte | 0x20) - b'a') + 10),
        _ => None,
    }
}

const BROKEN: &str = "a broken escape in a text";

/// Appends what stands between the quotes of `text`, escaped as the reference does it.
pub(crate) fn put_escaped(out: &mut impl BufMut, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = first_to_escape(rest) {
        out.put_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.put_slice(b"\\\""),
            b'\\' => out.put_slice(b"\\\\"),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            8 => out.put_slice(b"\\b"),
            12 => out.put_slice(b"\\f"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let high = HEX[usize::from(control >> 4)];
                out.put_slice(&[b'\\', b'u', b'0', b'0', high, HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

/// Where the first byte is that cannot stand in a text as it is.
fn first_to_escape(text: &[u8]) -> Option<usize> {
    find(
        text,
        |word| {
            // A control character borrows from its top bit when 0x20 is taken away, a byte beyond ASCII had it set before.
            let control = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
            control | equal_bytes(word, b'"') | equal_bytes(word, b'\\')
        },
        |byte| byte < 0x20 || matches!(byte, b'"' | b'\\'),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every special byte at every place of short texts, between bytes that differ from it in one bit or in all.
    #[test]
    fn finds_the_first_special_byte_at_any_place() {
        for special in (0..0x20).chain([b'"', b'\\', b'\'']) {
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b' '; length];
                    text[at] = special;
                    if at > 0 {
                        text[at - 1] = 0xFF;
                    }
                    if at + 1 < length {
                        text[at + 1] = special ^ 1;
                    }
                    let expected = |is_special: bool| is_special.then_some(at);
                    // `" ^ 1` is `#` and `\ ^ 1` is `]`, which stand for themselves as `' ^ 1` does.
                    assert_eq!(first_to_escape(&text), expected(special != b'\''), "{text:?}");
                    if special >= 0x20 {
                        assert_eq!(plain_length(&text, b'"'), expected(special != b'\''), "{text:?}");
                        assert_eq!(plain_length(&text, b'\''), expected(special != b'"'), "{text:?}");
                    }
                }
            }
        }
        let plain: Vec<u8> = (0x20..=0xFF).filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
        for start in 0..plain.len() {
            assert_eq!(first_to_escape(&plain[start..]), None);
            assert_eq!(plain_length(&plain[start..], b'"'), None);
        }
    }

    #[test]
    fn resolves_escapes_and_says_how_long_they_are() {
        for (text, expected) in [
            ("n\"", ('\n', 1)),
            ("'x", ('\'', 1)),
            ("0", ('\0', 1)),
            ("x41z", ('A', 3)),
            ("xfFz", ('ÿ', 3)),
            ("u00e4z", ('ä', 5)),
            ("ud83d\\ude00z", ('😀', 11)),
            ("uDBFF\\uDFFF", ('\u{10FFFF}', 11)),
            // Halves of pairs: high ones without a low one, low ones.
            ("ud83d", ('\u{FFFD}', 5)),
            ("ud83dz", ('\u{FFFD}', 5)),
            ("ud83d\\n", ('\u{FFFD}', 5)),
            ("ud83d\\u0041", ('\u{FFFD}', 5)),
            ("ud83d\\ud83d\\ude00", ('\u{FFFD}', 5)),
            ("ude00\\ud83d", ('\u{FFFD}', 5)),
        ] {
            assert_eq!(unescape(text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_escape() {
        for text in ["", "q", "ä", "\u{1}"] {
            assert_eq!(unescape(text.as_bytes()), Err("an unknown escape in a text"), "{text}");
        }
        for text in ["u", "u12", "u12g4", "u12ä4", "u+123", "x", "x4", "x4ä", "ud83d\\u", "ud83d\\ude0"] {
            assert_eq!(unescape(text.as_bytes()), Err(BROKEN), "{text}");
        }
    }
}
