//! Writing a JSON header.

use bytes::{BufMut, BytesMut};

use crate::Command;
use crate::json::text::put_escaped;

/// Writes the keys in the order in which the reference writes them.
pub(in crate::codec) fn encode(command: &Command, out: &mut BytesMut) {
    out.put_slice(b"{\"code\":");
    put_integer(out, command.code);
    if let Some(fields) = &command.fields {
        out.put_slice(b",\"extFields\":{");
        let mut separator: &[u8] = b"\"";
        for (key, value) in fields {
            out.put_slice(separator);
            put_escaped(out, key);
            out.put_slice(b"\":\"");
            put_escaped(out, value);
            separator = b"\",\"";
        }
        out.put_slice(if fields.is_empty() { b"}" } else { b"\"}" });
    }
    out.put_slice(b",\"flag\":");
    put_integer(out, command.flag);
    if let Some(language) = command.language.name() {
        out.put_slice(b",\"language\":\"");
        out.put_slice(language.as_bytes());
        out.put_u8(b'"');
    }
    out.put_slice(b",\"opaque\":");
    put_integer(out, command.opaque);
    if let Some(remark) = &command.remark {
        out.put_slice(b",\"remark\":\"");
        put_escaped(out, remark);
        out.put_u8(b'"');
    }
    out.put_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    put_integer(out, command.version);
    out.put_u8(b'}');
}

fn put_integer(out: &mut BytesMut, value: i32) {
    out.put_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_the_reference_does() {
        let mut command = Command::response(crate::ResponseCode::TOPIC_NOT_EXIST).with_remark("no \"T\"\n\u{1}ä");
        command.opaque = 9;
        let mut out = BytesMut::new();
        encode(&command, &mut out);
        assert_eq!(
            std::str::from_utf8(&out).unwrap(),
            "{\"code\":17,\"flag\":1,\"language\":\"JAVA\",\"opaque\":9,\"remark\":\"no \\\"T\\\"\\n\\u0001ä\",\
             \"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}"
        );
    }
}
