//! One request or response, decoded from or to be encoded into a frame.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;

use crate::{DecodeHeader, EncodeHeader, Fields, HeaderError, RequestCode, ResponseCode};

/// Bit 0 of `flag`: this is a response.
pub const FLAG_RESPONSE: i32 = 0x1;
/// Bit 1 of `flag`: the sender expects no response.
pub const FLAG_ONE_WAY: i32 = 0x2;
/// Version number that a 5.5.0 process writes (ordinal of V5_5_0).
pub const VERSION_5_5_0: i32 = 513;
/// Version number of 4.9.4, the first whose route answers quote integer keys (trap 4).
pub const VERSION_4_9_4: i32 = 401;

/// A command of the remoting protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Request code, or response code when [`Command::is_response`].
    pub code: i32,
    /// What the sender is written in.
    pub language: Language,
    /// Ordinal of the sender's version; see [`VERSION_5_5_0`].
    pub version: i32,
    /// Pairs a response with its request on one connection.
    pub opaque: i32,
    /// [`FLAG_RESPONSE`] and [`FLAG_ONE_WAY`].
    pub flag: i32,
    /// Text for people, in responses.
    pub remark: Option<Cow<'static, str>>,
    /// Header fields; `None` when no header class is attached (trap 8).
    pub fields: Option<Fields>,
    /// Body, often empty.
    pub body: Body,
}

impl Command {
    /// A request with a fresh `opaque`.
    pub fn request(code: RequestCode) -> Self {
        static NEXT_OPAQUE: AtomicI32 = AtomicI32::new(0);
        let opaque = NEXT_OPAQUE.fetch_add(1, Ordering::Relaxed);
        Self { code: code.0, version: VERSION_5_5_0, opaque, ..Self::blank() }
    }

    /// A response without remark, header or body. The connection sets `opaque` when it is written.
    pub fn response(code: ResponseCode) -> Self {
        Self { code: code.0, version: VERSION_5_5_0, flag: FLAG_RESPONSE, ..Self::blank() }
    }

    /// What a header that says nothing stands for.
    pub(crate) fn blank() -> Self {
        Self {
            code: 0,
            language: Language::JAVA,
            version: 0,
            opaque: 0,
            flag: 0,
            remark: None,
            fields: None,
            body: Body::default(),
        }
    }

    /// A response that tells why something was refused or failed.
    pub fn error(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Self {
        Self::response(code).with_remark(remark)
    }

    /// Sets the remark.
    #[must_use]
    pub fn with_remark(mut self, remark: impl Into<Cow<'static, str>>) -> Self {
        self.remark = Some(remark.into());
        self
    }

    /// Adds the header's fields.
    #[must_use]
    pub fn with_header(mut self, header: &impl EncodeHeader) -> Self {
        header.encode(self.fields.get_or_insert_default());
        self
    }

    /// Attaches a header without fields, which is written as `{}` (trap 8).
    #[must_use]
    pub fn with_empty_header(mut self) -> Self {
        self.fields.get_or_insert_default();
        self
    }

    /// Adds one field that belongs to no header class.
    #[must_use]
    pub fn with_field(mut self, key: &str, value: &str) -> Self {
        self.fields.get_or_insert_default().set(key, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// Marks a request as one-way.
    #[must_use]
    pub fn one_way(mut self) -> Self {
        self.flag |= FLAG_ONE_WAY;
        self
    }

    /// Whether this answers a request.
    pub fn is_response(&self) -> bool {
        self.flag & FLAG_RESPONSE != 0
    }

    /// Whether the sender expects no response.
    pub fn is_one_way(&self) -> bool {
        self.flag & FLAG_ONE_WAY != 0
    }

    /// The code of a request.
    pub fn request_code(&self) -> RequestCode {
        RequestCode(self.code)
    }

    /// The code of a response.
    pub fn response_code(&self) -> ResponseCode {
        ResponseCode(self.code)
    }

    /// The header as a typed structure that borrows its texts from this command.
    ///
    /// # Errors
    /// A required field is missing, or a number does not parse.
    pub fn header<'a, H: DecodeHeader<'a>>(&'a self) -> Result<H, HeaderError> {
        static NO_FIELDS: std::sync::LazyLock<Fields> = std::sync::LazyLock::new(Fields::new);
        H::decode(self.fields.as_ref().unwrap_or(&NO_FIELDS))
    }

    /// One field by its name on the wire.
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields.as_ref()?.get(key)
    }
}

/// The body of a command: one buffer, or several that are written one after the other.
#[derive(Clone, Debug)]
pub enum Body {
    /// One contiguous buffer. A decoded command always has this form.
    Whole(Bytes),
    /// Buffers that leave in one vectored write without being joined, such as the runs of a pull answer.
    Parts(Vec<Bytes>),
}

impl Body {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.parts().iter().map(Bytes::len).sum()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(Bytes::is_empty)
    }

    /// The buffers in order.
    pub fn parts(&self) -> &[Bytes] {
        match self {
            Self::Whole(bytes) => std::slice::from_ref(bytes),
            Self::Parts(parts) => parts,
        }
    }

    /// The bytes of the body: without a copy when it is [`Body::Whole`].
    pub fn contiguous(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Whole(bytes) => Cow::Borrowed(bytes),
            Self::Parts(parts) => Cow::Owned(parts.concat()),
        }
    }

    /// The body as one buffer: without a copy when it is [`Body::Whole`].
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes.clone(),
            Self::Parts(parts) => parts.concat().into(),
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Body {}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes.into())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Whole(text.into())
    }
}

impl From<Vec<Bytes>> for Body {
    fn from(parts: Vec<Bytes>) -> Self {
        Self::Parts(parts)
    }
}

/// What a process is written in, as its number on the wire (constants, section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Language(pub u8);

impl Language {
    /// What this server says of itself: clients of the reference expect nothing else.
    pub const JAVA: Self = Self(0);
    /// C++ client.
    pub const CPP: Self = Self(1);
    /// Go client.
    pub const GO: Self = Self(9);
    /// A language that the sender named and we do not know; the reference keeps none for it.
    pub const UNKNOWN: Self = Self(u8::MAX);

    const NAMES: [&str; 14] = [
        "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST",
        "NODE_JS",
    ];

    /// The name in JSON headers; `None` for an unknown language.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.get(usize::from(self.0)).copied()
    }

    /// The language of a name; [`Language::UNKNOWN`] when there is none such.
    pub fn from_name(name: &str) -> Self {
        Self::NAMES.iter().position(|n| *n == name).map_or(Self::UNKNOWN, |number| Self(number as u8))
    }
}

/// In bodies a language is its name.
impl serde::Serialize for Language {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_none(),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Language {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer).map(|name| Self::from_name(&name))
    }
}
