//! Reading a JSON header in the form in which clients write nearly all of them: no blanks, the known keys, texts as
//! fields, whole numbers without a sign. What is written in any other way is left to the general reader, so that
//! this one has nothing to say of errors.

use std::borrow::Cow;
use std::ops::Range;

use crate::command::{Command, Language};
use crate::fields::{Fields, Pair, Span};
use crate::json::text;

/// Where in a header something stands. Of what comes twice the last one counts.
#[derive(Default)]
pub(super) struct Places {
    /// The digits of the request's number.
    pub(super) opaque: Range<usize>,
    /// The fields, from behind the opening quote of the first key to behind the closing brace.
    pub(super) fields: Range<usize>,
}

/// The command of a header; `None` for one that is written in another way, or is none.
pub(super) fn decode(header: &[u8]) -> Option<(Command, Places)> {
    let mut scanner = Scanner { bytes: header, at: 0 };
    let mut places = Places::default();
    let mut command = Command::blank();
    scanner.word(b"{\"")?;
    loop {
        match scanner.peek()? {
            b'c' => command.code = scanner.named_integer(b"code\":")?,
            b'e' => command.fields = Some(scanner.named_fields(&mut places.fields)?),
            b'f' if scanner.word(AS_JAVA_WRITES).is_some() => {
                (command.flag, command.language) = (0, Language::JAVA);
                command.opaque = scanner.integer_at(&mut places.opaque)?;
            }
            b'f' => command.flag = scanner.named_integer(b"flag\":")?,
            b'l' => command.language = Language::from_name(scanner.named_text(b"language\":\"")?),
            b'o' => {
                scanner.word(b"opaque\":")?;
                command.opaque = scanner.integer_at(&mut places.opaque)?;
            }
            b'r' => command.remark = Some(Cow::Owned(scanner.named_text(b"remark\":\"")?.to_owned())),
            b's' => drop(scanner.named_text(b"serializeTypeCurrentRPC\":\"")?),
            b'v' => command.version = scanner.named_integer(b"version\":")?,
            _ => return None,
        }
        if scanner.word(b",\"").is_none() {
            scanner.word(b"}")?;
            return (scanner.at == header.len()).then_some((command, places));
        }
    }
}

pub(super) struct Scanner<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    #[inline]
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Goes behind `word`, if it stands here.
    #[inline]
    fn word<const N: usize>(&mut self, word: &[u8; N]) -> Option<()> {
        let is_here = self.rest().first_chunk::<N>() == Some(word);
        self.at += if is_here { N } else { 0 };
        is_here.then_some(())
    }

    #[inline]
    fn named_integer<const N: usize>(&mut self, name: &[u8; N]) -> Option<i32> {
        self.word(name)?;
        self.integer()
    }

    fn integer_at(&mut self, place: &mut Range<usize>) -> Option<i32> {
        let start = self.at;
        let number = self.integer()?;
        *place = start..self.at;
        Some(number)
    }

    pub(super) fn integer(&mut self) -> Option<i32> {
        let mut number: i64 = 0;
        let mut digits = 0;
        for byte in self.rest().iter().take(MOST_DIGITS) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number * 10 + i64::from(digit);
            digits += 1;
        }
        self.at += digits;
        // A digit more, a sign or a fraction is refused by what expects a comma or a brace behind it.
        i32::try_from(number).ok().filter(|_| digits > 0)
    }

    #[inline]
    fn named_text<const N: usize>(&mut self, name: &[u8; N]) -> Option<&'a str> {
        self.word(name)?;
        let start = self.at;
        self.plain()?;
        let text = &self.bytes[start..self.at];
        self.word(b"\"")?;
        str::from_utf8(text).ok()
    }

    /// Goes to the next quote or backslash.
    #[inline]
    fn plain(&mut self) -> Option<()> {
        loop {
            let found = text::special_bytes(self.eight(), b'"');
            if found != 0 {
                self.at += found.trailing_zeros() as usize / 8;
                return Some(());
            }
            self.at += 8;
            if self.at >= self.bytes.len() {
                return None;
            }
        }
    }

    /// The next eight bytes, the first one lowest; zeros behind the last one.
    #[inline]
    fn eight(&self) -> u64 {
        let rest = self.rest();
        u64::from_le_bytes(rest.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            last
        }))
    }

    fn named_fields(&mut self, place: &mut Range<usize>) -> Option<Fields> {
        self.word(b"extFields\":{")?;
        *place = self.at..self.at;
        if self.word(b"}").is_some() {
            return Some(Fields::with_memory());
        }
        self.word(b"\"")?;
        let mut inner = Scanner { bytes: self.rest(), at: 0 };
        let mut is_plain = false;
        let read = Fields::of_bytes(|text, pairs| {
            text.extend_from_slice(inner.bytes);
            is_plain = inner.fields(text, pairs).is_some();
            text.truncate(inner.at);
        });
        *place = self.at..self.at + inner.at;
        self.at = place.end;
        read.filter(|_| is_plain)
    }

    /// Reads fields, from behind the opening quote of the first key to behind the closing brace. `copy` is a copy of
    /// all of it, in which escapes are resolved.
    #[inline]
    fn fields(&mut self, copy: &mut [u8], pairs: &mut Vec<Pair>) -> Option<()> {
        loop {
            let start = self.at;
            let next = self.eight();
            let letter_is_key = next >> 8 & THREE == BETWEEN && is_plain(next);
            // Half of the fields of a send are a letter and a digit.
            if letter_is_key && next >> 40 == NEXT_FIELD && is_plain(next >> 32) {
                self.at += 8;
                pairs.push(Pair { key: Span::new(start, 1), value: Span::new(start + 4, 1) });
                continue;
            }
            if !letter_is_key {
                self.plain()?;
                if self.eight() & THREE != BETWEEN {
                    return None;
                }
            }
            let key = if letter_is_key { Span::new(start, 1) } else { Span::between(start, self.at) };
            self.at = key.end() + 3;
            let value = self.at;
            self.plain()?;
            let value = if self.peek()? == b'"' { Span::between(value, self.at) } else { self.escaped(value, copy)? };
            pairs.push(Pair { key, value });
            let next = self.eight();
            if next & THREE == NEXT_FIELD {
                self.at += 3;
            } else if next & TWO == LAST_FIELD {
                self.at += 2;
                return Some(());
            } else {
                return None;
            }
        }
    }

    /// Resolves the escapes of a text, which only becomes shorter by it, and goes from its first one to the closing quote.
    fn escaped(&mut self, start: usize, copy: &mut [u8]) -> Option<Span> {
        let mut end = self.at;
        while self.peek()? == b'\\' {
            // the separators of properties, above all
            let length = if let Some([_, b'u', b'0', b'0', b'0', digit @ b'0'..=b'9']) = self.rest().first_chunk() {
                copy[end] = digit - b'0';
                end += 1;
                6
            } else {
                let (character, length) = text::unescape(&self.rest()[1..]).ok()?;
                end += character.encode_utf8(&mut copy[end..]).len();
                1 + length
            };
            let plain = self.at + length;
            self.at = plain;
            self.plain()?;
            let length = self.at - plain;
            copy[end..end + length].copy_from_slice(&self.bytes[plain..self.at]);
            end += length;
        }
        // What is left must not be halves of characters.
        copy[end..self.at].fill(0);
        Some(Span::between(start, end))
    }
}

/// Whether the lowest byte stands for itself in a text.
#[inline]
fn is_plain(next: u64) -> bool {
    !matches!(next as u8, b'"' | b'\\')
}

const TWO: u64 = 0xFFFF;
const THREE: u64 = 0xFF_FFFF;
/// What stands between key and value, between two fields, and behind the last one.
const BETWEEN: u64 = u64::from_le_bytes(*b"\":\"\0\0\0\0\0");
const NEXT_FIELD: u64 = u64::from_le_bytes(*b"\",\"\0\0\0\0\0");
const LAST_FIELD: u64 = u64::from_le_bytes(*b"\"}\0\0\0\0\0\0");

/// What stands before the number of nearly every request.
const AS_JAVA_WRITES: &[u8; 35] = b"flag\":0,\"language\":\"JAVA\",\"opaque\":";

/// Digits of a number that fit 64 bits many times over.
const MOST_DIGITS: usize = 11;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read;
    use super::*;

    fn decode(header: &[u8]) -> Option<Command> {
        super::decode(header).map(|(command, _)| command)
    }

    const SEND: &str = r#"{"code":310,"extFields":{"a":"g","b":"T\u00e4","i":"UNIQ_KEY\u0001A\u0002WAIT\u0001true\u0002","m":"false"},"flag":0,"language":"JAVA","opaque":2147483647,"remark":"","serializeTypeCurrentRPC":"JSON","version":513}"#;

    #[test]
    fn reads_a_send_as_the_general_reader_does() {
        let command = decode(SEND.as_bytes()).unwrap();
        assert_eq!(command, read::general(SEND).unwrap());
        assert_eq!(command.field("i"), Some("UNIQ_KEY\u{1}A\u{2}WAIT\u{1}true\u{2}"));
        assert_eq!((command.code, command.opaque, command.field("b")), (310, i32::MAX, Some("Tä")));
    }

    /// As the Go client orders them.
    #[test]
    fn reads_fields_that_come_last() {
        let header = r#"{"code":310,"language":"GO","version":317,"opaque":7,"flag":0,"remark":"","extFields":{"b":"T","batch":"x"}}"#;
        let command = decode(header.as_bytes()).unwrap();
        assert_eq!(command, read::general(header).unwrap());
        assert_eq!((command.language, command.field("batch")), (Language::GO, Some("x")));
    }

    #[test]
    fn leaves_other_forms_to_the_general_reader() {
        for other in [
            "",
            "{}",
            "{\"code\":10",
            "{\"code\":10}x",
            "{\"code\":-1}",
            "{\"code\":1.5}",
            "{\"code\":2147483648}",
            "{\"code\":}",
            "{\"code\":\"10\"}",
            "{ \"code\":10}",
            "{\"code\":10,\"remark\":null}",
            "{\"extFields\":null}",
            "{\"extFields\":{\"a\":1}}",
            "{\"extFields\":{\"a\\n\":\"1\"}}",
            "{\"x\":1}",
        ] {
            assert_eq!(decode(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        /// Whatever this reads, the general reader reads alike.
        #[test]
        fn agrees_with_the_general_reader(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a-z0-9\"\\\\{}:,u \u{e4}]{0,3}"), 0..4),
            broken in any::<prop::sample::Index>(),
        ) {
            let mut text = SEND.to_owned();
            for (from, to, new) in changes {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let (from, to) = (places[from.index(places.len())], places[to.index(places.len())]);
                // a little goes, or a little comes
                let to = if from <= to && to < from + 8 { to } else { from };
                text.replace_range(from..to, &new);
            }
            if let Some(command) = decode(text.as_bytes()) {
                prop_assert_eq!(Ok(command), read::general(&text), "{}", text);
            }
            // the same with a byte that is no UTF-8
            let mut bytes = text.into_bytes();
            let at = broken.index(bytes.len());
            bytes[at] |= 0x80;
            if let Some(command) = decode(&bytes) {
                prop_assert_eq!(Ok(command), read::general(&String::from_utf8_lossy(&bytes)), "{:?}", bytes);
            }
        }
    }
}
