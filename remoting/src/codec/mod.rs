//! A frame's content to a command and back, in both header serialisations.
//!
//! Content = header word (1 byte serialisation, 3 bytes header length), header, body.

mod binary;
mod head;
mod json;
mod pieces;

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

pub(crate) use head::{Head, HeadWriter};

use crate::Command;
use crate::command::Body;

/// How a header is written. Taken per frame on reading; on writing it is the process's own setting,
/// whatever the peer uses (trap 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serialization {
    /// `{"code":0,…}`
    #[default]
    Json,
    /// The binary layout called ROCKETMQ.
    RocketMq,
}

impl Serialization {
    const fn number(self) -> u8 {
        match self {
            Self::Json => 0,
            Self::RocketMq => 1,
        }
    }

    /// The setting of this process: the environment's `ROCKETMQ_SERIALIZE_TYPE`, JSON where it is not set.
    ///
    /// # Errors
    /// The text of a value that is neither JSON nor ROCKETMQ.
    pub fn of_process() -> Result<Self, String> {
        let name = std::env::var("ROCKETMQ_SERIALIZE_TYPE").unwrap_or_default();
        if name.is_empty() {
            return Ok(Self::Json);
        }
        Self::from_name(&name).ok_or_else(|| format!("ROCKETMQ_SERIALIZE_TYPE={name}: JSON or ROCKETMQ is expected"))
    }

    /// The name in settings and ready lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::RocketMq => "ROCKETMQ",
        }
    }

    /// The serialisation of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "JSON" => Some(Self::Json),
            "ROCKETMQ" => Some(Self::RocketMq),
            _ => None,
        }
    }
}

/// A frame whose content is not a command. The connection is closed, as the reference does.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The content is shorter than its header says.
    #[error("header of {header} bytes in a frame of {content} bytes")]
    HeaderLength {
        /// Announced header length in bytes.
        header: usize,
        /// Bytes that follow the length word.
        content: usize,
    },
    /// The first byte names no known serialisation.
    #[error("unknown header serialisation {0}")]
    Serialization(u8),
    /// The header does not parse.
    #[error("malformed header at byte {at}: {what}")]
    Header {
        /// Byte position in the header.
        at: usize,
        /// What was expected or wrong.
        what: &'static str,
    },
}

impl Command {
    /// Decodes a frame's content (see [`crate::frame::take`]). A body takes over the frame's memory.
    ///
    /// # Errors
    /// The header does not parse, or is longer than the content.
    pub fn decode(mut content: Bytes) -> Result<(Self, Serialization), DecodeError> {
        let short = |header| DecodeError::HeaderLength { header, content: content.len() };
        let word = content.first_chunk::<4>().ok_or(short(4))?;
        let header_length = usize::from(word[1]) << 16 | usize::from(word[2]) << 8 | usize::from(word[3]);
        let header = content.get(4..4 + header_length).ok_or(short(header_length))?;
        let (mut command, serialization) = match word[0] {
            0 => (json::decode(header)?, Serialization::Json),
            1 => (binary::decode(header)?, Serialization::RocketMq),
            other => return Err(DecodeError::Serialization(other)),
        };
        content.advance(4 + header_length);
        if !content.is_empty() {
            command.body = Body::Whole(content);
        }
        Ok((command, serialization))
    }

    /// Appends length word, header word and header to `out`; the parts of the body must follow it.
    pub fn encode_head(&self, serialization: Serialization, out: &mut BytesMut) {
        let head = Head {
            code: self.code,
            language: self.language,
            version: self.version,
            opaque: self.opaque,
            flag: self.flag,
            remark: self.remark.as_deref(),
            has_fields: self.fields.is_some(),
        };
        let mut writer = HeadWriter::begin(serialization, head, out);
        for (key, value) in self.fields.iter().flatten() {
            writer.put_any(key, value);
        }
        writer.finish(self.body.len());
    }

    /// The whole frame in one buffer, for clients and tests.
    pub fn encode(&self, serialization: Serialization) -> BytesMut {
        let mut out = BytesMut::with_capacity(256 + self.body.len());
        self.encode_head(serialization, &mut out);
        for part in self.body.parts() {
            out.extend_from_slice(part);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Language;
    use crate::{Fields, frame};
    use proptest::prelude::*;

    fn decode_frame(mut frame: BytesMut) -> Result<(Command, Serialization), DecodeError> {
        Command::decode(frame::take(&mut frame, usize::MAX).unwrap().unwrap())
    }

    fn commands() -> impl Strategy<Value = Command> {
        let pairs = proptest::collection::btree_map("\\PC{1,12}", ".{0,40}", 0..20);
        (
            any::<i16>(),
            0u8..14,
            any::<i16>(),
            any::<i32>(),
            any::<i32>(),
            proptest::option::of(".{1,30}"),
            pairs,
            any::<Vec<u8>>(),
        )
            .prop_map(|(code, language, version, opaque, flag, remark, pairs, body)| Command {
                code: code.into(),
                language: Language(language),
                version: version.into(),
                opaque,
                flag,
                remark: remark.map(Into::into),
                fields: Some(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Fields>())
                    .filter(|f| !f.is_empty()),
                body: body.into(),
            })
    }

    proptest! {
        #[test]
        fn json_round_trip(command in commands()) {
            let decoded = decode_frame(command.encode(Serialization::Json)).unwrap();
            prop_assert_eq!(decoded, (command, Serialization::Json));
        }

        #[test]
        fn binary_round_trip(mut command in commands()) {
            // A value without bytes is a null there and is dropped.
            if let Some(fields) = &mut command.fields {
                *fields = fields.iter().filter(|(_, v)| !v.is_empty()).collect();
            }
            command.fields = command.fields.filter(|f| !f.is_empty());
            let decoded = decode_frame(command.encode(Serialization::RocketMq)).unwrap();
            prop_assert_eq!(decoded, (command, Serialization::RocketMq));
        }

        #[test]
        fn any_bytes_are_a_command_or_an_error(bytes in any::<Vec<u8>>(), kind in 0u8..3) {
            let mut content = vec![kind, 0, 0, bytes.len() as u8];
            content.extend_from_slice(&bytes);
            let _ = Command::decode(content.into());
        }
    }

    #[test]
    fn refuses_headers_that_do_not_fit() {
        for (content, error) in [
            (&[0, 0, 0][..], DecodeError::HeaderLength { header: 4, content: 3 }),
            (&[0, 0, 0, 5, b'{', b'}'], DecodeError::HeaderLength { header: 5, content: 6 }),
            (&[0x7F, 0, 0, 0], DecodeError::Serialization(0x7F)),
        ] {
            assert_eq!(Command::decode(Bytes::copy_from_slice(content)), Err(error));
        }
    }
}
