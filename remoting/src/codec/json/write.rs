//! Writing a JSON header.

use crate::codec::head::Head;
use crate::codec::pieces::{Pieces, is_plain};
use crate::command::{FLAG_RESPONSE, Language, VERSION_5_5_0};

/// Where the fields of a header stand, and whether some are written.
pub(in crate::codec) struct Fields {
    is_empty: bool,
}

/// Writes the keys in the order in which the reference writes them, up to the fields.
pub(in crate::codec) fn begin(head: &Head<'_>, out: &mut Pieces<'_>) -> Fields {
    if head.code == 0 && head.has_fields {
        // nearly all answers
        out.put(b"{\"code\":0,\"extFields\":");
    } else {
        out.put(b"{\"code\":");
        out.put_integer(head.code);
        if head.has_fields {
            out.put(b",\"extFields\":");
        }
    }
    Fields { is_empty: true }
}

impl Fields {
    /// Writes a field with any key.
    pub(in crate::codec) fn put_any(&mut self, out: &mut Pieces<'_>, key: &str, value: &str) {
        out.put(&self.open_key());
        out.put_text(key);
        out.put(b"\":\"");
        out.put_text(value);
        out.put(b"\"");
    }

    /// The same for a key without anything to escape.
    #[inline]
    pub(in crate::codec) fn put(&mut self, out: &mut Pieces<'_>, key: &str, value: &str) {
        if is_plain(value.as_bytes()) {
            self.put_plain(out, key, value.as_bytes());
        } else {
            self.put_any(out, key, value);
        }
    }

    /// The same for key and value without anything to escape.
    #[inline]
    pub(in crate::codec) fn put_plain(&mut self, out: &mut Pieces<'_>, key: &str, value: &[u8]) {
        out.put_all([&self.open_key(), key.as_bytes(), b"\":\"", value, b"\""]);
    }

    /// What stands before a key: two bytes always.
    #[inline]
    fn open_key(&mut self) -> [u8; 2] {
        if std::mem::take(&mut self.is_empty) { *b"{\"" } else { *b",\"" }
    }

    /// Writes what stands behind the fields.
    pub(in crate::codec) fn end(&self, head: &Head<'_>, out: &mut Pieces<'_>) {
        if head.has_fields {
            if self.is_empty {
                out.put(b"{");
            }
            out.put(b"}");
        }
        end(head, out);
    }
}

/// Writes the keys behind the fields.
fn end(head: &Head<'_>, out: &mut Pieces<'_>) {
    if let Head { language: Language::JAVA, flag: FLAG_RESPONSE, remark: None, version: VERSION_5_5_0, .. } = head {
        // nearly all answers
        out.put(b",\"flag\":1,\"language\":\"JAVA\",\"opaque\":");
        out.put_integer(head.opaque);
        return out.put(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}");
    }
    out.put(b",\"flag\":");
    out.put_integer(head.flag);
    if let Some(language) = head.language.name() {
        out.put(b",\"language\":\"");
        out.put_slice(language.as_bytes());
        out.put(b"\"");
    }
    out.put(b",\"opaque\":");
    out.put_integer(head.opaque);
    if let Some(remark) = head.remark {
        out.put(b",\"remark\":\"");
        out.put_text(remark);
        out.put(b"\"");
    }
    out.put(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    out.put_integer(head.version);
    out.put(b"}");
}

#[cfg(test)]
mod tests {
    use crate::{Command, ResponseCode, Serialization};

    #[test]
    fn writes_as_the_reference_does() {
        let mut command = Command::response(ResponseCode::TOPIC_NOT_EXIST).with_remark("no \"T\"\n\u{1}ä");
        command.opaque = 9;
        let frame = command.encode(Serialization::Json);
        assert_eq!(
            std::str::from_utf8(&frame[8..]).unwrap(),
            "{\"code\":17,\"flag\":1,\"language\":\"JAVA\",\"opaque\":9,\"remark\":\"no \\\"T\\\"\\n\\u0001ä\",\
             \"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}"
        );
    }
}
