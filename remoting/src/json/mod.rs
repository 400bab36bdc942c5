//! The reference's JSON dialect, reading and writing.
//!
//! It departs from standard JSON in its map keys: integers stand unquoted (`{0:"…"}`), and a message
//! queue as key is a bare object (`{{"brokerName":…}:…}`). Written properties are in alphabetical
//! order with nulls left out: body structures declare their fields in that order, and
//! [`to_vec`] leaves out the property of a `None` and of an empty plain `String`, which stands for
//! the reference's null (`Some("")` is written).
//!
//! Reading is as lenient as the reference: numbers and booleans may be quoted, strings may stand in
//! single quotes, keys without quotes, a comma may trail, null gives the type's zero value, unknown
//! properties are passed over.

mod read;
pub(crate) mod text;
mod write;

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use self::read::Parser;
use self::write::{Form, Writer};

/// Why a text could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("malformed JSON at byte {at}: {what}")]
pub struct JsonError {
    /// How far the reader came, in bytes.
    pub at: usize,
    /// What was wrong there.
    pub what: String,
}

/// Reads a body. Bytes that are not UTF-8 become U+FFFD, as Java reads them.
///
/// # Errors
/// The text is malformed, nested deeper than 64 levels, or does not fit the type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    from_str(&String::from_utf8_lossy(bytes))
}

/// Reads a text.
///
/// # Errors
/// As [`from_slice`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    let mut parser = Parser::new(text);
    T::deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| JsonError { at: parser.position(), what: error.0.into_owned() })
}

/// Writes a body the way the reference does by default.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    write(value, Form::Dialect, 0)
}

/// Writes standard JSON: integer keys quoted. Maps of our types are sorted already (trap 4).
pub fn to_vec_standard<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    write(value, Form::Standard, 0)
}

/// Writes the form of the files under `store/config`: indented by tabs, no line break at the end, arrays
/// of numbers on one line (constants, section 10).
pub fn to_vec_pretty<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    write(value, Form::Pretty, 0)
}

/// The same for a value that stands within this many brackets of a text that is put together.
pub fn to_vec_pretty_within<T: Serialize + ?Sized>(value: &T, depth: usize) -> Vec<u8> {
    write(value, Form::Pretty, depth)
}

fn write<T: Serialize + ?Sized>(value: &T, form: Form, depth: usize) -> Vec<u8> {
    let mut writer = Writer::new(form, depth);
    value.serialize(&mut writer).expect("writing into memory fails only for types no body uses (see `write.rs`)");
    writer.into_bytes()
}

/// The error while one of the two runs; the position is added at the end.
#[derive(Debug)]
struct Error(Cow<'static, str>);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

impl serde::ser::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

#[cfg(test)]
mod tests;
