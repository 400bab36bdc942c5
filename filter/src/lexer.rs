//! Splits an expression into tokens, one at a time: what stands behind the end of an expression is not looked at.

use crate::parser::{ParseError, Problem};

/// A token; texts borrow from the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    And,
    Between,
    Contains,
    EndsWith,
    False,
    In,
    Is,
    Not,
    Null,
    Or,
    StartsWith,
    True,
    /// Name of a property.
    Name(&'a str),
    /// Digits, without the L that may follow.
    Integer(&'a str),
    /// A number with a point or an exponent.
    Decimal(&'a str),
    /// What stands between quotes, where `''` still means one quote.
    Text(&'a str),
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    End,
}

/// Words that are no names, in any case.
const KEYWORDS: [(&str, Token<'static>); 12] = [
    ("AND", Token::And),
    ("BETWEEN", Token::Between),
    ("CONTAINS", Token::Contains),
    ("ENDSWITH", Token::EndsWith),
    ("FALSE", Token::False),
    ("IN", Token::In),
    ("IS", Token::Is),
    ("NOT", Token::Not),
    ("NULL", Token::Null),
    ("OR", Token::Or),
    ("STARTSWITH", Token::StartsWith),
    ("TRUE", Token::True),
];

pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Where the last token ended, in bytes.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next token; [`Token::End`] for ever at the end.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip();
        let rest = self.rest();
        let Some(first) = rest.bytes().next() else {
            return Ok(Token::End);
        };
        let (token, length) = match first {
            b'=' => (Token::Equal, 1),
            b'<' if rest.starts_with("<>") => (Token::NotEqual, 2),
            b'<' if rest.starts_with("<=") => (Token::LessOrEqual, 2),
            b'<' => (Token::Less, 1),
            b'>' if rest.starts_with(">=") => (Token::GreaterOrEqual, 2),
            b'>' => (Token::Greater, 1),
            b'(' => (Token::Open, 1),
            b')' => (Token::Close, 1),
            b',' => (Token::Comma, 1),
            b'+' => (Token::Plus, 1),
            b'-' => (Token::Minus, 1),
            b'\'' => quoted(rest).ok_or_else(|| self.no_token())?,
            b'.' | b'0'..=b'9' => number(rest).ok_or_else(|| self.no_token())?,
            first if is_name_start(first) => word(rest),
            _ => return Err(self.no_token()),
        };
        self.at += length;
        Ok(token)
    }

    /// Passes over white space and comments. What begins like a comment and does not end is none: it is left to be read
    /// as tokens.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let length = match rest.as_bytes() {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0C, ..] => Some(1),
                [b'-', b'-', ..] => rest.find(['\n', '\r']).map(|end| end + 1),
                [b'/', b'*', ..] => rest[2..].find("*/").map(|end| end + 4),
                _ => None,
            };
            match length {
                Some(length) => self.at += length,
                None => return,
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn no_token(&self) -> ParseError {
        ParseError { problem: Problem::NoToken(self.rest().chars().next().unwrap_or_default()), position: self.at }
    }
}

/// The longest text in quotes. A quote is doubled inside; at an odd one the text ends.
fn quoted(rest: &str) -> Option<(Token<'_>, usize)> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    // A doubled quote that no other follows ends the text with its first half.
    let mut end = None;
    while let Some(found) = rest[at..].find('\'') {
        let quote = at + found;
        end = Some(quote);
        if bytes.get(quote + 1) != Some(&b'\'') {
            break;
        }
        at = quote + 2;
    }
    end.map(|end| (Token::Text(&rest[1..end]), end + 1))
}

/// The longest number. A lone point is none.
fn number(rest: &str) -> Option<(Token<'_>, usize)> {
    let bytes = rest.as_bytes();
    let whole = digits(bytes);
    let mut end = whole;
    let mut is_decimal = false;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits(&bytes[whole + 1..]);
        if whole + fraction > 0 {
            is_decimal = true;
            end = whole + 1 + fraction;
        }
    }
    if end == 0 {
        return None;
    }
    if let Some(exponent) = exponent(&bytes[end..]) {
        is_decimal = true;
        end += exponent;
    }
    if is_decimal {
        return Some((Token::Decimal(&rest[..end]), end));
    }
    // A number that begins with 0 is over.
    if bytes[0] == b'0' {
        return Some((Token::Integer("0"), 1));
    }
    let suffix = usize::from(matches!(bytes.get(end), Some(b'l' | b'L')));
    Some((Token::Integer(&rest[..end]), end + suffix))
}

/// Length of an exponent: E, a sign or none, digits.
fn exponent(bytes: &[u8]) -> Option<usize> {
    let [b'e' | b'E', after @ ..] = bytes else { return None };
    let sign = usize::from(matches!(after.first(), Some(b'+' | b'-')));
    let digits = digits(&after[sign..]);
    (digits > 0).then_some(1 + sign + digits)
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn word(rest: &str) -> (Token<'_>, usize) {
    let length = rest.bytes().take_while(|byte| is_name_start(*byte) || byte.is_ascii_digit()).count();
    let word = &rest[..length];
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word));
    (keyword.map_or(Token::Name(word), |(_, token)| *token), length)
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().unwrap() {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn numbers_are_as_long_as_they_can_be() {
        use Token::{Decimal, Integer, Name};
        assert_eq!(
            tokens("5 5L 5. .5 5e3"),
            [Integer("5"), Integer("5"), Decimal("5."), Decimal(".5"), Decimal("5e3")]
        );
        assert_eq!(tokens("007"), [Integer("0"), Integer("0"), Integer("7")]);
        assert_eq!(tokens("00.5"), [Decimal("00.5")]);
        assert_eq!(tokens("5e+x"), [Integer("5"), Name("e"), Token::Plus, Name("x")]);
        assert_eq!(tokens("0L1.5.5"), [Integer("0"), Name("L1"), Decimal(".5"), Decimal(".5")]);
    }

    #[test]
    fn a_comment_has_an_end() {
        assert_eq!(tokens("a--b\nc/**/d/* * / **/"), [Token::Name("a"), Token::Name("c"), Token::Name("d")]);
        assert_eq!(tokens("a--b"), [Token::Name("a"), Token::Minus, Token::Minus, Token::Name("b")]);
        let mut lexer = Lexer::new("a /* b");
        assert_eq!(lexer.next().unwrap(), Token::Name("a"));
        assert_eq!(lexer.next().unwrap_err().problem, Problem::NoToken('/'));
    }

    #[test]
    fn a_text_goes_as_far_as_a_quote_closes_it() {
        assert_eq!(tokens("'a''b' ''''"), [Token::Text("a''b"), Token::Text("''")]);
        let mut lexer = Lexer::new("'a'' ");
        assert_eq!(lexer.next().unwrap(), Token::Text("a"));
        assert_eq!(lexer.next().unwrap_err().problem, Problem::NoToken('\''));
    }
}
