//! Typed headers: one mechanism that maps the fields of a command to a structure and back.
//!
//! ```
//! use apogee_remoting::{Command, RequestCode, header};
//!
//! header! {
//!     /// Asks for the committed offset of a queue.
//!     pub struct QueryOffset<'a> {
//!         /// The topic.
//!         pub topic: &'a str = "topic",
//!         /// The queue.
//!         pub queue_id: i32 = "queueId",
//!         /// Whether to answer 0 for an unknown group.
//!         pub set_zero: Option<bool> = "setZeroIfNotFound",
//!     }
//! }
//!
//! let command = Command::request(RequestCode::QUERY_CONSUMER_OFFSET)
//!     .with_header(&QueryOffset { topic: "T", queue_id: 3, set_zero: None });
//! assert_eq!(command.field("queueId"), Some("3"));
//! assert_eq!(command.header::<QueryOffset>().unwrap().topic, "T");
//! ```
//!
//! A plain type is required; `Option` is not; `#[default(…)]` behind a plain type gives the value
//! used when the field is absent.

use thiserror::Error;

use crate::{Fields, word};

/// Reads a typed header out of the fields of a command. Unknown fields are ignored.
pub trait DecodeHeader<'a>: Sized {
    /// # Errors
    /// A required field is missing or a value does not parse.
    fn decode(fields: &'a Fields) -> Result<Self, HeaderError>;
}

/// Writes a typed header as fields. Absent options are left out.
pub trait EncodeHeader {
    /// Appends this header's fields.
    fn encode(&self, fields: &mut impl FieldSink);
}

/// No fields.
impl EncodeHeader for () {
    fn encode(&self, _: &mut impl FieldSink) {}
}

/// Two headers in one.
impl<A: EncodeHeader, B: EncodeHeader> EncodeHeader for (A, B) {
    fn encode(&self, fields: &mut impl FieldSink) {
        self.0.encode(fields);
        self.1.encode(fields);
    }
}

/// What takes the fields of a header: [`Fields`], or a header that is being written.
pub trait FieldSink {
    /// Takes one field. The caller sees to it that it comes once. The key is a name of the protocol, which stands in JSON as
    /// it is.
    fn put(&mut self, key: &str, value: &str);

    /// The same for a value that stands in JSON as it is, such as a number.
    fn put_plain(&mut self, key: &str, value: &str) {
        self.put(key, value);
    }

    /// The same for bytes of ASCII that stand in JSON as they are, such as hexadecimal digits.
    fn put_plain_bytes(&mut self, key: &str, value: &[u8]) {
        self.put_bytes(key, value);
    }

    /// The same for text of which nobody has looked whether it is UTF-8, nearly always ASCII; other bytes are left out.
    fn put_bytes(&mut self, key: &str, value: &[u8]) {
        if let Ok(text) = str::from_utf8(value) {
            self.put(key, text);
        }
    }
}

/// Why a header could not be read. The text is what the peer gets as remark of a SYSTEM_ERROR.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// A required field is absent.
    #[error("the custom field <{0}> is null")]
    Missing(&'static str),
    /// A value is not of the field's type.
    #[error("the custom field <{field}> is not {expected}: \"{value}\"")]
    Malformed {
        /// Name of the field on the wire.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What came, cut to a readable length.
        value: String,
    },
}

impl HeaderError {
    /// The error for `value`, which is not what `field` should hold.
    pub fn malformed(field: &'static str, expected: &'static str, value: &str) -> Self {
        let value = value.chars().take(64).collect();
        Self::Malformed { field, expected, value }
    }
}

/// A type that a header field can have.
pub trait FieldValue<'a>: Sized {
    /// Reads the value from its text.
    fn read(field: &'static str, text: &'a str) -> Result<Self, HeaderError>;

    /// The value when the field is not there.
    fn absent(field: &'static str) -> Result<Self, HeaderError> {
        Err(HeaderError::Missing(field))
    }

    /// Appends the field.
    fn write(&self, field: &str, fields: &mut impl FieldSink);
}

impl<'a> FieldValue<'a> for &'a str {
    fn read(_: &'static str, text: &'a str) -> Result<Self, HeaderError> {
        Ok(text)
    }

    fn write(&self, field: &str, fields: &mut impl FieldSink) {
        fields.put(field, self);
    }
}

impl<'a> FieldValue<'a> for bool {
    /// As Java: "true" in any case, everything else is false.
    fn read(_: &'static str, text: &'a str) -> Result<Self, HeaderError> {
        Ok(text.eq_ignore_ascii_case("true"))
    }

    fn write(&self, field: &str, fields: &mut impl FieldSink) {
        fields.put_plain(field, if *self { "true" } else { "false" });
    }
}

macro_rules! integer_field {
    ($($type:ty: $expected:literal),*) => {$(
        impl<'a> FieldValue<'a> for $type {
            #[inline]
            fn read(field: &'static str, text: &'a str) -> Result<Self, HeaderError> {
                #[inline(never)]
                fn longer(field: &'static str, text: &str) -> Result<$type, HeaderError> {
                    let number = digits(text.as_bytes(), <$type>::MAX.ilog10()).map(|number| number as $type);
                    number.map_or_else(|| text.parse().map_err(|_| HeaderError::malformed(field, $expected, text)), Ok)
                }
                // as most numbers of a request
                match text.as_bytes() {
                    [digit @ b'0'..=b'9'] => Ok(Self::from(digit - b'0')),
                    _ => longer(field, text),
                }
            }

            fn write(&self, field: &str, fields: &mut impl FieldSink) {
                fields.put_plain(field, itoa::Buffer::new().format(*self));
            }
        }
    )*};
}

/// A number of at least one and at most so many digits, without a sign, as nearly all are.
fn digits(text: &[u8], most: u32) -> Option<u64> {
    if text.is_empty() || text.len() > most as usize {
        return None;
    }
    let mut number = 0;
    let mut are_digits = true;
    let (eights, rest) = text.as_chunks();
    for eight in eights {
        let (eight, are_eight) = word::eight_digits(*eight);
        are_digits &= are_eight;
        number = u64::wrapping_add(u64::wrapping_mul(number, 100_000_000), eight);
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        are_digits &= digit < 10;
        // what overflows is none
        number = u64::wrapping_add(u64::wrapping_mul(number, 10), digit.into());
    }
    are_digits.then_some(number)
}

integer_field!(i32: "a 32-bit integer", i64: "a 64-bit integer");

impl<'a, T: FieldValue<'a>> FieldValue<'a> for Option<T> {
    fn read(field: &'static str, text: &'a str) -> Result<Self, HeaderError> {
        T::read(field, text).map(Some)
    }

    fn absent(_: &'static str) -> Result<Self, HeaderError> {
        Ok(None)
    }

    fn write(&self, field: &str, fields: &mut impl FieldSink) {
        if let Some(value) = self {
            value.write(field, fields);
        }
    }
}

/// Declares a header structure with its names on the wire; see the module's example.
#[macro_export]
macro_rules! header {
    (@absent $key:literal) => { $crate::header::FieldValue::absent($key) };
    (@absent $key:literal $default:expr) => { Ok($default) };

    (@decode $fields:ident $($name:ident = $key:literal $([$default:expr])?,)*) => {{
        // Nearly all write them in the order in which they stand here.
        let mut fields = $fields.in_order();
        $(let mut $name = match fields.take($key) {
            Some(value) => Some($crate::header::FieldValue::read($key, value)?),
            None => None,
        };)*
        if !fields.is_empty() {
            // In another order, or among others: the last one of a name counts.
            for (key, value) in $fields.iter_bytes() {
                // Names of one letter, as those of sends: a choice among numbers is a jump, where texts are compared in turn.
                let letter = if let [letter] = key { *letter } else { 0 };
                let is = |name: &str| if name.len() == 1 { letter == name.as_bytes()[0] } else { key == name.as_bytes() };
                $(if is($key) {
                    $name = Some($crate::header::FieldValue::read($key, value)?);
                } else)* {
                    // another header's
                }
            }
        }
        Ok(Self {
            $($name: match $name {
                Some(value) => value,
                None => $crate::header!(@absent $key $($default)?)?,
            },)*
        })
    }};

    ($(#[$doc:meta])* pub struct $header:ident<$lifetime:lifetime> {
        $($(#[doc = $field_doc:literal])* $(#[default($default:expr)])? pub $name:ident: $type:ty = $key:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $header<$lifetime> { $($(#[doc = $field_doc])* pub $name: $type,)* }

        impl<$lifetime> $crate::DecodeHeader<$lifetime> for $header<$lifetime> {
            fn decode(fields: &$lifetime $crate::Fields) -> Result<Self, $crate::HeaderError> {
                $crate::header!(@decode fields $($name = $key $([$default])?,)*)
            }
        }

        impl $crate::EncodeHeader for $header<'_> {
            fn encode(&self, fields: &mut impl $crate::FieldSink) {
                $($crate::header::FieldValue::write(&self.$name, $key, fields);)*
            }
        }
    };

    ($(#[$doc:meta])* pub struct $header:ident {
        $($(#[doc = $field_doc:literal])* $(#[default($default:expr)])? pub $name:ident: $type:ty = $key:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $header { $($(#[doc = $field_doc])* pub $name: $type,)* }

        impl<'a> $crate::DecodeHeader<'a> for $header {
            fn decode(fields: &'a $crate::Fields) -> Result<Self, $crate::HeaderError> {
                $crate::header!(@decode fields $($name = $key $([$default])?,)*)
            }
        }

        impl $crate::EncodeHeader for $header {
            fn encode(&self, fields: &mut impl $crate::FieldSink) {
                $($crate::header::FieldValue::write(&self.$name, $key, fields);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::header! {
        /// For the tests.
        pub struct Sample<'a> {
            /// Required text.
            pub topic: &'a str = "topic",
            /// Required number.
            pub queue_id: i32 = "queueId",
            /// Optional.
            pub unit: Option<bool> = "unit",
            /// With a default.
            #[default(7)]
            pub level: i64 = "level",
        }
    }

    #[test]
    fn reads_what_is_there_in_any_order_and_ignores_the_rest() {
        let fields =
            [("level", "-9"), ("x", "y"), ("unit", "TRUE"), ("queueId", "3"), ("topic", "")].into_iter().collect();
        let header = Sample::decode(&fields).unwrap();
        assert_eq!(header, Sample { topic: "", queue_id: 3, unit: Some(true), level: -9 });
    }

    #[test]
    fn takes_the_last_of_a_name_and_tells_of_the_first_fault() {
        let of = |fields: &[(&str, &str)]| Sample::decode(&fields.iter().copied().collect()).map(|header| header.level);
        let all = [("topic", "T"), ("queueId", "3"), ("unit", "true"), ("level", "5")];
        assert_eq!(of(&all), Ok(5));
        assert_eq!(of(&[&all[..], &[("level", "6")]].concat()), Ok(6));
        assert_eq!(
            of(&[&all[..], &[("topic", "U"), ("level", "123456789012345678")]].concat()),
            Ok(123_456_789_012_345_678)
        );
        for faulty in [[("queueId", "3x"), ("queueId", "3")], [("queueId", "3x"), ("level", "y")]] {
            let error = of(&[&all[..1], &faulty].concat()).unwrap_err();
            assert_eq!(error, HeaderError::malformed("queueId", "a 32-bit integer", "3x"));
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let texts =
            ["0", "9", "10", "-1", "+7", "", "00012345678", "2147483647", "2147483648", "12345678", "123456789"];
        let more =
            ["1234567x", "x2345678", "12345678x", "9223372036854775807", "9223372036854775808", "123456789012345678"];
        for text in texts.into_iter().chain(more) {
            assert_eq!(i32::read("x", text).ok(), text.parse().ok(), "{text}");
            assert_eq!(i64::read("x", text).ok(), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn names_the_field_that_is_missing_or_malformed() {
        let fields = [("topic", "T")].into_iter().collect();
        assert_eq!(Sample::decode(&fields), Err(HeaderError::Missing("queueId")));
        let fields = [("topic", "T"), ("queueId", "3x")].into_iter().collect();
        assert_eq!(
            Sample::decode(&fields).unwrap_err().to_string(),
            "the custom field <queueId> is not a 32-bit integer: \"3x\""
        );
    }

    #[test]
    fn leaves_out_absent_options_and_uses_defaults() {
        let fields = [("topic", "T"), ("queueId", "+3")].into_iter().collect();
        let header = Sample::decode(&fields).unwrap();
        let mut written = Fields::new();
        header.encode(&mut written);
        assert_eq!(written, [("topic", "T"), ("queueId", "3"), ("level", "7")].into_iter().collect());
    }
}
