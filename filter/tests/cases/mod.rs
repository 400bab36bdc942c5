//! Cases of the comparison with the reference, as lines of text: a verdict, an expression, and one column for the
//! properties of each message, separated by tabs.
//!
//! A verdict is `X` for an expression that is rejected, else a letter for each message: `T`, `F`, `N` (neither) or `E`
//! (an error). In the other columns what is no plain character is `\u` and four hexadecimal digits of UTF-16.

use std::collections::BTreeMap;

use apogee_filter::Expression;

pub struct Case {
    pub expression: String,
    pub messages: Vec<BTreeMap<String, String>>,
}

impl Case {
    /// Reads a line that begins with a verdict.
    pub fn read(line: &str) -> (&str, Self) {
        let mut columns = line.split('\t');
        let verdict = columns.next().unwrap_or_default();
        let expression = decoded(columns.next().unwrap_or_default());
        let messages = columns.map(|column| {
            column.split(';').filter_map(|pair| pair.split_once('=')).map(|(n, v)| (decoded(n), decoded(v))).collect()
        });
        (verdict, Self { expression, messages: messages.collect() })
    }

    /// What we say of it.
    pub fn verdict(&self) -> String {
        let Ok(expression) = Expression::parse(&self.expression) else {
            return "X".to_owned();
        };
        let letter = |message| match expression.evaluate(message) {
            Ok(Some(true)) => 'T',
            Ok(Some(false)) => 'F',
            Ok(None) => 'N',
            Err(_) => 'E',
        };
        self.messages.iter().map(letter).collect()
    }
}

/// Lines in which the verdict is not ours, as text for people.
pub fn differences<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let (verdict, case) = Case::read(line);
        let ours = case.verdict();
        if ours != verdict {
            found.push(format!("ours {ours}, reference {verdict}: {:?} {:?}", case.expression, case.messages));
        }
    }
    found
}

pub fn decoded(column: &str) -> String {
    let mut units = Vec::with_capacity(column.len());
    let mut rest = column;
    while let Some(first) = rest.chars().next() {
        let code = rest.strip_prefix("\\u").and_then(|code| code.get(..4));
        if let Some(unit) = code.and_then(|code| u16::from_str_radix(code, 16).ok()) {
            units.push(unit);
            rest = &rest[6..];
        } else {
            units.extend(first.encode_utf16(&mut [0; 2]).iter());
            rest = &rest[first.len_utf8()..];
        }
    }
    String::from_utf16_lossy(&units)
}
