//! The JSON header: one flat object that is read in place and written by hand.
//!
//! A general JSON parser would allocate for every key and value; this one appends texts straight
//! to [`Fields`].

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use super::DecodeError;
use crate::Fields;
use crate::command::{Body, Command, Language};

/// Deepest nesting that is skipped in fields nobody reads.
const MAX_DEPTH: usize = 64;

pub(super) fn decode(header: &[u8]) -> Result<Command, DecodeError> {
    let text = match std::str::from_utf8(header) {
        Ok(text) => Cow::Borrowed(text),
        // Java reads malformed UTF-8 as replacement characters.
        Err(_) => String::from_utf8_lossy(header),
    };
    Parser { text: &text, at: 0 }.command()
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
        let mut command = Command {
            code: 0,
            language: Language::JAVA,
            version: 0,
            opaque: 0,
            flag: 0,
            remark: None,
            fields: None,
            body: Body::default(),
        };
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
            Value::Null => Ok(None),
            Value::Object => {
                let mut fields = Fields::new();
                // What is left of the header is about what the fields need.
                fields.reserve(self.text.len() - self.at);
                self.members(|parser, key| {
                    parser.skip_blank();
                    if parser.peek() == Some(b'"') {
                        return fields.push_with(key, |out| parser.string_into(out));
                    }
                    match parser.value(false)? {
                        Value::Text(value) => fields.push(key, &value),
                        Value::Raw(value) => fields.push(key, value),
                        Value::Null | Value::Object => {}
                    }
                    Ok(())
                })?;
                Ok(Some(fields))
            }
            Value::Text(_) | Value::Raw(_) => Err(self.error("an object of fields")),
        }
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
            self.skip_blank();
            let key = self.string()?;
            self.skip_blank();
            self.expect(b':', "a colon")?;
            member(self, &key)?;
            self.skip_blank();
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',', "a comma or the end of the object")?;
        }
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
        let plain = self.plain()?;
        if self.take(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = plain.as_bytes().to_vec();
        self.unescape(&mut out)?;
        // Only whole characters were appended.
        Ok(Cow::Owned(String::from_utf8_lossy(&out).into_owned()))
    }

    /// Reads a text and appends it to `out`.
    fn string_into(&mut self, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.expect(b'"', "a text in quotes")?;
        out.extend_from_slice(self.plain()?.as_bytes());
        if self.take(b'"') { Ok(()) } else { self.unescape(out) }
    }

    /// The text from here to the next quote or backslash, which is left.
    fn plain(&mut self) -> Result<&'a str, DecodeError> {
        // Most texts are shorter than what calling a search costs.
        const SHORT: usize = 24;
        let is_end = |byte: &u8| *byte == b'"' || *byte == b'\\';
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        let near = bytes[..bytes.len().min(SHORT)].iter().position(is_end);
        let length = near.or_else(|| Some(memchr::memchr2(b'"', b'\\', bytes.get(SHORT..)?)? + SHORT));
        let length = length.ok_or_else(|| self.error("the end of a text"))?;
        self.at = start + length;
        Ok(&self.text[start..self.at])
    }

    /// Reads the rest of a text that has an escape at the current position, up to and with its end.
    fn unescape(&mut self, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        loop {
            if self.take(b'"') {
                return Ok(());
            }
            self.expect(b'\\', "an escape")?;
            let escape = self.peek().ok_or_else(|| self.error("an escape"))?;
            self.at += 1;
            let character = match escape {
                b'u' => self.unicode()?,
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'v' => '\u{b}',
                b'0' => '\0',
                b'x' => char::from_u32(self.hex(2)?).unwrap_or(char::REPLACEMENT_CHARACTER),
                b'"' | b'\\' | b'/' | b'\'' => char::from(escape),
                _ => {
                    self.at -= 1;
                    return Err(self.error("a known escape"));
                }
            };
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => out.push(byte),
                _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            out.extend_from_slice(self.plain()?.as_bytes());
        }
    }

    /// `\uXXXX`, and the second half of a surrogate pair where there is one.
    fn unicode(&mut self) -> Result<char, DecodeError> {
        let first = self.hex(4)?;
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex(4)?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self, digits: usize) -> Result<u32, DecodeError> {
        let bytes = self.text.as_bytes().get(self.at..self.at + digits);
        let number = bytes.and_then(|bytes| {
            bytes.iter().try_fold(0, |number, byte| Some(number << 4 | char::from(*byte).to_digit(16)?))
        });
        let number = number.ok_or_else(|| self.error("hexadecimal digits"))?;
        self.at += digits;
        Ok(number)
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

/// Writes the keys in the order in which the reference writes them.
pub(super) fn encode(command: &Command, out: &mut BytesMut) {
    out.put_slice(b"{\"code\":");
    put_integer(out, command.code);
    if let Some(fields) = &command.fields {
        out.put_slice(b",\"extFields\":{");
        for (i, (key, value)) in fields.iter().enumerate() {
            if i > 0 {
                out.put_u8(b',');
            }
            put_text(out, key);
            out.put_u8(b':');
            put_text(out, value);
        }
        out.put_u8(b'}');
    }
    out.put_slice(b",\"flag\":");
    put_integer(out, command.flag);
    if let Some(language) = command.language.name() {
        out.put_slice(b",\"language\":");
        put_text(out, language);
    }
    out.put_slice(b",\"opaque\":");
    put_integer(out, command.opaque);
    if let Some(remark) = &command.remark {
        out.put_slice(b",\"remark\":");
        put_text(out, remark);
    }
    out.put_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    put_integer(out, command.version);
    out.put_u8(b'}');
}

fn put_integer(out: &mut BytesMut, value: i32) {
    out.put_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn put_text(out: &mut BytesMut, text: &str) {
    out.put_u8(b'"');
    if text.bytes().fold(false, |any, byte| any | needs_escape(byte)) {
        put_escaped(out, text.as_bytes());
    } else {
        out.put_slice(text.as_bytes());
    }
    out.put_u8(b'"');
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn put_escaped(out: &mut BytesMut, mut rest: &[u8]) {
    while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
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
                out.put_slice(b"\\u00");
                out.put_u8(HEX[usize::from(control >> 4)]);
                out.put_u8(HEX[usize::from(control & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_the_reference_does() {
        let mut command = Command::response(crate::ResponseCode::TOPIC_NOT_EXIST).with_remark("no \"T\"\n\u{1}ä");
        command.opaque = 9;
        let mut out = BytesMut::new();
        encode(&command, &mut out);
        assert_eq!(
            std::str::from_utf8(&out).unwrap(),
            "{\"code\":17,\"flag\":1,\"language\":\"JAVA\",\"opaque\":9,\"remark\":\"no \\\"T\\\"\\n\\u0001ä\",\
             \"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}"
        );
    }

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
