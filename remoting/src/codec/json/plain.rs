//! Reading a JSON header in the form in which clients write nearly all of them: no blanks, the known keys, texts as
//! fields, whole numbers without a sign. What is written in any other way is left to the general reader, so that
//! this one has nothing to say of errors.

use std::borrow::Cow;

use crate::command::{Command, Language};
use crate::fields::{Fields, Span};
use crate::json::text;

/// The command of a header; `None` for one that is written in another way, or is none.
pub(super) fn decode(text: &str) -> Option<Command> {
    let mut scanner = Scanner { text, at: 0 };
    let mut command = Command::blank();
    scanner.word(b"{\"")?;
    loop {
        match scanner.peek()? {
            b'c' => command.code = scanner.named_integer(b"code\":")?,
            b'e' => command.fields = Some(scanner.fields()?),
            b'f' => command.flag = scanner.named_integer(b"flag\":")?,
            b'l' => command.language = Language::from_name(scanner.named_text(b"language\":\"")?),
            b'o' => command.opaque = scanner.named_integer(b"opaque\":")?,
            b'r' => command.remark = Some(Cow::Owned(scanner.named_text(b"remark\":\"")?.to_owned())),
            b's' => drop(scanner.named_text(b"serializeTypeCurrentRPC\":\"")?),
            b'v' => command.version = scanner.named_integer(b"version\":")?,
            _ => return None,
        }
        if scanner.word(b",\"").is_none() {
            scanner.word(b"}")?;
            return (scanner.at == text.len()).then_some(command);
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    #[inline]
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
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
        let (start, end) = self.plain()?;
        self.word(b"\"")?;
        self.text.get(start..end)
    }

    /// Goes to the next quote or backslash; gives where this was and where it is.
    #[inline]
    fn plain(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        self.at += text::plain_length(self.rest(), b'"')?;
        Some((start, self.at))
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

    fn fields(&mut self) -> Option<Fields> {
        self.word(b"extFields\":{")?;
        let mut fields = Fields::of_header(self.text);
        if self.word(b"}").is_some() {
            return Some(fields);
        }
        self.word(b"\"")?;
        loop {
            let key = self.field_key()?;
            let (start, end) = self.plain()?;
            let value = if self.peek()? == b'"' {
                Span::between(start, end)
            } else {
                self.at = start;
                fields.resolve(|out| self.escaped(out).ok_or(())).ok()?
            };
            fields.add(key, value);
            let next = self.eight();
            if next & THREE == NEXT_FIELD {
                self.at += 3;
            } else if next & TWO == LAST_FIELD {
                self.at += 2;
                return Some(fields);
            } else {
                return None;
            }
        }
    }

    /// Reads a key, from behind its opening quote to behind the opening quote of its value.
    #[inline]
    fn field_key(&mut self) -> Option<Span> {
        let start = self.at;
        let next = self.eight();
        // Nearly all keys of a send are letters.
        let length = if next >> 8 & THREE == BETWEEN && !matches!(next as u8, b'"' | b'\\') {
            1
        } else {
            let length = text::plain_length(self.rest(), b'"')?;
            self.at += length;
            if self.eight() & THREE != BETWEEN {
                return None;
            }
            self.at -= length;
            length
        };
        self.at += length + 3;
        Some(Span::new(start, length))
    }

    /// Appends a text, escapes resolved, and goes to its closing quote.
    fn escaped(&mut self, out: &mut String) -> Option<()> {
        loop {
            let (start, end) = self.plain()?;
            out.push_str(self.text.get(start..end)?);
            if self.peek()? == b'"' {
                return Some(());
            }
            // the separators of properties, above all
            if let Some([b'\\', b'u', b'0', b'0', b'0', digit @ b'0'..=b'9']) = self.rest().first_chunk() {
                out.push(char::from(digit - b'0'));
                self.at += 6;
                continue;
            }
            // behind the backslash
            let (character, length) = text::unescape(self.text.get(self.at + 1..)?).ok()?;
            out.push(character);
            self.at += 1 + length;
        }
    }
}

const TWO: u64 = 0xFFFF;
const THREE: u64 = 0xFF_FFFF;
/// What stands between key and value, between two fields, and behind the last one.
const BETWEEN: u64 = u64::from_le_bytes(*b"\":\"\0\0\0\0\0");
const NEXT_FIELD: u64 = u64::from_le_bytes(*b"\",\"\0\0\0\0\0");
const LAST_FIELD: u64 = u64::from_le_bytes(*b"\"}\0\0\0\0\0\0");

/// Digits of a number that fit 64 bits many times over.
const MOST_DIGITS: usize = 11;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read;
    use super::*;

    const SEND: &str = r#"{"code":310,"extFields":{"a":"g","b":"T\u00e4","i":"UNIQ_KEY\u0001A\u0002WAIT\u0001true\u0002","m":"false"},"flag":0,"language":"JAVA","opaque":2147483647,"remark":"","serializeTypeCurrentRPC":"JSON","version":513}"#;

    #[test]
    fn reads_a_send_as_the_general_reader_does() {
        let command = decode(SEND).unwrap();
        assert_eq!(command, read::general(SEND).unwrap());
        assert_eq!(command.field("i"), Some("UNIQ_KEY\u{1}A\u{2}WAIT\u{1}true\u{2}"));
        assert_eq!((command.code, command.opaque, command.field("b")), (310, i32::MAX, Some("Tä")));
    }

    /// As the Go client orders them.
    #[test]
    fn reads_fields_that_come_last() {
        let header = r#"{"code":310,"language":"GO","version":317,"opaque":7,"flag":0,"remark":"","extFields":{"b":"T","batch":"x"}}"#;
        let command = decode(header).unwrap();
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
            assert_eq!(decode(other), None, "{other}");
        }
    }

    proptest! {
        /// Whatever this reads, the general reader reads alike.
        #[test]
        fn agrees_with_the_general_reader(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a-z0-9\"\\\\{}:,u \u{e4}]{0,3}"), 0..4),
        ) {
            let mut text = SEND.to_owned();
            for (from, to, new) in changes {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let (from, to) = (places[from.index(places.len())], places[to.index(places.len())]);
                // a little goes, or a little comes
                let to = if from <= to && to < from + 8 { to } else { from };
                text.replace_range(from..to, &new);
            }
            if let Some(command) = decode(&text) {
                prop_assert_eq!(Ok(command), read::general(&text), "{}", text);
            }
        }
    }
}
