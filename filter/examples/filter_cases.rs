//! Makes up cases for the comparison with the reference (`compat-tests/filter/run`): `filter_cases SEED COUNT`.
//!
//! Expressions follow the grammar, with the notations and types that are easily confused in all places; one in four is
//! spoiled a little afterwards, so that it is valid no more, or by chance.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use fastrand::Rng;

fn main() -> io::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [seed, count] = arguments[..] else {
        eprintln!("usage: filter_cases SEED COUNT");
        std::process::exit(2);
    };
    let mut random = Rng::with_seed(seed);
    let mut output = io::BufWriter::new(io::stdout().lock());
    for _ in 0..count {
        writeln!(output, "{}", line(&mut random))?;
    }
    output.flush()
}

fn line(random: &mut Rng) -> String {
    let mut line = encoded(&expression(random));
    for _ in 0..MESSAGES {
        line.push('\t');
        line.push_str(&message(random));
    }
    line
}

fn expression(random: &mut Rng) -> String {
    let mut tokens = Vec::new();
    let depth = random.usize(0..5);
    or(random, depth, &mut tokens);
    if random.usize(0..4) == 0 {
        spoil(random, &mut tokens);
    }
    let mut text = String::new();
    for token in tokens {
        if !text.is_empty() || random.usize(0..20) == 0 {
            text.push_str(if random.usize(0..8) > 0 { " " } else { one(random, SPACES) });
        }
        text.push_str(&token);
    }
    if random.usize(0..30) == 0 {
        let at = (0..=text.len()).rev().find(|at| text.is_char_boundary(*at) && random.bool()).unwrap_or(0);
        text.insert_str(at, one(random, ODD));
    }
    text
}

/// Takes out, doubles, exchanges or adds a token.
fn spoil(random: &mut Rng, tokens: &mut Vec<String>) {
    let at = random.usize(0..tokens.len());
    match random.usize(0..5) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[at].clone()),
        2 => {
            let other = random.usize(0..tokens.len());
            tokens.swap(at, other);
        }
        3 => tokens.insert(at, one(random, TOKENS).to_owned()),
        _ => tokens.push(one(random, TOKENS).to_owned()),
    }
}

fn or(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    and(random, depth, tokens);
    while random.usize(0..5) == 0 {
        keyword(random, "or", tokens);
        and(random, depth, tokens);
    }
}

fn and(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    equality(random, depth, tokens);
    while random.usize(0..5) == 0 {
        keyword(random, "and", tokens);
        equality(random, depth, tokens);
    }
}

fn equality(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    match random.usize(0..10) {
        0..=4 => comparison(random, depth, tokens),
        5 | 6 => {
            operand(random, depth, tokens);
            null_test(random, tokens);
        }
        _ => {
            equal_operand(random, depth, tokens);
            tokens.push(one(random, &["=", "=", "<>"]).to_owned());
            equal_operand(random, depth, tokens);
        }
    }
    if random.usize(0..25) == 0 {
        null_test(random, tokens);
    }
}

fn equal_operand(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    match random.usize(0..12) {
        0..=2 => tokens.push(quoted(one(random, TEXTS))),
        3 => comparison(random, depth, tokens),
        _ => operand(random, depth, tokens),
    }
}

fn null_test(random: &mut Rng, tokens: &mut Vec<String>) {
    keyword(random, "is", tokens);
    if random.bool() {
        keyword(random, "not", tokens);
    }
    keyword(random, "null", tokens);
}

fn comparison(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    match random.usize(0..12) {
        0..=2 => unary(random, depth, tokens),
        3..=6 => {
            operand(random, depth, tokens);
            tokens.push(one(random, &["<", "<=", ">", ">="]).to_owned());
            operand(random, depth, tokens);
        }
        7 | 8 => {
            operand(random, depth, tokens);
            maybe_not(random, tokens);
            keyword(random, "between", tokens);
            operand(random, depth, tokens);
            keyword(random, "and", tokens);
            operand(random, depth, tokens);
        }
        9 | 10 => {
            operand(random, depth, tokens);
            maybe_not(random, tokens);
            let test = one(random, &["contains", "startswith", "endswith"]);
            keyword(random, test, tokens);
            tokens.push(quoted(one(random, TEXTS)));
        }
        _ => {
            // Nothing but a property may stand on the left.
            if random.usize(0..10) > 0 {
                tokens.push(one(random, &NAMES).to_owned());
            } else {
                operand(random, depth, tokens);
            }
            maybe_not(random, tokens);
            keyword(random, "in", tokens);
            list(random, tokens);
        }
    }
    if random.usize(0..40) == 0 {
        tokens.push(one(random, &["<", ">="]).to_owned());
        operand(random, depth, tokens);
    }
}

fn maybe_not(random: &mut Rng, tokens: &mut Vec<String>) {
    if random.usize(0..3) == 0 {
        keyword(random, "not", tokens);
    }
}

fn list(random: &mut Rng, tokens: &mut Vec<String>) {
    tokens.push("(".to_owned());
    for index in 0..random.usize(1..7) {
        if index > 0 {
            tokens.push(",".to_owned());
        }
        tokens.push(quoted(one(random, TEXTS)));
    }
    tokens.push(")".to_owned());
}

/// What an operator takes, as a rule.
fn operand(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    match random.usize(0..16) {
        0 => unary(random, depth, tokens),
        1..=5 => {
            if random.usize(0..4) == 0 {
                tokens.push(one(random, &["-", "-", "+"]).to_owned());
            }
            tokens.push(one(random, NUMBERS).to_owned());
        }
        _ => tokens.push(one(random, &NAMES).to_owned()),
    }
}

/// Anything, with a sign, NOT or parentheses or without.
fn unary(random: &mut Rng, depth: usize, tokens: &mut Vec<String>) {
    match random.usize(0..16) {
        0 => {
            tokens.push(one(random, &["+", "-", "-"]).to_owned());
            unary(random, depth, tokens);
        }
        1..=3 => {
            keyword(random, "not", tokens);
            unary(random, depth, tokens);
        }
        4..=10 if depth > 0 => {
            tokens.push("(".to_owned());
            or(random, depth - 1, tokens);
            tokens.push(")".to_owned());
        }
        11 => tokens.push(quoted(one(random, TEXTS))),
        12 => tokens.push(one(random, NUMBERS).to_owned()),
        13 => tokens.push(one(random, &NAMES).to_owned()),
        _ => {
            let constant = one(random, &["true", "false", "null"]);
            keyword(random, constant, tokens);
        }
    }
}

fn keyword(random: &mut Rng, word: &str, tokens: &mut Vec<String>) {
    tokens.push(match random.usize(0..6) {
        0 => word.to_owned(),
        1 => word.chars().map(|letter| if random.bool() { letter.to_ascii_uppercase() } else { letter }).collect(),
        _ => word.to_uppercase(),
    });
}

fn message(random: &mut Rng) -> String {
    let mut message = String::new();
    for name in NAMES {
        if random.usize(0..3) > 0 {
            let separator = if message.is_empty() { "" } else { ";" };
            let value = if random.bool() { one(random, VALUES) } else { one(random, TEXTS) };
            let value = if value.is_empty() { "0" } else { value };
            let _ = write!(message, "{separator}{}={}", encoded(name), encoded(value));
        }
    }
    message
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') if !b"\\;=".contains(&byte) => {
                encoded.push(char::from(byte));
            }
            _ => drop(write!(encoded, "\\u{unit:04x}")),
        }
    }
    encoded
}

fn one<'a>(random: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[random.usize(0..choices.len())]
}

/// Messages of each case.
const MESSAGES: usize = 4;
/// Properties, in expressions and messages alike.
const NAMES: [&str; 9] = ["a", "b", "c", "A", "_x", "$y", "TAGS", "in1", "notNull"];
#[rustfmt::skip] // one on each line would be a page
const SPACES: &[&str] = &[
    "", "", "\t", "\n", "\r\n", "\u{c}", "/**/", "/* '*/", "/***/", " --x\n", "--'\r", "/*é\u{1f600}*/",
];
#[rustfmt::skip] // one on each line would be a page
const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "5", "5", "7", "10", "12", "1L", "5l", "10L", "2147483647", "2147483648", "4294967296",
    "9223372036854775807", "9223372036854775808", "99999999999999999999", "00", "01", "0L", "5.", "5.0", ".5", "0.5",
    "5e0", "5E+1", "50e-1", "1.5e3", "0.0", "1e400", "1e-400", "4.9e-324", "1.7976931348623157e308", "2147483648.0",
    "9007199254740993.",
];
#[rustfmt::skip] // one on each line would be a page
const TEXTS: &[&str] = &[
    "", "a", "b", "ab", "abc", "true", "TRUE", "false", "5", "5.0", "it's", "''", "é", "\u{1f600}", "a\nb", "--",
    "/*", "x y",
];
/// Values of properties: numbers as Java reads them, and what is almost one.
#[rustfmt::skip] // one on each line would be a page
const VALUES: &[&str] = &[
    "0", "-0", "+0", "1", "2", "3", "5", "05", "+5", "-5", "7", "10", "12", "5L", "2147483647", "2147483648",
    "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "5.0", "5.",
    ".5", "-.5", "5e0", "5E1", "50e-1", "5f", "5.0D", "5dd", "0.0", "-0.0", "1e400", "-1e400", "1e-400", "4.9e-324",
    "2.4e-324", "NaN", "-NaN", "+NaN", "nan", "Infinity", "-Infinity", "inf", " 5", "5 ", "\t5\u{1}", " 5 5", "", "-",
    "+", "+-5", "٥", "５", "𝟓", "5_0", "0x5p0", "-0X.8P+3f", "0x1.fffffffffffff8p0", "0x5", "9007199254740993",
];
/// What a token may be replaced with or followed by.
#[rustfmt::skip] // one on each line would be a page
const TOKENS: &[&str] = &[
    "(", ")", ",", "=", "<>", "<", "<=", ">", ">=", "+", "-", "NOT", "AND", "OR", "IS", "NULL", "IS NULL", "IN",
    "BETWEEN", "CONTAINS", "STARTSWITH", "TRUE", "a", "5", ".5", "'a'", "'", "''", "--", "-- x", "/*", "*", ".",
    "LIKE",
];
/// What is put somewhere into the text.
#[rustfmt::skip] // one on each line would be a page
const ODD: &[&str] = &[
    "'", "''", ";", "#", "!", "\"", "\\", "/", "*/", "--", "é", "\u{212a}", "\u{17f}", "\u{a0}", "\u{1f600}", "\u{0}",
    "\u{b}", ".", "e", "_",
];
