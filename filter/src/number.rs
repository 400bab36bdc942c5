//! Numbers as Java reads them out of text: what `Integer.valueOf`, `Long.valueOf` and `Double.valueOf` accept.

/// A whole number of 32 bits.
pub(crate) fn int(text: &str) -> Option<i32> {
    long(text)?.try_into().ok()
}

/// A whole number of 64 bits: digits of any script with one behind the other, behind a sign or none.
pub(crate) fn long(text: &str) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    // Towards the negative, which reaches one further.
    let mut value = 0_i64;
    for character in digits.chars() {
        value = value.checked_mul(10)?.checked_sub(digit(character)?)?;
    }
    if is_negative { Some(value) } else { value.checked_neg() }
}

/// A floating-point number of 64 bits, in decimal or hexadecimal notation, between blanks, with a type suffix or none.
pub(crate) fn double(text: &str) -> Option<f64> {
    let trimmed = text.trim_matches(|character| character <= ' ');
    let (is_negative, unsigned) = sign(trimmed);
    let value = match unsigned.as_bytes() {
        b"NaN" => return Some(f64::NAN),
        b"Infinity" => f64::INFINITY,
        [b'0', b'x' | b'X', ..] => hexadecimal(without_suffix(&unsigned[2..]))?,
        _ => decimal(without_suffix(unsigned))?,
    };
    Some(if is_negative { -value } else { value })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn digit(character: char) -> Option<i64> {
    let code = character as u32;
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    (code < zero + 10).then_some(i64::from(code - zero))
}

fn without_suffix(text: &str) -> &str {
    text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text)
}

fn decimal(text: &str) -> Option<f64> {
    // The words that Rust knows for infinity and NaN are others.
    let is_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let has_sign = text.starts_with(['+', '-']);
    if is_number && !has_sign { text.parse().ok() } else { None }
}

/// Reads what follows `0x`: digits with a point or none, and a power of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut significand = 0_u64;
    // Binary exponent of the significand's last bit.
    let mut exponent = power_of_two(power)?;
    for (index, character) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(character.to_digit(16)?);
        let is_fraction = index >= whole.len();
        if significand >> 60 == 0 {
            significand = significand << 4 | digit;
            exponent -= if is_fraction { 4 } else { 0 };
        } else {
            // Too far back to count, but not for the direction of rounding.
            significand |= u64::from(digit != 0);
            exponent += if is_fraction { 0 } else { 4 };
        }
    }
    Some(scale(significand, exponent))
}

/// The power, kept within what numbers in memory can balance.
fn power_of_two(text: &str) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let power = digits.bytes().fold(0_i64, |power, byte| (power * 10 + i64::from(byte - b'0')).min(FARTHEST_POWER));
    Some(if is_negative { -power } else { power })
}

/// `significand * 2^exponent`, rounded to the nearest, and to the even one of two.
fn scale(significand: u64, exponent: i64) -> f64 {
    if significand == 0 {
        return 0.0;
    }
    let shift = significand.leading_zeros();
    // The value is in [2^top, 2^(top + 1)).
    let top = exponent - i64::from(shift) + 63;
    if top > MAX_EXPONENT {
        return f64::INFINITY;
    }
    if top < MIN_EXPONENT - 53 {
        return 0.0;
    }
    let significand = significand << shift;
    let missing = (MIN_EXPONENT - top).max(0);
    let dropped = 11 + missing as u32;
    let kept = significand.checked_shr(dropped).unwrap_or(0);
    let rest = u128::from(significand) - (u128::from(kept) << dropped);
    let half = 1_u128 << (dropped - 1);
    let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
    // A significand of 53 bits carries one into the exponent; rounding up may carry another.
    let biased = if missing > 0 { 0 } else { (top - MIN_EXPONENT) as u64 };
    f64::from_bits((biased << 52) + rounded)
}

/// Exponent of the largest numbers.
const MAX_EXPONENT: i64 = 1023;
/// Exponent of the smallest numbers that have all their bits.
const MIN_EXPONENT: i64 = -1022;
/// Beyond it a power leads out of what a number can be, whatever digits a text can hold.
const FARTHEST_POWER: i64 = 1 << 40;
/// The digits 0 of all scripts below U+10000, where Java looks for them (Unicode 13); the other nine follow each.
const ZEROS: [u32; 37] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!(int("+2147483647"), Some(i32::MAX));
        assert_eq!(int("-2147483648"), Some(i32::MIN));
        assert_eq!(int("2147483648"), None);
        assert_eq!(long("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(long("9223372036854775808"), None);
        assert_eq!(long("0000000000000000000000000000007"), Some(7));
        assert_eq!(int("٣५"), Some(35));
        for none in ["", "+", "-", "--1", " 1", "1 ", "1L", "0x1", "1_0", "𝟏"] {
            assert_eq!(long(none), None, "{none:?}");
        }
    }

    #[test]
    fn decimal_notation() {
        assert_eq!(double(" \t1.5e1\u{1}"), Some(15.0));
        assert_eq!(double("-1.D"), Some(-1.0));
        assert_eq!(double("+.5f"), Some(0.5));
        assert_eq!(double("1e999999999999999999999"), Some(f64::INFINITY));
        assert!(double("-NaN").unwrap().is_nan());
        assert_eq!(double("-Infinity"), Some(f64::NEG_INFINITY));
        for none in ["", " ", ".", "e1", "1e", "1e+", "+-1", "1ff", "inf", "nan", "infinity", "1_0", "٣", "NaNf", "1L"]
        {
            assert_eq!(double(none), None, "{none:?}");
        }
    }

    #[test]
    fn hexadecimal_notation() {
        assert_eq!(double("0x1p0"), Some(1.0));
        assert_eq!(double("-0X.8P+1d"), Some(-1.0));
        assert_eq!(double("0xap-1"), Some(5.0));
        assert_eq!(double("0x1.fffffffffffff7p0"), Some(1.999_999_999_999_999_8));
        assert_eq!(double("0x1.fffffffffffff8p0"), Some(2.0));
        assert_eq!(double("0x1.00000000000008p0"), Some(1.0));
        assert_eq!(double("0x1.000000000000080000000001p0"), Some(1.000_000_000_000_000_2));
        assert_eq!(double("0x1p-1074"), Some(f64::from_bits(1)));
        assert_eq!(double("0x1p-1075"), Some(0.0));
        assert_eq!(double("0x1.1p-1075"), Some(f64::from_bits(1)));
        assert_eq!(double("0x1p-1080"), Some(0.0));
        assert_eq!(double("0x0.fffffffffffff8p-1022"), Some(f64::MIN_POSITIVE));
        assert_eq!(double("0x1p1024"), Some(f64::INFINITY));
        assert_eq!(double("0x1p99999999999999999999999"), Some(f64::INFINITY));
        assert_eq!(double("0x100000000000000000001p0"), Some(1_208_925_819_614_629_174_706_177.0));
        for none in ["0x", "0x1", "0x.p1", "0xp1", "0x1p", "0x1p+", "0x1.2.3p1", "0xgp1", "0x-1p1", "0x1p1٣"] {
            assert_eq!(double(none), None, "{none:?}");
        }
    }
}
