//! Java's `.properties` format: read with line numbers, written so that the reference reads the same.
//!
//! A line is `key=value`; `:` or blanks separate as well, blanks around the separator do not count. `#` and `!` begin a
//! comment line. A line whose end is an odd number of backslashes goes on in the next one, whose leading blanks are
//! dropped. `\t`, `\n`, `\r`, `\f` and `\uXXXX` are escapes; a backslash before anything else is dropped.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The key, never blank-padded; may be empty when the line begins with a separator.
    pub key: String,
    /// The value; trailing blanks of the line belong to it.
    pub value: String,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// Why a file could not be read as properties.
#[derive(Debug, thiserror::Error)]
pub enum PropertiesError {
    /// The file itself could not be read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not of the format.
    #[error("{}: {source}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line and its fault.
        source: SyntaxError,
    },
}

/// A line that is not of the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct SyntaxError {
    /// The line the entry begins on, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: String,
}

/// Reads a file.
pub fn read_file(file: &Path) -> Result<Vec<Property>, PropertiesError> {
    let bytes = std::fs::read(file).map_err(|source| PropertiesError::Read { file: file.to_owned(), source })?;
    parse(&bytes).map_err(|source| PropertiesError::Syntax { file: file.to_owned(), source })
}

/// Reads the bytes of a file or of a request: UTF-8 where they are valid UTF-8, else ISO-8859-1 as the format's
/// definition says. Entries are in the order of their lines; a key may come more than once (the last one counts).
pub fn parse(bytes: &[u8]) -> Result<Vec<Property>, SyntaxError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let mut properties = Vec::new();
    let mut lines = natural_lines(text.strip_prefix('\u{feff}').unwrap_or(&text)).into_iter().enumerate();
    while let Some((index, natural)) = lines.next() {
        let start = natural.trim_start_matches(is_blank);
        if start.is_empty() || start.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = start.to_owned();
        while ends_in_continuation(&logical) {
            logical.pop();
            let Some((_, next)) = lines.next() else { break };
            let next = next.trim_start_matches(is_blank);
            if logical.is_empty() && next.starts_with(['#', '!']) {
                break;
            }
            logical.push_str(next);
        }
        if logical.is_empty() {
            continue;
        }
        properties.push(parse_line(&logical, index + 1)?);
    }
    Ok(properties)
}

/// Writes entries as the reference does, one `key=value` line each, in the given order. Characters that would be read
/// as something else (backslashes, line ends, separators in keys, anything outside ASCII) are escaped, so that reading
/// gives back what was written.
pub fn write<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (key, value) in entries {
        escape(key, true, &mut text);
        text.push('=');
        escape(value, false, &mut text);
        text.push('\n');
    }
    text
}

fn natural_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        lines.push(&rest[..end]);
        let crlf = rest[end..].starts_with("\r\n");
        rest = &rest[end + if crlf { 2 } else { 1 }..];
    }
    lines.push(rest);
    lines
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

fn ends_in_continuation(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn parse_line(logical: &str, line: usize) -> Result<Property, SyntaxError> {
    if logical.contains('\0') {
        return Err(SyntaxError { line, fault: "a NUL byte; this is no text".to_owned() });
    }
    let key_end = key_end(logical);
    let (key, rest) = logical.split_at(key_end);
    let rest = rest.trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank);
    let unescaped = |text| unescape(text).map_err(|fault| SyntaxError { line, fault });
    Ok(Property { key: unescaped(key)?, value: unescaped(value)?, line })
}

/// Where the key ends: at the first separator that no backslash precedes.
fn key_end(logical: &str) -> usize {
    let mut escaped = false;
    for (index, c) in logical.char_indices() {
        if !escaped && (is_blank(c) || c == '=' || c == ':') {
            return index;
        }
        escaped = c == '\\' && !escaped;
    }
    logical.len()
}

fn unescape(text: &str) -> Result<String, String> {
    let mut units = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('u') => {
                    units.push(unicode_escape(&mut chars)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    String::from_utf16(&units).map_err(|_| "a \\uXXXX escape that is half of a character".to_owned())
}

fn unicode_escape(chars: &mut std::str::Chars<'_>) -> Result<u16, String> {
    let digits: String = chars.take(4).collect();
    if digits.len() == 4
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        && let Ok(unit) = u16::from_str_radix(&digits, 16)
    {
        return Ok(unit);
    }
    Err(format!("\\u{digits} is not \\u and four hexadecimal digits"))
}

fn escape(text: &str, is_key: bool, out: &mut String) {
    let mut buffer = [0; 2];
    for (index, c) in text.char_indices() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            ' ' if is_key || index == 0 => out.push_str("\\ "),
            '=' | ':' if is_key => {
                out.push('\\');
                out.push(c);
            }
            '#' | '!' if is_key && index == 0 => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut buffer) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text.as_bytes()).unwrap().into_iter().map(|property| (property.key, property.value)).collect()
    }

    fn pair(text: &str) -> (String, String) {
        let mut all = pairs(text);
        assert_eq!(all.len(), 1, "{text:?}");
        all.remove(0)
    }

    #[test]
    fn separators_and_blanks() {
        for text in ["key=value", "key:value", "key value", " key = value", "\tkey\t:\tvalue", "key   value"] {
            assert_eq!(pair(text), ("key".into(), "value".into()), "{text:?}");
        }
        assert_eq!(pair("key=value "), ("key".into(), "value ".into()));
        assert_eq!(pair("key==value"), ("key".into(), "=value".into()));
        assert_eq!(pair("key"), ("key".into(), String::new()));
        assert_eq!(pair("=value"), (String::new(), "value".into()));
        assert_eq!(pair("a\\=b\\:c\\ d=e"), ("a=b:c d".into(), "e".into()));
        assert_eq!(pair("addr=127.0.0.1:9876;h:1"), ("addr".into(), "127.0.0.1:9876;h:1".into()));
    }

    #[test]
    fn comments_and_line_numbers() {
        let found = parse(b"# one\r\n! two=2\n\n  # three\na=1\rb=2#no comment\n").unwrap();
        let lines: Vec<_> = found.iter().map(|p| (p.key.as_str(), p.value.as_str(), p.line)).collect();
        assert_eq!(lines, [("a", "1", 5), ("b", "2#no comment", 6)]);
    }

    #[test]
    fn continuation_lines() {
        assert_eq!(pairs("a=1,\\\n   2,\\\r\n\t3\nb=4"), [("a".into(), "1,2,3".into()), ("b".into(), "4".into())]);
        assert_eq!(pair("a=1\\\\"), ("a".into(), "1\\".into()));
        assert_eq!(pair("a=1\\"), ("a".into(), "1".into()));
        assert_eq!(pair("a=1\\\n#2"), ("a".into(), "1#2".into()));
        assert_eq!(pairs("\\\n# c\n\\\n\na=1"), [("a".into(), "1".into())]);
        let found = parse(b"a=1\\\n2\nb=3").unwrap();
        assert_eq!(found[1].line, 3);
    }

    #[test]
    fn escapes() {
        assert_eq!(pair(r"a=\t\n\r\f\q\u0041\u00e9\ud83d\ude00"), ("a".into(), "\t\n\r\u{c}qAé😀".into()));
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error("x=1\na=\\u12"), "line 2: \\u12 is not \\u and four hexadecimal digits");
        assert_eq!(error("a=\\u12g4"), "line 1: \\u12g4 is not \\u and four hexadecimal digits");
        assert_eq!(error("a=\\ud83d"), "line 1: a \\uXXXX escape that is half of a character");
        assert_eq!(error("a=1\nb\0=1"), "line 2: a NUL byte; this is no text");
    }

    #[test]
    fn utf_8_and_latin_1() {
        assert_eq!(pair("a=é"), ("a".into(), "é".into()));
        assert_eq!(parse(b"a=\xe9").unwrap()[0].value, "é");
        assert_eq!(pair("\u{feff}a=b"), ("a".into(), "b".into()));
    }

    #[test]
    fn plain_text_is_written_as_the_reference_writes_it() {
        let text = write([("namesrvAddr", "127.0.0.1:9876;b:1"), ("messageDelayLevel", "1s 5s"), ("empty", "")]);
        assert_eq!(text, "namesrvAddr=127.0.0.1:9876;b:1\nmessageDelayLevel=1s 5s\nempty=\n");
        assert_eq!(write([("a b", " c\\d\ne=é")]), "a\\ b=\\ c\\\\d\\ne=\\u00E9\n");
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let error = read_file(Path::new("/nowhere/b.conf")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/b.conf: "), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.conf");
        std::fs::write(&file, "a=\\u1").unwrap();
        let error = read_file(&file).unwrap_err().to_string();
        assert!(error.ends_with("b.conf: line 1: \\u1 is not \\u and four hexadecimal digits"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(entries in prop::collection::vec((any::<String>(), any::<String>()), 0..8)) {
            let text = write(entries.iter().map(|(key, value)| (key.as_str(), value.as_str())));
            prop_assert!(text.is_ascii());
            prop_assert_eq!(pairs(&text), entries);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
