//! The ROCKETMQ header layout (constants, section 11), all integers big endian:
//!
//! | code 2 | language 1 | version 2 | opaque 4 | flag 4 | remark length 4 + bytes | fields length 4 + (key length 2 + key, value length 4 + value)* |
//!
//! Codes and versions beyond 16 bits do not fit and are cut, as the reference cuts them (trap 2).

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use super::DecodeError;
use crate::Fields;
use crate::command::{Body, Command, Language};

pub(super) fn decode(header: &[u8]) -> Result<Command, DecodeError> {
    let mut reader = Reader { bytes: header, at: 0 };
    let code = i32::from(i16::from_be_bytes(reader.array("code")?));
    let [language] = reader.array("language")?;
    let version = i32::from(i16::from_be_bytes(reader.array("version")?));
    let opaque = i32::from_be_bytes(reader.array("opaque")?);
    let flag = i32::from_be_bytes(reader.array("flag")?);
    let remark_length = reader.length("remark length")?;
    let remark = reader.slice(remark_length, "remark")?;
    let remark = (!remark.is_empty()).then(|| Cow::Owned(String::from_utf8_lossy(remark).into_owned()));
    let fields_length = reader.length("fields length")?;
    let fields = reader.slice(fields_length, "fields")?;
    let fields = if fields.is_empty() { None } else { Some(decode_fields(fields, reader.at - fields_length)?) };
    let language = if Language(language).name().is_some() { Language(language) } else { Language::UNKNOWN };
    Ok(Command { code, language, version, opaque, flag, remark, fields, body: Body::default() })
}

fn decode_fields(bytes: &[u8], start: usize) -> Result<Fields, DecodeError> {
    let mut fields = Fields::with_capacity(bytes.len());
    let mut reader = Reader { bytes, at: 0 };
    let mut read = || -> Result<(), DecodeError> {
        while reader.at < bytes.len() {
            let key_length = u16::from_be_bytes(reader.array("field key length")?);
            let key = reader.slice(key_length.into(), "field key")?;
            let value_length = reader.length("field value length")?;
            let value = reader.slice(value_length, "field value")?;
            // The reference reads a text without bytes as null and keeps no such entry.
            if !key.is_empty() && !value.is_empty() {
                match (str::from_utf8(key), str::from_utf8(value)) {
                    (Ok(key), Ok(value)) => fields.push(key, value),
                    // Java reads malformed UTF-8 as replacement characters.
                    _ => fields.push(&String::from_utf8_lossy(key), &String::from_utf8_lossy(value)),
                }
            }
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok(fields),
        Err(DecodeError::Header { at, what }) => Err(DecodeError::Header { at: start + at, what }),
        Err(other) => Err(other),
    }
}

pub(super) fn encode(command: &Command, out: &mut BytesMut) {
    out.put_i16(command.code as i16);
    out.put_u8(command.language.0);
    out.put_i16(command.version as i16);
    out.put_i32(command.opaque);
    out.put_i32(command.flag);
    let remark = command.remark.as_deref().unwrap_or_default();
    out.put_u32(remark.len() as u32);
    out.put_slice(remark.as_bytes());
    let length_at = out.len();
    out.put_u32(0);
    for (key, value) in command.fields.iter().flatten() {
        let Ok(key_length) = u16::try_from(key.len()) else { continue };
        out.put_u16(key_length);
        out.put_slice(key.as_bytes());
        out.put_u32(value.len() as u32);
        out.put_slice(value.as_bytes());
    }
    let fields_length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&fields_length.to_be_bytes());
}

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
    fn a_cut_header_names_the_part_that_is_short() {
        for cut in 0..HEADER.len() {
            assert!(decode(&HEADER[..cut]).is_err(), "{cut}");
        }
        assert_eq!(decode(&HEADER[..20]), Err(DecodeError::Header { at: 18, what: "fields length" }));
    }

    #[test]
    fn a_code_beyond_16_bits_is_cut() {
        let mut out = BytesMut::new();
        encode(&Command::request(crate::RequestCode::POP_MESSAGE), &mut out);
        assert_eq!(decode(&out).unwrap().code, 3442);
    }
}
