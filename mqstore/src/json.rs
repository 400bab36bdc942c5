//! A record as a JSON object.

use std::collections::HashSet;
use std::net::SocketAddr;

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::Record;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Serialize, Serializer};

/// The fields in the record's order; docs/mqstore.md describes them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    physical_offset: i64,
    size: usize,
    msg_id: String,
    topic: &'a str,
    queue_id: i32,
    queue_offset: i64,
    flag: i32,
    sys_flag: i32,
    born_timestamp: i64,
    born_host: SocketAddr,
    store_timestamp: i64,
    store_host: SocketAddr,
    reconsume_times: i32,
    prepared_transaction_offset: i64,
    #[serde(rename = "bodyCRC")]
    body_crc: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Pairs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

/// A record as one line.
pub(crate) fn line(record: &Record<'_>) -> String {
    let pairs = Pairs::of(record.properties);
    let body = std::str::from_utf8(record.body).ok();
    let line = Line {
        physical_offset: record.physical_offset,
        size: record.size(),
        msg_id: OffsetMessageId { store_host: record.store_host, offset: record.physical_offset }.to_string(),
        topic: record.topic,
        queue_id: record.queue_id,
        queue_offset: record.queue_offset,
        flag: record.flag,
        sys_flag: record.sys_flag,
        born_timestamp: record.born_timestamp,
        born_host: record.born_host,
        store_timestamp: record.store_timestamp,
        store_host: record.store_host,
        reconsume_times: record.reconsume_times,
        prepared_transaction_offset: record.prepared_transaction_offset,
        body_crc: record.body_crc,
        properties_base64: pairs.is_none().then(|| BASE64_STANDARD.encode(record.properties.as_bytes())),
        properties: pairs,
        body,
        body_base64: body.is_none().then(|| BASE64_STANDARD.encode(record.body)),
    };
    serde_json::to_string(&line).expect("texts and numbers can be written as JSON")
}

/// Properties that an object of texts tells completely, but for the separator behind the last one, which 4.x leaves out.
struct Pairs<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Pairs<'a> {
    /// `None` when they are no texts, a name comes twice, or something else stands between them.
    fn of(properties: Properties<'a>) -> Option<Self> {
        let mut pairs = Vec::new();
        let mut names = HashSet::new();
        let mut length = 0;
        for (name, value) in properties {
            length += name.len() + value.len() + 2;
            let (name, value) = (std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?);
            if !names.insert(name) {
                return None;
            }
            pairs.push((name, value));
        }
        let unclosed = usize::from(!properties.is_closed());
        (length == properties.as_bytes().len() + unclosed).then_some(Self(pairs))
    }
}

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_object_tells_completely_becomes_one() {
        for (text, pairs) in [
            (&b""[..], Some(0)),
            (b"a\x011\x02b\x012\x02", Some(2)),
            (b"a\x011\x02b\x012", Some(2)),
            (b"a\x011\x02a\x012\x02", None),
            (b"a\x01\xFF\x02", None),
            (b"\x02a\x011\x02", None),
        ] {
            assert_eq!(Pairs::of(Properties::new(text)).map(|pairs| pairs.0.len()), pairs, "{text:?}");
        }
    }
}
