//! The lenient reader: a recursive-descent parser that is a serde deserializer.

use std::borrow::Cow;
use std::str::FromStr;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{Error, text};

/// Deeper nesting than this is refused; the deepest body of the protocol has eight levels.
const MAX_DEPTH: u32 = 64;

pub(super) struct Parser<'de> {
    text: &'de str,
    at: usize,
    depth: u32,
}

impl<'de> Parser<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(error("text behind the end")),
        }
    }

    /// The next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Consumes `byte` if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A string, or the bare token of a number, a literal or an unquoted key.
    fn scalar(&mut self) -> Result<Cow<'de, str>, Error> {
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => {
                self.at += 1;
                self.string(quote)
            }
            Some(b'{' | b'[') => Err(error("an object or array where a single value belongs")),
            _ => self.token().map(Cow::Borrowed),
        }
    }

    fn token(&mut self) -> Result<&'de str, Error> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-._$@%".contains(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(error(if rest.is_empty() { "unexpected end" } else { "a value is missing" }));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// The rest of a string behind its opening quote.
    fn string(&mut self, quote: u8) -> Result<Cow<'de, str>, Error> {
        let mut copy = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = text::plain_length(rest.as_bytes(), quote) else {
                return Err(error("a string does not end"));
            };
            let part = &rest[..length];
            self.at += length + 1;
            if rest.as_bytes()[length] == quote {
                if copy.is_empty() {
                    return Ok(Cow::Borrowed(part));
                }
                copy.push_str(part);
                return Ok(Cow::Owned(copy));
            }
            copy.push_str(part);
            copy.push(self.escape()?);
        }
    }

    /// The character behind a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let (character, length) = text::unescape(&self.text.as_bytes()[self.at..]).map_err(error)?;
        self.at += length;
        Ok(character)
    }

    /// Consumes a null. A quoted "null" is a string.
    fn eat_null(&mut self) -> bool {
        self.peek();
        let rest = &self.text.as_bytes()[self.at..];
        let found = rest.starts_with(b"null") && !rest.get(4).is_some_and(u8::is_ascii_alphanumeric);
        self.at += if found { 4 } else { 0 };
        found
    }

    /// An integer, perhaps quoted or with a fraction, which is dropped; nothing and null are 0.
    fn integer(&mut self) -> Result<i64, Error> {
        let text = self.scalar()?;
        match text.trim() {
            "" | "null" | "false" => Ok(0),
            "true" => Ok(1),
            text => text.parse().or_else(|_| match number::<f64>(text) {
                Ok(real) if real.abs() < 9.2e18 => Ok(real as i64),
                _ => Err(error(format!("\"{}\" is not an integer", shortened(text)))),
            }),
        }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            return Err(error("nested too deeply"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.nested(|parser| visitor.visit_seq(Elements { parser, close: b']', first: true, done: false }))
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.nested(|parser| visitor.visit_map(Elements { parser, close: b'}', first: true, done: false }))
    }
}

/// A parser for text that came from a number or a literal.
fn number<T: FromStr>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| error(format!("\"{}\" is not a number", shortened(text))))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn error(what: impl Into<Cow<'static, str>>) -> Error {
    Error(what.into())
}

macro_rules! deserialize_integer {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_i64(self.integer()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Parser<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'"' | b'\'') => self.deserialize_str(visitor),
            _ => match self.token()? {
                "null" => visitor.visit_unit(),
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                text => match text.parse() {
                    Ok(integer) => visitor.visit_i64(integer),
                    Err(_) => visitor.visit_f64(number(text)?),
                },
            },
        }
    }

    deserialize_integer! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.scalar()?.trim() {
            "" | "null" => visitor.visit_f64(0.0),
            text => visitor.visit_f64(number(text)?),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.scalar()?;
        visitor.visit_bool(text.eq_ignore_ascii_case("true") || text == "1")
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.eat_null() {
            return visitor.visit_borrowed_str("");
        }
        match self.scalar()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.eat_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.eat_null() {
            return visitor.visit_seq(SeqDeserializer::new(std::iter::empty::<()>()));
        }
        if self.eat(b'[') { self.sequence(visitor) } else { Err(error("an array is expected")) }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.eat_null() {
            return visitor.visit_map(MapDeserializer::new(std::iter::empty::<((), ())>()));
        }
        if self.eat(b'{') { self.object(visitor) } else { Err(error("an object is expected")) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Takes any value, bare words included.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'{' | b'[') => self.deserialize_any(visitor),
            _ => self.scalar().and_then(|_| visitor.visit_unit()),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum
    }
}

/// The elements of an array or the entries of an object, behind the opening bracket.
struct Elements<'a, 'de> {
    parser: &'a mut Parser<'de>,
    close: u8,
    first: bool,
    done: bool,
}

impl Elements<'_, '_> {
    /// Moves to the next element; false behind the last one, with the closing bracket consumed.
    fn advance(&mut self) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let separated = std::mem::replace(&mut self.first, false) || self.parser.eat(b',');
        if self.parser.eat(self.close) {
            self.done = true;
            return Ok(false);
        }
        if separated { Ok(true) } else { Err(error("a comma or the end is expected")) }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.advance()? { seed.deserialize(&mut *self.parser).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.advance()? { seed.deserialize(&mut *self.parser).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        if self.parser.eat(b':') { seed.deserialize(&mut *self.parser) } else { Err(error("a colon is expected")) }
    }
}
