//! The writer: a serde serializer into a byte vector.
//!
//! Map keys go through the same serializer as values, which is all it takes to leave integers
//! unquoted and write objects as keys.

use serde::ser::{Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use super::Error;
use super::text::put_escaped;

/// The three ways the reference writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Integer keys unquoted.
    Dialect,
    /// Integer keys quoted, and integers beyond what a double holds exactly.
    Standard,
    /// As `Dialect`, indented.
    Pretty,
}

pub(super) struct Writer {
    out: Vec<u8>,
    form: Form,
    /// Open brackets.
    depth: usize,
    /// What the last value was.
    last: Last,
    in_key: bool,
    /// Inside `Some`.
    some: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A null of the reference, whose property is left out.
    Null,
    Number,
    Other,
}

impl Writer {
    pub(super) fn new(form: Form, depth: usize) -> Self {
        Self { out: Vec::with_capacity(256), form, depth, last: Last::Other, in_key: false, some: false }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn value(&mut self, last: Last, text: &[u8]) {
        self.out.extend_from_slice(text);
        self.last = last;
    }

    fn break_line(&mut self) {
        if self.form == Form::Pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + self.depth, b'\t');
        }
    }

    fn open(&mut self, bracket: u8) -> Compound<'_> {
        self.out.push(bracket);
        self.depth += 1;
        self.some = false;
        Compound { outer_key: std::mem::take(&mut self.in_key), writer: self, empty: true, lines: false }
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        put_escaped(&mut self.out, text);
        self.out.push(b'"');
        self.last = if text.is_empty() && !self.some { Last::Null } else { Last::Other };
    }
}

/// An open array or object.
pub(super) struct Compound<'a> {
    writer: &'a mut Writer,
    empty: bool,
    /// Whether elements stand on lines of their own.
    lines: bool,
    /// Whether this whole object is a map's key.
    outer_key: bool,
}

impl Compound<'_> {
    fn key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        if !self.empty {
            self.writer.out.push(b',');
        }
        self.writer.break_line();
        self.writer.in_key = true;
        key.serialize(&mut *self.writer)?;
        self.writer.in_key = false;
        Ok(())
    }

    fn close(self, bracket: u8) {
        self.writer.depth -= 1;
        if self.lines {
            self.writer.break_line();
        }
        self.writer.in_key = self.outer_key;
        self.writer.value(Last::Other, &[bracket]);
    }
}

impl SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        if !self.empty {
            self.writer.out.push(b',');
        }
        self.empty = false;
        let before = self.writer.out.len();
        self.writer.break_line();
        let after = self.writer.out.len();
        value.serialize(&mut *self.writer)?;
        if self.writer.last == Last::Number {
            self.writer.out.drain(before..after);
        } else {
            self.lines = true;
        }
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        self.close(b']');
        Ok(())
    }
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)?;
        self.writer.out.push(b':');
        self.empty = false;
        self.lines = true;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close(b'}');
        Ok(())
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        let before = self.writer.out.len();
        self.key(key)?;
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)?;
        if self.writer.last == Last::Null {
            self.writer.out.truncate(before);
        } else {
            self.empty = false;
            self.lines = true;
        }
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        self.close(b'}');
        Ok(())
    }
}

/// Integers of this size and above are quoted for readers that hold numbers in doubles.
const EXACT_IN_A_DOUBLE: u64 = 1 << 53;

macro_rules! integers {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            let standard = self.form == Form::Standard;
            let quoted = standard && (self.in_key || i128::from(value).unsigned_abs() > EXACT_IN_A_DOUBLE.into());
            let mut buffer = itoa::Buffer::new();
            let text = buffer.format(value);
            if quoted {
                self.string(text);
            } else {
                self.value(Last::Number, text.as_bytes());
            }
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    integers! {
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.value(Last::Other, if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    /// As Java's `Double.toString`: always a decimal point, an exponent outside [10⁻³, 10⁷).
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        let size = value.abs();
        if !value.is_finite() {
            self.value(Last::Null, b"null");
        } else if size == 0.0 || (1e-3..1e7).contains(&size) {
            self.value(Last::Number, format!("{value:?}").as_bytes());
        } else {
            let text = format!("{value:E}");
            let text = if text.contains('.') { text } else { text.replace('E', ".0E") };
            self.value(Last::Number, text.as_bytes());
        }
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.value(Last::Null, b"null");
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        let outer = std::mem::replace(&mut self.some, true);
        let result = value.serialize(&mut *self);
        self.some = outer;
        result
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'{'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'{'))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(unsupported())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Error> {
        Err(unsupported())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(unsupported())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unsupported())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unsupported())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unsupported())
    }
}

/// Tuples, raw bytes and enumerations with content have no form in this protocol.
fn unsupported() -> Error {
    Error("no body has a value of this kind".into())
}
