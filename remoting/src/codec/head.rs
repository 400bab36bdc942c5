//! Writing a frame's head: length word, header word, header.

use bytes::BytesMut;

use super::pieces::{Pieces, is_plain};
use super::{Serialization, binary, json};
use crate::command::Language;
use crate::header::FieldSink;

/// What a header says besides its fields.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) code: i32,
    pub(crate) language: Language,
    pub(crate) version: i32,
    pub(crate) opaque: i32,
    pub(crate) flag: i32,
    pub(crate) remark: Option<&'a str>,
    /// Whether there is a header class, be it without fields (trap 8).
    pub(crate) has_fields: bool,
}

/// A head being written at the end of a buffer; it takes the header's fields. One that is dropped and not finished
/// leaves nothing there.
pub(crate) struct HeadWriter<'a> {
    head: Head<'a>,
    pieces: Pieces<'a>,
    start: usize,
    form: Form,
    is_finished: bool,
}

enum Form {
    Json(json::Fields),
    Binary(binary::FieldsLength),
}

impl<'a> HeadWriter<'a> {
    pub(crate) fn begin(serialization: Serialization, head: Head<'a>, out: &'a mut BytesMut) -> Self {
        let start = out.len();
        let mut pieces = Pieces::new(out);
        pieces.put(&[0; WORDS]);
        let form = match serialization {
            Serialization::Json => Form::Json(json::begin(&head, &mut pieces)),
            Serialization::RocketMq => Form::Binary(binary::begin(&head, &mut pieces)),
        };
        Self { head, pieces, start, form, is_finished: false }
    }

    /// Takes one field with any key.
    pub(crate) fn put_any(&mut self, key: &str, value: &str) {
        match &mut self.form {
            Form::Json(fields) => fields.put_any(&mut self.pieces, key, value),
            Form::Binary(_) => binary::put(&mut self.pieces, key, value.as_bytes()),
        }
    }

    /// Ends the head of a frame whose body has so many bytes; they must follow.
    pub(crate) fn finish(mut self, body: usize) {
        let (out, number) = match &self.form {
            Form::Json(fields) => {
                fields.end(&self.head, &mut self.pieces);
                (self.pieces.pass_on(), Serialization::Json.number())
            }
            Form::Binary(length) => {
                let out = self.pieces.pass_on();
                length.end(out);
                (out, Serialization::RocketMq.number())
            }
        };
        let header = out.len() - self.start - WORDS;
        let content = (4 + header + body) as u32;
        let word = u32::from(number) << 24 | (header as u32 & 0x00FF_FFFF);
        let words = u64::from(content) << 32 | u64::from(word);
        out[self.start..self.start + WORDS].copy_from_slice(&words.to_be_bytes());
        self.is_finished = true;
    }
}

impl FieldSink for HeadWriter<'_> {
    #[inline]
    fn put(&mut self, key: &str, value: &str) {
        match &mut self.form {
            Form::Json(fields) => fields.put(&mut self.pieces, key, value),
            Form::Binary(_) => binary::put(&mut self.pieces, key, value.as_bytes()),
        }
    }

    #[inline]
    fn put_plain(&mut self, key: &str, value: &str) {
        self.put_plain_bytes(key, value.as_bytes());
    }

    #[inline]
    fn put_plain_bytes(&mut self, key: &str, value: &[u8]) {
        match &mut self.form {
            Form::Json(fields) => fields.put_plain(&mut self.pieces, key, value),
            Form::Binary(_) => binary::put(&mut self.pieces, key, value),
        }
    }

    #[inline]
    fn put_bytes(&mut self, key: &str, value: &[u8]) {
        match &mut self.form {
            Form::Json(fields) if is_plain(value) => fields.put_plain(&mut self.pieces, key, value),
            Form::Binary(_) if value.is_ascii() => binary::put(&mut self.pieces, key, value),
            _ => {
                if let Ok(text) = str::from_utf8(value) {
                    self.put(key, text);
                }
            }
        }
    }
}

impl Drop for HeadWriter<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.pieces.forget(self.start);
        }
    }
}

/// Length word and header word.
const WORDS: usize = 8;
