//! The ROCKETMQ header layout (constants, section 11), all integers big endian:
//!
//! | code 2 | language 1 | version 2 | opaque 4 | flag 4 | remark length 4 + bytes | fields length 4 + (key length 2 + key, value length 4 + value)* |
//!
//! Codes and versions beyond 16 bits do not fit and are cut, as the reference cuts them (trap 2).

use std::borrow::Cow;

use bytes::BytesMut;

use super::DecodeError;
use super::head::Head;
use super::pieces::Pieces;
use crate::Fields;
use crate::command::{Body, Command, Language};
use crate::fields::{Pair, Span};

pub(super) fn decode(header: &[u8]) -> Result<Command, DecodeError> {
    let Some(numbers) = header.first_chunk::<NUMBERS>() else { return Err(cut(header)) };
    let two = |at: usize| i32::from(i16::from_be_bytes([numbers[at], numbers[at + 1]]));
    let four = |at: usize| two(at) << 16 | two(at + 2) & 0xFFFF;
    let (code, language, version, opaque, flag) = (two(0), numbers[2], two(3), four(5), four(9));
    let mut reader = Reader { bytes: header, at: NUMBERS };
    let remark_length = reader.length("remark length")?;
    let remark = reader.slice(remark_length, "remark")?;
    let remark = (!remark.is_empty()).then(|| Cow::Owned(String::from_utf8_lossy(remark).into_owned()));
    let fields_length = reader.length("fields length")?;
    let fields = reader.slice(fields_length, "fields")?;
    let fields = if fields.is_empty() { None } else { Some(decode_fields(fields, reader.at - fields_length)?) };
    let language = if Language(language).name().is_some() { Language(language) } else { Language::UNKNOWN };
    Ok(Command { code, language, version, opaque, flag, remark, fields, body: Body::default() })
}

/// The error for a header that ends within its numbers.
#[cold]
fn cut(header: &[u8]) -> DecodeError {
    let parts = [(0, "code"), (2, "language"), (3, "version"), (5, "opaque"), (9, "flag"), (NUMBERS, "")];
    let (at, what) = parts.windows(2).find(|next| header.len() < next[1].0).map_or((0, "code"), |next| next[0]);
    DecodeError::Header { at, what }
}

fn decode_fields(bytes: &[u8], start: usize) -> Result<Fields, DecodeError> {
    let mut is_whole = false;
    let plain = Fields::of_bytes(|text, pairs| {
        text.extend_from_slice(bytes);
        is_whole = find_fields(text, pairs).is_some();
    });
    match plain {
        Some(fields) if is_whole => Ok(fields),
        _ => decode_strange(bytes, start),
    }
}

/// Finds the fields in a copy of them. What is no text, which are the lengths, becomes ASCII. `None` where a field is cut.
#[inline]
fn find_fields(text: &mut [u8], pairs: &mut Vec<Pair>) -> Option<()> {
    let mut at = 0;
    while at < text.len() {
        let (key_length, value_length) = if let Some([0, 1, _, a, b, c, d, _]) = text[at..].first_chunk() {
            // names of one letter, as those of sends
            (1, u32::from_be_bytes([*a, *b, *c, *d]))
        } else {
            let key_length = u16::from_be_bytes(*text[at..].first_chunk()?);
            let behind = at + KEY_LENGTH + usize::from(key_length);
            (key_length, u32::from_be_bytes(*text.get(behind..)?.first_chunk()?))
        };
        let key = Span::new(at + KEY_LENGTH, key_length.into());
        // What is negative in Java does not fit here.
        let value = Span::new(key.end() + VALUE_LENGTH, usize::try_from(value_length).ok()?);
        if u32::from(key_length) & 0x8080 | value_length & 0x8080_8080 != 0 {
            text[at..at + KEY_LENGTH].fill(0);
            text[key.end()..key.end() + VALUE_LENGTH].fill(0);
        }
        at = value.end();
        if key_length > 0 && value_length > 0 {
            pairs.push(Pair { key, value });
        }
    }
    (at == text.len()).then_some(())
}

/// Fields that are not all UTF-8, which Java reads as replacement characters; or that are cut.
#[cold]
fn decode_strange(bytes: &[u8], start: usize) -> Result<Fields, DecodeError> {
    let mut fields = Fields::with_memory();
    for_each_field(bytes, start, |key, value| {
        // The reference reads a text without bytes as null and keeps no such entry.
        if !key.is_empty() && !value.is_empty() {
            fields.push(&String::from_utf8_lossy(key), &String::from_utf8_lossy(value));
        }
    })?;
    Ok(fields)
}

/// Gives key and value of each field to `take`. `start` is where the fields begin in the header.
fn for_each_field(bytes: &[u8], start: usize, mut take: impl FnMut(&[u8], &[u8])) -> Result<(), DecodeError> {
    let mut reader = Reader { bytes, at: 0 };
    let mut read = || -> Result<(), DecodeError> {
        while reader.at < bytes.len() {
            let key_length = u16::from_be_bytes(reader.array("field key length")?);
            let key = reader.slice(key_length.into(), "field key")?;
            let value_length = reader.length("field value length")?;
            let value = reader.slice(value_length, "field value")?;
            take(key, value);
        }
        Ok(())
    };
    read().map_err(|error| match error {
        DecodeError::Header { at, what } => DecodeError::Header { at: start + at, what },
        other => other,
    })
}

/// Where the length of the fields stands, which is known behind them.
pub(super) struct FieldsLength(usize);

pub(super) fn begin(head: &Head<'_>, out: &mut Pieces<'_>) -> FieldsLength {
    let remark = head.remark.unwrap_or_default();
    out.put_all([
        &(head.code as i16).to_be_bytes(),
        &[head.language.0],
        &(head.version as i16).to_be_bytes(),
        &head.opaque.to_be_bytes(),
        &head.flag.to_be_bytes(),
        &(remark.len() as u32).to_be_bytes(),
    ]);
    out.put_slice(remark.as_bytes());
    let place = out.place();
    out.put(&[0; 4]);
    FieldsLength(place)
}

#[inline]
pub(super) fn put(out: &mut Pieces<'_>, key: &str, value: &[u8]) {
    let Ok(key_length) = u16::try_from(key.len()) else { return };
    out.put_all([&key_length.to_be_bytes(), key.as_bytes(), &(value.len() as u32).to_be_bytes(), value]);
}

impl FieldsLength {
    /// Fills the length in, with all fields in the buffer.
    pub(super) fn end(&self, out: &mut BytesMut) {
        let length = (out.len() - self.0 - 4) as u32;
        out[self.0..self.0 + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Bytes of the numbers at the beginning.
const NUMBERS: usize = 13;
/// Bytes of the lengths of a field.
const KEY_LENGTH: usize = 2;
const VALUE_LENGTH: usize = 4;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn slice(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let slice = rest.get(..length).ok_or(DecodeError::Header { at: self.at, what })?;
        self.at += length;
        Ok(slice)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let at = self.at;
        self.slice(N, what)?.first_chunk().copied().ok_or(DecodeError::Header { at, what })
    }

    fn length(&mut self, what: &'static str) -> Result<usize, DecodeError> {
        let at = self.at;
        let length = i32::from_be_bytes(self.array(what)?);
        usize::try_from(length).map_err(|_| DecodeError::Header { at, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] =
        b"\0\x0a\x09\x01\x91\0\0\0\x07\0\0\0\x02\0\0\0\x01r\0\0\0\x11\0\x01a\0\0\0\x01b\0\x02ab\0\0\0\x01c";

    #[test]
    fn reads_every_part() {
        let command = decode(HEADER).unwrap();
        assert_eq!((command.code, command.language, command.version), (10, Language::GO, 401));
        assert_eq!((command.opaque, command.flag, command.remark.as_deref()), (7, 2, Some("r")));
        assert_eq!(command.fields, Some([("a", "b"), ("ab", "c")].into_iter().collect()));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_lengths_are_no_part_of_them() {
        let header = |fields: &[u8]| [&HEADER[..13], &[0; 4], &(fields.len() as u32).to_be_bytes(), fields].concat();
        // a length whose last byte and the value's first would be a character
        let long = [&b"\0\x01a\0\0\0\xc3"[..], &[0xa9], &[b'x'; 0xc2]].concat();
        let value = "\u{fffd}".to_owned() + &"x".repeat(0xc2);
        assert_eq!(decode(&header(&long)).unwrap().field("a"), Some(value.as_str()));
        let long = [&b"\0\x01a\0\0\0\xc3"[..], &[b'x'; 0xc3]].concat();
        assert_eq!(decode(&header(&long)).unwrap().field("a"), Some("x".repeat(0xc3).as_str()));
        let empty = decode(&header(b"\0\0\0\0\0\x01x\0\x01a\0\0\0\0\0\x01b\0\0\0\x01\xff")).unwrap();
        assert_eq!(empty.fields, Some([("b", "\u{fffd}")].into_iter().collect()));
        assert!(decode(&header(b"\0\x01a\xff\xff\xff\xff")).is_err());
    }

    #[test]
    fn a_cut_header_names_the_part_that_is_short() {
        for cut in 0..HEADER.len() {
            assert!(decode(&HEADER[..cut]).is_err(), "{cut}");
        }
        for (length, at, what) in [(0, 0, "code"), (2, 2, "language"), (4, 3, "version"), (12, 9, "flag")] {
            assert_eq!(decode(&HEADER[..length]), Err(DecodeError::Header { at, what }));
        }
        assert_eq!(decode(&HEADER[..14]), Err(DecodeError::Header { at: 13, what: "remark length" }));
        assert_eq!(decode(&HEADER[..20]), Err(DecodeError::Header { at: 18, what: "fields length" }));
    }

    /// The halves of a character, as the end of a key and as the start of its value, are a character only together.
    #[test]
    fn malformed_text_is_replaced_in_its_own_field() {
        let fields = decode_fields(b"\0\x02a\xC3\0\0\0\x02\xA4b\0\x01c\0\0\0\x01d", 0).unwrap();
        assert_eq!(fields, [("a\u{FFFD}", "\u{FFFD}b"), ("c", "d")].into_iter().collect());
        // the length of a key that has no value, as the other half
        let mut bytes = b"\0\x01a\0\0\0\x01\xC3\xA4\0".to_vec();
        bytes.resize(bytes.len() + 0xA400 + 4, 0);
        assert_eq!(decode_fields(&bytes, 0).unwrap(), [("a", "\u{FFFD}")].into_iter().collect());
    }

    #[test]
    fn a_code_beyond_16_bits_is_cut() {
        let frame = Command::request(crate::RequestCode::POP_MESSAGE).encode(crate::Serialization::RocketMq);
        assert_eq!(decode(&frame[8..]).unwrap().code, 3442);
    }
}
