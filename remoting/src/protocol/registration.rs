//! The compressed layout of a registration's body (header field `compressed=true`).
//!
//! A zlib stream of big-endian words and texts:
//!
//! | part | layout |
//! |---|---|
//! | version | int32 length, JSON of a [`super::data_version::DataVersion`] |
//! | topics | int32 count; for each int32 length and one line: name, read queues, write queues, permission, filter type and attributes as JSON, separated by spaces |
//! | filter servers | int32 length, JSON array of texts |
//! | static topics | int32 count; for each int32 length, JSON of a [`TopicQueueMappingInfo`]; only from brokers of version 5.0.0 on |

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use thiserror::Error;

use super::register::RegisterBrokerBody;
use super::static_topic::TopicQueueMappingInfo;
use super::topic::{TopicConfig, TopicFilterType};
use crate::json::{self, JsonError};

/// Ordinal of V5_0_0, the first version that writes static topics here.
const VERSION_5_0_0: i32 = 413;

/// A registration that unpacks to more than this is refused: a broker with 100,000 topics needs a tenth of it.
const MAX_UNPACKED: u64 = 128 << 20;

/// Why a registration's body could not be read.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// Not JSON, or not of the right shape.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The zlib stream is damaged, ends early or unpacks to too much.
    #[error("damaged compressed body: {0}")]
    Stream(#[from] std::io::Error),
    /// A count or length is negative or beyond the limit.
    #[error("length {0} in a compressed body")]
    Length(i32),
    /// A topic's line does not have its parts.
    #[error("malformed topic line \"{0}\"")]
    Topic(String),
}

impl RegisterBrokerBody {
    /// Reads either form; `version` is that of the sending broker's command.
    ///
    /// # Errors
    /// The body does not parse, or unpacks to more than 128 MiB.
    pub fn decode(body: &[u8], compressed: bool, version: i32) -> Result<Self, RegistrationError> {
        if !compressed {
            return Ok(json::from_slice(body)?);
        }
        let mut source = Unpacker(ZlibDecoder::new(body).take(MAX_UNPACKED));
        let mut registration = Self::default();
        let wrapper = &mut registration.topic_config_serialize_wrapper;
        wrapper.data_version = json::from_slice(&source.bytes()?)?;
        for _ in 0..source.length()? {
            let line = source.bytes()?;
            let topic = topic_of_line(&String::from_utf8_lossy(&line))?;
            wrapper.topic_config_table.insert(topic.topic_name.clone(), topic);
        }
        registration.filter_server_list = json::from_slice(&source.bytes()?)?;
        if version >= VERSION_5_0_0 {
            for _ in 0..source.length()? {
                let mapping: TopicQueueMappingInfo = json::from_slice(&source.bytes()?)?;
                wrapper.topic_queue_mapping_info_map.insert(mapping.topic.clone(), mapping);
            }
        }
        Ok(registration)
    }

    /// Writes either form. The compressed one holds no mapping details and no system flags, as the reference's.
    pub fn encode(&self, compressed: bool) -> Vec<u8> {
        if !compressed {
            return json::to_vec(self);
        }
        let wrapper = &self.topic_config_serialize_wrapper;
        let mut plain = Vec::new();
        put_bytes(&mut plain, &json::to_vec(&wrapper.data_version));
        put_length(&mut plain, wrapper.topic_config_table.len());
        for topic in wrapper.topic_config_table.values() {
            put_bytes(&mut plain, line_of_topic(topic).as_bytes());
        }
        put_bytes(&mut plain, &json::to_vec(&self.filter_server_list));
        put_length(&mut plain, wrapper.topic_queue_mapping_info_map.len());
        for mapping in wrapper.topic_queue_mapping_info_map.values() {
            put_bytes(&mut plain, &json::to_vec(mapping));
        }
        let mut packer = ZlibEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::best());
        packer.write_all(&plain).and_then(|()| packer.finish()).expect("packing into memory has no I/O that could fail")
    }
}

struct Unpacker<R>(R);

impl<R: Read> Unpacker<R> {
    fn length(&mut self) -> Result<u64, RegistrationError> {
        let mut word = [0; 4];
        self.0.read_exact(&mut word)?;
        let length = i32::from_be_bytes(word);
        u64::try_from(length).map_err(|_| RegistrationError::Length(length))
    }

    /// A length and that many bytes; memory grows only with what really comes.
    fn bytes(&mut self) -> Result<Vec<u8>, RegistrationError> {
        let length = self.length()?;
        let mut bytes = Vec::new();
        if self.0.by_ref().take(length).read_to_end(&mut bytes)? as u64 == length {
            Ok(bytes)
        } else {
            Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into())
        }
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as i32).to_be_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn line_of_topic(topic: &TopicConfig) -> String {
    let TopicConfig { topic_name, read_queue_nums, write_queue_nums, perm, topic_filter_type, attributes, .. } = topic;
    let filter = topic_filter_type.name().unwrap_or("null");
    let attributes = String::from_utf8_lossy(&json::to_vec(attributes)).into_owned();
    format!("{topic_name} {read_queue_nums} {write_queue_nums} {perm} {filter} {attributes}")
}

fn topic_of_line(line: &str) -> Result<TopicConfig, RegistrationError> {
    let parse = || {
        // Attributes may hold spaces; they are everything behind the fifth.
        let mut parts = line.splitn(6, ' ');
        let topic_name = parts.next()?.to_owned();
        let mut number = || parts.next()?.parse().ok();
        let (read_queue_nums, write_queue_nums, perm) = (number()?, number()?, number()?);
        let mut topic = TopicConfig { perm, read_queue_nums, topic_name, write_queue_nums, ..TopicConfig::default() };
        topic.topic_filter_type = TopicFilterType::from_name(parts.next()?);
        // The reference goes on without attributes that do not parse.
        topic.attributes = parts.next().and_then(|text| json::from_str(text).ok()).unwrap_or_default();
        Some(topic)
    };
    parse().ok_or_else(|| RegistrationError::Topic(line.chars().take(200).collect()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::protocol::data_version::DataVersion;

    fn registration() -> RegisterBrokerBody {
        let mut body = RegisterBrokerBody::default();
        let wrapper = &mut body.topic_config_serialize_wrapper;
        wrapper.data_version = DataVersion { counter: 3, state_version: 1, timestamp: 1_700_000_000_000 };
        let attributes = BTreeMap::from([("message.type".to_owned(), "A B".to_owned())]);
        for (name, perm) in [("T", 6), ("%RETRY%g", 4)] {
            let topic = TopicConfig {
                topic_name: name.into(),
                read_queue_nums: 4,
                write_queue_nums: 8,
                perm,
                attributes: attributes.clone(),
                ..Default::default()
            };
            wrapper.topic_config_table.insert(name.into(), topic);
        }
        let mapping = TopicQueueMappingInfo { topic: "S".into(), total_queues: 2, ..Default::default() };
        wrapper.topic_queue_mapping_info_map.insert("S".into(), mapping);
        body.filter_server_list.push("127.0.0.1:1".into());
        body
    }

    #[test]
    fn both_forms_read_back() {
        for compressed in [false, true] {
            let bytes = registration().encode(compressed);
            assert_eq!(RegisterBrokerBody::decode(&bytes, compressed, VERSION_5_0_0).unwrap(), registration());
        }
    }

    #[test]
    fn a_broker_of_4x_sends_no_static_topics() {
        let body = RegisterBrokerBody::decode(&registration().encode(true), true, VERSION_5_0_0 - 1).unwrap();
        assert!(body.topic_config_serialize_wrapper.topic_queue_mapping_info_map.is_empty());
        assert_eq!(body.topic_config_serialize_wrapper.topic_config_table.len(), 2);
    }

    #[test]
    fn topic_lines_without_attributes_are_those_of_4x() {
        assert_eq!(topic_of_line("T 4 8 6 MULTI_TAG").unwrap().topic_filter_type, TopicFilterType::MultiTag);
        assert_eq!(topic_of_line("T 4 8 6 SINGLE_TAG {broken").unwrap().write_queue_nums, 8);
        assert!(topic_of_line("T 4 8").is_err());
        assert!(topic_of_line("T x 8 6 SINGLE_TAG").is_err());
    }

    #[test]
    fn a_cut_stream_is_an_error() {
        let bytes = registration().encode(true);
        for end in 0..bytes.len() - 8 {
            assert!(RegisterBrokerBody::decode(&bytes[..end], true, VERSION_5_0_0).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_content_is_a_registration_or_an_error(plain in any::<Vec<u8>>()) {
            let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&plain).unwrap();
            let _ = RegisterBrokerBody::decode(&packer.finish().unwrap(), true, VERSION_5_0_0);
            let _ = RegisterBrokerBody::decode(&plain, true, VERSION_5_0_0);
        }
    }
}
