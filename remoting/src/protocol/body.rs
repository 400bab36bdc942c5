//! The two declarations behind all JSON bodies.

/// Declares a body. Properties are named in camel case and must stand in the alphabetical order of
/// their JSON names; a value behind `=` is used when a property is absent.
macro_rules! body {
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };

    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$meta:meta])* pub $field:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::protocol::body::body!(@default $($default)?),)* }
            }
        }
    };
}

/// Declares an enumeration that is written by name and read by name or by number, as Java numbers it.
/// `Unknown` stands for null and for names that are not known here; its property is left out.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$item:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$item])* $variant,)*
            /// Absent, or a name not known here.
            #[default]
            Unknown,
        }

        impl $type {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $name),)*];

            /// The name on the wire; none for `Unknown`.
            pub fn name(self) -> Option<&'static str> {
                Self::ALL.get(self as usize).map(|(_, name)| *name)
            }

            /// What `name` means.
            pub fn from_name(name: &str) -> Self {
                Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Unknown, |(value, _)| *value)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.name() {
                    Some(name) => serializer.serialize_str(name),
                    None => serializer.serialize_none(),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(match text.parse::<usize>() {
                    Ok(number) => Self::ALL.get(number).map_or(Self::Unknown, |(value, _)| *value),
                    Err(_) => Self::from_name(&text),
                })
            }
        }
    };
}

pub(crate) use {body, names};
