//! Writing a JSON header.

use bytes::{BufMut, BytesMut};

use super::{ONES, TOPS, equal_bytes};
use crate::Command;

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
    match command.language.name() {
        Some("JAVA") => out.put_slice(b",\"language\":\"JAVA\""),
        Some(language) => {
            out.put_slice(b",\"language\":\"");
            put_escaped(out, language);
            out.put_u8(b'"');
        }
        None => {}
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

/// Writes what stands between the quotes of a text.
fn put_escaped(out: &mut BytesMut, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = first_to_escape(rest) {
        out.put_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.put_slice(b"\\\""),
            b'\\' => out.put_slice(b"\\\\"),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            8 => out.put_slice(b"\\b"),
            12 => out.put_slice(b"\\f"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let high = HEX[usize::from(control >> 4)];
                out.put_slice(&[b'\\', b'u', b'0', b'0', high, HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

/// Where the first byte is that cannot stand in a text as it is.
fn first_to_escape(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        // A control character borrows from its top bit when 0x20 is taken away, a byte beyond ASCII had it set before.
        let control = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
        let found = control | equal_bytes(word, b'"') | equal_bytes(word, b'\\');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let tail = text[at..].iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
    tail.map(|tail| at + tail)
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

    #[test]
    fn finds_what_to_escape_at_any_place() {
        for special in (0..0x20).chain([b'"', b'\\']) {
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b' '; length];
                    text[at] = special;
                    if at > 0 {
                        text[at - 1] = 0xFF;
                    }
                    if at + 1 < length {
                        text[at + 1] = special ^ 1;
                    }
                    assert_eq!(first_to_escape(&text), Some(at), "{text:?}");
                }
            }
        }
        let plain: Vec<u8> = (0x20..=0xFF).filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
        for start in 0..plain.len() {
            assert_eq!(first_to_escape(&plain[start..]), None);
        }
    }
}
