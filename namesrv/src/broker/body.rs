//! What the body of a registration says, in its three forms.

use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::register::RegisterBrokerBody;
use apogee_remoting::protocol::registration::RegistrationError;
use apogee_remoting::protocol::static_topic::TopicQueueMappingInfo;
use apogee_remoting::protocol::topic::{TopicConfig, TopicConfigSerializeWrapper};

use crate::route::Queues;

/// What a broker announces of its topics.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Announced {
    /// Version of the topic configuration.
    pub version: DataVersion,
    /// Topics by name.
    pub topics: Vec<(String, Queues)>,
    /// Queue mappings of static topics.
    pub mappings: Vec<TopicQueueMappingInfo>,
    /// Filter servers; brokers before 3.0.11 announce none.
    pub filter_servers: Option<Vec<String>>,
}

impl Announced {
    /// Reads the body of a broker of protocol version `sender`; an empty one announces nothing.
    pub(super) fn read(body: &[u8], compressed: bool, sender: i32) -> Result<Self, RegistrationError> {
        let old = sender < VERSION_3_0_11;
        if body.is_empty() {
            return Ok(Self { filter_servers: (!old).then(Vec::new), ..Self::default() });
        }
        if old {
            let wrapper: TopicConfigSerializeWrapper = json::from_slice(body)?;
            return Ok(Self {
                version: wrapper.data_version,
                topics: wrapper.topic_config_table.into_iter().map(queues).collect(),
                ..Self::default()
            });
        }
        // With `compressedRegister` a 5.5.0 broker compresses the body and says `compressed=false`; its own
        // name server refuses that.
        let compressed = compressed || body.first() == Some(&ZLIB);
        let body = RegisterBrokerBody::decode(body, compressed, sender)?;
        let wrapper = body.topic_config_serialize_wrapper;
        Ok(Self {
            version: wrapper.data_version,
            topics: wrapper.topic_config_table.into_iter().map(queues).collect(),
            mappings: wrapper.topic_queue_mapping_info_map.into_values().collect(),
            filter_servers: Some(body.filter_server_list),
        })
    }
}

fn queues((key, topic): (String, TopicConfig)) -> (String, Queues) {
    let name = if topic.topic_name.is_empty() { key } else { topic.topic_name };
    let queues = Queues {
        read: topic.read_queue_nums,
        write: topic.write_queue_nums,
        perm: topic.perm,
        sys_flag: topic.topic_sys_flag,
    };
    (name, queues)
}

/// Ordinal of the first version that sends more than its topics.
const VERSION_3_0_11: i32 = 37;

/// First byte of a zlib stream, which no JSON begins with.
const ZLIB: u8 = 0x78;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_before_3_0_11_send_their_topics_only() {
        let body = br#"{"dataVersion":{"counter":3},"topicConfigTable":{"T":{"readQueueNums":2,"topicName":"T"}}}"#;
        let announced = Announced::read(body, false, 36).unwrap();
        assert_eq!((announced.version.counter, announced.filter_servers), (3, None));
        assert_eq!(announced.topics, [("T".to_owned(), Queues { read: 2, write: 16, perm: 6, sys_flag: 0 })]);
    }

    #[test]
    fn a_topic_without_a_name_goes_by_its_key() {
        let body = br#"{"topicConfigSerializeWrapper":{"topicConfigTable":{"K":{"perm":4}}}}"#;
        let announced = Announced::read(body, false, 513).unwrap();
        assert_eq!(announced.topics[0].0, "K");
        assert_eq!(announced.filter_servers, Some(Vec::new()));
    }

    #[test]
    fn a_compressed_body_is_seen_whatever_the_header_says() {
        let mut body = RegisterBrokerBody::default();
        let topic = TopicConfig { topic_name: "T".into(), ..TopicConfig::default() };
        body.topic_config_serialize_wrapper.topic_config_table.insert("T".into(), topic);
        for header in [true, false] {
            let announced = Announced::read(&body.encode(true), header, 513).unwrap();
            assert_eq!(announced.topics[0].0, "T");
        }
    }

    #[test]
    fn an_empty_body_announces_nothing_and_a_broken_one_is_refused() {
        assert_eq!(Announced::read(b"", false, 513).unwrap().filter_servers, Some(Vec::new()));
        assert_eq!(Announced::read(b"", false, 0).unwrap(), Announced::default());
        for (compressed, sender) in [(false, 513), (true, 513), (false, 0)] {
            assert!(Announced::read(b"{", compressed, sender).is_err());
        }
    }
}
