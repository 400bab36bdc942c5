//! Reading a JSON header.

use std::borrow::Cow;

use super::again;
use crate::Fields;
use crate::codec::DecodeError;
use crate::command::{Command, Language};
use crate::json::text;

/// Deepest nesting that is skipped in fields nobody reads.
const MAX_DEPTH: usize = 64;

pub(in crate::codec) fn decode(header: &[u8]) -> Result<Command, DecodeError> {
    match again::decode(header) {
        Some(command) => Ok(command),
        // Java reads malformed UTF-8 as replacement characters.
        None => general(&String::from_utf8_lossy(header)),
    }
}

/// Reads a header in any form.
pub(super) fn general(text: &str) -> Result<Command, DecodeError> {
    Parser { text, at: 0 }.command()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// A value as text. `Raw` is a number, `true`, `false`, or a nested array or object as it stands.
enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Raw(&'a str),
    /// Start of an object whose members the caller reads.
    Object,
}

impl<'a> Parser<'a> {
    fn command(&mut self) -> Result<Command, DecodeError> {
        let mut command = Command::blank();
        self.skip_blank();
        self.expect(b'{', "an object")?;
        self.members(|parser, key| {
            match key {
                "code" => command.code = parser.integer()?,
                "version" => command.version = parser.integer()?,
                "opaque" => command.opaque = parser.integer()?,
                "flag" => command.flag = parser.integer()?,
                "language" => {
                    command.language = parser.text()?.map_or(Language::UNKNOWN, |name| Language::from_name(&name));
                }
                "remark" => command.remark = parser.text()?.map(|text| Cow::Owned(text.into_owned())),
                "extFields" => command.fields = parser.fields()?,
                _ => parser.skip_value(0)?,
            }
            Ok(())
        })?;
        self.skip_blank();
        if self.at < self.text.len() {
            return Err(self.error("nothing behind the object"));
        }
        Ok(command)
    }

    fn fields(&mut self) -> Result<Option<Fields>, DecodeError> {
        match self.value(true)? {
            Value::Null => return Ok(None),
            Value::Object => {}
            Value::Text(_) | Value::Raw(_) => return Err(self.error("an object of fields")),
        }
        let mut fields = Fields::with_memory();
        self.skip_blank();
        if !self.take(b'}') {
            loop {
                self.pair(&mut fields)?;
                if self.is_last_member()? {
                    break;
                }
            }
        }
        Ok(Some(fields))
    }

    fn pair(&mut self, fields: &mut Fields) -> Result<(), DecodeError> {
        let key = self.key()?;
        match self.value(false)? {
            Value::Text(value) => fields.push(&key, &value),
            Value::Raw(value) => fields.push(&key, value),
            Value::Null | Value::Object => {}
        }
        Ok(())
    }

    /// Reads `"key":value` pairs up to the closing brace; the opening one is read already.
    fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.skip_blank();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, &key)?;
            if self.is_last_member()? {
                return Ok(());
            }
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        self.skip_blank();
        let key = self.string()?;
        self.skip_blank();
        self.expect(b':', "a colon")?;
        Ok(key)
    }

    /// Reads what stands behind a member: whether it is the end of the object.
    fn is_last_member(&mut self) -> Result<bool, DecodeError> {
        self.skip_blank();
        if self.take(b'}') {
            return Ok(true);
        }
        self.expect(b',', "a comma or the end of the object")?;
        Ok(false)
    }

    fn integer(&mut self) -> Result<i32, DecodeError> {
        match self.value(false)? {
            Value::Text(text) => text.parse().ok(),
            Value::Raw(text) => text.parse().ok(),
            Value::Null => Some(0),
            Value::Object => None,
        }
        .ok_or_else(|| self.error("a 32-bit integer"))
    }

    fn text(&mut self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        Ok(match self.value(false)? {
            Value::Text(text) => Some(text),
            Value::Raw(text) => Some(Cow::Borrowed(text)),
            Value::Null | Value::Object => None,
        })
    }

    /// Reads a value. With `open_object` an object is only entered.
    fn value(&mut self, open_object: bool) -> Result<Value<'a>, DecodeError> {
        self.skip_blank();
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'{') if open_object => {
                self.at += 1;
                Ok(Value::Object)
            }
            _ => {
                let start = self.at;
                self.skip_value(0)?;
                match &self.text[start..self.at] {
                    "null" => Ok(Value::Null),
                    raw => Ok(Value::Raw(raw)),
                }
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        self.expect(b'"', "a text in quotes")?;
        let plain = &self.text[self.at..self.skip_plain()?];
        if self.take(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        self.rest_of_string(&mut text)?;
        Ok(Cow::Owned(text))
    }

    /// Appends what is left of a text up to its closing quote, escapes resolved.
    fn rest_of_string(&mut self, out: &mut String) -> Result<(), DecodeError> {
        loop {
            out.push_str(&self.text[self.at..self.skip_plain()?]);
            if self.take(b'"') {
                return Ok(());
            }
            self.at += 1;
            out.push(self.escape()?);
        }
    }

    /// Goes on to the next quote or backslash and gives its place.
    #[inline]
    fn skip_plain(&mut self) -> Result<usize, DecodeError> {
        let length = text::plain_length(&self.text.as_bytes()[self.at..], b'"');
        self.at += length.ok_or_else(|| self.error("the end of a text"))?;
        Ok(self.at)
    }

    /// Reads what stands behind a backslash.
    fn escape(&mut self) -> Result<char, DecodeError> {
        let (character, length) = text::unescape(&self.text.as_bytes()[self.at..]).map_err(|what| self.error(what))?;
        self.at += length;
        Ok(character)
    }

    fn skip_value(&mut self, depth: usize) -> Result<(), DecodeError> {
        if depth > MAX_DEPTH {
            return Err(self.error("less nesting"));
        }
        self.skip_blank();
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => {
                self.at += 1;
                self.members(|parser, _| parser.skip_value(depth + 1))
            }
            Some(b'[') => {
                self.at += 1;
                self.skip_blank();
                if self.take(b']') {
                    return Ok(());
                }
                loop {
                    self.skip_value(depth + 1)?;
                    self.skip_blank();
                    if self.take(b']') {
                        return Ok(());
                    }
                    self.expect(b',', "a comma or the end of the array")?;
                }
            }
            _ => {
                let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
                let length = self.text.as_bytes()[self.at..].iter().take_while(|b| word(**b)).count();
                if length == 0 {
                    return Err(self.error("a value"));
                }
                self.at += length;
                Ok(())
            }
        }
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), DecodeError> {
        if self.take(byte) { Ok(()) } else { Err(self.error(what)) }
    }

    fn error(&self, what: &'static str) -> DecodeError {
        DecodeError::Header { at: self.at, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_any_order_blanks_escapes_and_strangers() {
        let header = r#" { "version":"401","x":[1,{"y":null},[]], "extFields" : {"a":1,"b":true,"c":null,"d":"\u00e4\ud83d\ude00\/","e":{"f":[1]},"g":""},
            "opaque":-5,"language":"KLINGON","flag":0,"code":105,"remark":""} "#;
        let command = decode(header.as_bytes()).unwrap();
        assert_eq!((command.code, command.version, command.opaque), (105, 401, -5));
        assert_eq!(command.language, Language::UNKNOWN);
        assert_eq!(command.remark.as_deref(), Some(""));
        let fields = [("a", "1"), ("b", "true"), ("d", "ä😀/"), ("e", "{\"f\":[1]}"), ("g", "")].into_iter().collect();
        assert_eq!(command.fields, Some(fields));
    }

    #[test]
    fn tells_absent_from_empty_fields() {
        assert_eq!(decode(b"{\"code\":1}").unwrap().fields, None);
        assert_eq!(decode(b"{\"code\":1,\"extFields\":null}").unwrap().fields, None);
        assert_eq!(decode(b"{\"code\":1,\"extFields\":{}}").unwrap().fields, Some(Fields::new()));
    }

    #[test]
    fn refuses_what_is_not_a_header() {
        for bad in [
            "",
            "[]",
            "{",
            "{\"code\"}",
            "{\"code\":}",
            "{\"code\":1.5}",
            "{\"code\":3000000000}",
            "{}x",
            "{\"extFields\":\"a\"}",
            "{\"a\":\"\\q\"}",
            "{\"a\":\"\\u12\"}",
        ] {
            assert!(decode(bad.as_bytes()).is_err(), "{bad}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(decode(deep.as_bytes()).is_err());
    }
}
