//! The one mechanism behind every configuration struct: the [`settings!`](crate::settings!) macro turns a list of
//! fields into a struct whose fields can be read directly, and be set and listed by their key in a `.properties` file.

/// One key of a configuration class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The name in a `.properties` file.
    pub name: &'static str,
    /// Whether `-m` prints it.
    pub important: bool,
    /// Whether a file or a request can change it. The reference lists a few fields that nothing can set.
    pub settable: bool,
}

/// Why a key could not be given a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The text is not of the key's type, or outside of what the key allows.
    #[error("{key}={value}: {expected} is expected")]
    Value {
        /// The key.
        key: String,
        /// The text that was given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The key is listed, and has a fixed value.
    #[error("{key}={value}: the key cannot be changed")]
    Fixed {
        /// The key.
        key: String,
        /// The text that was given.
        value: String,
    },
}

impl SettingError {
    /// The key it is about.
    pub fn key(&self) -> &str {
        match self {
            Self::Value { key, .. } | Self::Fixed { key, .. } => key,
        }
    }
}

/// A configuration class: its keys, and its values as text.
pub trait Settings {
    /// The class' name in the reference.
    fn class(&self) -> &'static str;

    /// All keys, in the reference's order.
    fn keys(&self) -> &'static [Key];

    /// Sets a key from its text. `Ok(false)` when the class has no such key; nothing changes on an error.
    fn set(&mut self, key: &str, text: &str) -> Result<bool, SettingError>;

    /// The value of a key as text; `None` when the class has no such key or the key has no value.
    fn get(&self, key: &str) -> Option<String>;

    /// Every key that has a value, with its text, sorted by key.
    fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries: Vec<_> = self.keys().iter().filter_map(|key| Some((key.name, self.get(key.name)?))).collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        entries
    }

    /// The lines that `-p` (or `-m`, with `important_only`) prints: `key=value` in the reference's order, keys without a
    /// value included.
    fn lines(&self, important_only: bool) -> Vec<String> {
        let keys = self.keys().iter().filter(|key| key.important || !important_only);
        keys.map(|key| format!("{}={}", key.name, self.get(key.name).unwrap_or_default())).collect()
    }
}

/// A type a configuration field can have.
pub trait SettingValue: Sized {
    /// What a text has to be, for the error.
    fn expected() -> String;

    /// Reads the text (surrounding blanks removed).
    fn from_text(text: &str) -> Option<Self>;

    /// Writes the value as the reference does; `None` when there is no value.
    fn to_text(&self) -> Option<String>;
}

impl SettingValue for i32 {
    fn expected() -> String {
        format!("a whole number from {} to {}", i32::MIN, i32::MAX)
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn to_text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl SettingValue for i64 {
    fn expected() -> String {
        format!("a whole number from {} to {}", i64::MIN, i64::MAX)
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn to_text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl SettingValue for f64 {
    fn expected() -> String {
        "a number".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The form of Java's `Double.toString`: always a fraction, an exponent below 10⁻³ and from 10⁷ on.
    fn to_text(&self) -> Option<String> {
        if *self == 0.0 || (1e-3..1e7).contains(&self.abs()) {
            return Some(format!("{self:?}"));
        }
        let text = format!("{self:E}");
        Some(match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
            _ => text,
        })
    }
}

impl SettingValue for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("true") {
            Some(true)
        } else if text.eq_ignore_ascii_case("false") {
            Some(false)
        } else {
            None
        }
    }

    fn to_text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl SettingValue for String {
    fn expected() -> String {
        "text".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn to_text(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl SettingValue for Option<String> {
    fn expected() -> String {
        String::expected()
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(Some(text.to_owned()))
    }

    fn to_text(&self) -> Option<String> {
        self.clone()
    }
}

/// Reads a text for a key: what the macro's `set` calls for each field.
pub(crate) fn read_value<T: SettingValue>(key: &str, text: &str) -> Result<T, SettingError> {
    T::from_text(text.trim()).ok_or_else(|| SettingError::Value {
        key: key.to_owned(),
        value: text.to_owned(),
        expected: T::expected(),
    })
}

/// A key that cannot be changed accepts the value it has: a file that lists every key is read back.
pub(crate) fn check_fixed(key: &str, text: &str, present: Option<&str>) -> Result<(), SettingError> {
    if present == Some(text.trim()) {
        return Ok(());
    }
    Err(SettingError::Fixed { key: key.to_owned(), value: text.to_owned() })
}

/// Defines a configuration class: the struct with public fields, `Default`, and [`Settings`].
///
/// Each line is `field: Type = default, "keyInTheFile";`, with `important` after the key for those that `-m` prints and
/// `fixed` for those that nothing can set.
macro_rules! settings {
    (
        $(#[$struct_meta:meta])*
        pub struct $name:ident {
            $( $(#[$meta:meta])* $field:ident : $type:ty = $default:expr, $key:literal $(, $mark:ident)? ; )*
        }
    ) => {
        $(#[$struct_meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("Key `", $key, "`, default `", stringify!($default), "`.")]
                $(#[$meta])*
                #[cfg_attr(feature = "mark-reads", deprecated)]
                pub $field: $type,
            )*
        }

        #[allow(deprecated, reason = "what the macro does with every field is no use of it")]
        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        #[allow(deprecated, reason = "what the macro does with every field is no use of it")]
        impl $crate::settings::Settings for $name {
            fn class(&self) -> &'static str {
                stringify!($name)
            }

            fn keys(&self) -> &'static [$crate::settings::Key] {
                &[ $( settings!(@key $key $($mark)?) ),* ]
            }

            fn set(&mut self, key: &str, text: &str) -> Result<bool, $crate::settings::SettingError> {
                match key {
                    $( $key => settings!(@set self key text $field $($mark)?), )*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn get(&self, key: &str) -> Option<String> {
                match key {
                    $( $key => $crate::settings::SettingValue::to_text(&self.$field), )*
                    _ => None,
                }
            }
        }
    };

    (@key $key:literal) => { $crate::settings::Key { name: $key, important: false, settable: true } };
    (@key $key:literal important) => { $crate::settings::Key { name: $key, important: true, settable: true } };
    (@key $key:literal fixed) => { $crate::settings::Key { name: $key, important: false, settable: false } };

    (@set $self:ident $name:ident $text:ident $field:ident fixed) => {{
        let present = $crate::settings::SettingValue::to_text(&$self.$field);
        $crate::settings::check_fixed($name, $text, present.as_deref())?
    }};
    (@set $self:ident $name:ident $text:ident $field:ident $($mark:ident)?) => {
        $self.$field = $crate::settings::read_value($name, $text)?
    };
}

/// Defines an enumeration that a configuration file names by its constants.
macro_rules! setting_enum {
    (
        $(#[$enum_meta:meta])*
        pub enum $name:ident { $( $(#[$meta:meta])* $variant:ident = $text:literal ),* $(,)? }
    ) => {
        $(#[$enum_meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $( $(#[$meta])* $variant ),* }

        impl $name {
            /// The name in a configuration file.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $text ),* }
            }
        }

        impl $crate::settings::SettingValue for $name {
            fn expected() -> String {
                concat!("one of", $( " ", $text ),*).to_owned()
            }

            fn from_text(text: &str) -> Option<Self> {
                match text { $( $text => Some(Self::$variant), )* _ => None }
            }

            fn to_text(&self) -> Option<String> {
                Some(self.name().to_owned())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    setting_enum! {
        /// Two names.
        pub enum Colour {
            /// Red.
            Red = "RED",
            /// Blue.
            Blue = "BLUE",
        }
    }

    settings! {
        /// One field of each type.
        pub struct Sample {
            size: i32 = 4 * 1024, "size", important;
            limit: i64 = 1 << 40, "limit";
            ratio: f64 = 0.8, "ratio";
            on: bool = true, "on";
            name: String = "x".to_owned(), "name";
            home: Option<String> = None, "home", important;
            colour: Colour = Colour::Red, "colour";
            internal: bool = false, "isInternal", fixed;
        }
    }

    #[test]
    fn sets_and_gets_every_type() {
        let mut sample = Sample::default();
        for (key, text) in [
            ("size", "7"),
            ("limit", "-9"),
            ("ratio", "0.5"),
            ("on", "false"),
            ("name", "y z"),
            ("home", "/h"),
            ("colour", "BLUE"),
        ] {
            assert_eq!(sample.set(key, text), Ok(true), "{key}");
            assert_eq!(sample.get(key).as_deref(), Some(text), "{key}");
        }
        assert_eq!((sample.size, sample.colour), (7, Colour::Blue));
        assert_eq!(sample.set("nothing", "7"), Ok(false));
        assert_eq!(sample.get("nothing"), None);
    }

    #[test]
    fn an_error_names_key_value_and_type_and_changes_nothing() {
        let mut sample = Sample::default();
        for (key, text, expected) in [
            ("size", "4k", "a whole number from -2147483648 to 2147483647"),
            ("size", "2147483648", "a whole number from -2147483648 to 2147483647"),
            ("size", "", "a whole number from -2147483648 to 2147483647"),
            ("ratio", "NaN", "a number"),
            ("on", "yes", "true or false"),
            ("colour", "red", "one of RED BLUE"),
        ] {
            let error = sample.set(key, text).unwrap_err();
            assert_eq!(error.to_string(), format!("{key}={text}: {expected} is expected"));
        }
        assert_eq!(sample, Sample::default());
    }

    #[test]
    fn blanks_around_a_value_do_not_count() {
        let mut sample = Sample::default();
        sample.set("size", "8 \t").unwrap();
        sample.set("name", "a b ").unwrap();
        sample.set("on", "TRUE").unwrap();
        assert_eq!((sample.size, sample.name.as_str(), sample.on), (8, "a b", true));
    }

    #[test]
    fn a_fixed_key_takes_only_its_value() {
        let mut sample = Sample::default();
        assert_eq!(sample.set("isInternal", "false"), Ok(true));
        assert!(matches!(sample.set("isInternal", "true"), Err(SettingError::Fixed { .. })));
    }

    #[test]
    fn lists_sorted_without_nulls_and_prints_in_order_with_them() {
        let sample = Sample::default();
        let entries = sample.entries();
        let keys: Vec<_> = entries.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["colour", "isInternal", "limit", "name", "on", "ratio", "size"]);
        assert_eq!(sample.lines(true), ["size=4096", "home="]);
        assert_eq!(sample.lines(false).len(), 8);
    }

    #[test]
    fn doubles_are_written_as_java_does() {
        for (number, text) in [
            (8000.0, "8000.0"),
            (0.0, "0.0"),
            (0.001, "0.001"),
            (0.000_12, "1.2E-4"),
            (1e7, "1.0E7"),
            (-2.5e8, "-2.5E8"),
        ] {
            assert_eq!(number.to_text().as_deref(), Some(text));
        }
    }
}
