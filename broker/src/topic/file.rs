//! The file `topics.json`, put together of the texts of all topics, which are kept.

use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::topic::TopicConfig;

use super::Topic;
use crate::saved_table::Entries;

/// A topic's part of the file: its name and its configuration.
pub(super) fn text_of(config: &TopicConfig) -> Vec<u8> {
    let mut text = json::to_vec_pretty(&config.topic_name);
    text.push(b':');
    text.append(&mut json::to_vec_pretty_within(config, TOPIC_DEPTH));
    text
}

/// The file's content: a `TopicConfigSerializeWrapper`.
pub(super) fn content(version: DataVersion, topics: &Entries<Topic>) -> Vec<u8> {
    let version = json::to_vec_pretty_within(&version, TOPIC_DEPTH - 1);
    let size: usize = topics.values().map(|topic| TOPIC.len() + topic.text().len()).sum();
    let mut content = Vec::with_capacity(VERSION.len() + version.len() + TABLE.len() + size + END.len());
    content.extend_from_slice(VERSION);
    content.extend_from_slice(&version);
    content.extend_from_slice(TABLE);
    for (number, topic) in topics.values().enumerate() {
        let separator = if number == 0 { &TOPIC[1..] } else { TOPIC };
        content.extend_from_slice(separator);
        content.extend_from_slice(topic.text());
    }
    content.extend_from_slice(if topics.is_empty() { &END[2..] } else { END });
    content
}

/// Brackets around a topic.
const TOPIC_DEPTH: usize = 2;
const VERSION: &[u8] = b"{\n\t\"dataVersion\":";
const TABLE: &[u8] = b",\n\t\"topicConfigTable\":{";
const TOPIC: &[u8] = b",\n\t\t";
const END: &[u8] = b"\n\t}\n}";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apogee_remoting::protocol::topic::TopicConfigSerializeWrapper;

    use super::*;

    #[test]
    fn the_content_is_the_json_of_the_table() {
        let version = DataVersion { counter: 7, state_version: 0, timestamp: 1_700_000_000_000 };
        let attributes = [("queue.type", "BatchCQ"), ("a\"b", "")].map(|(name, value)| (name.into(), value.into()));
        let configs = [
            TopicConfig { topic_name: "T".into(), ..TopicConfig::default() },
            TopicConfig { topic_name: "%RETRY%G".into(), order: true, perm: 4, ..TopicConfig::default() },
            TopicConfig {
                topic_name: "a \"name\"\\\u{1}\u{e4}".into(),
                attributes: attributes.into(),
                ..TopicConfig::default()
            },
        ];
        for count in 0..=configs.len() {
            let configs = configs[..count].iter().map(|config| (config.topic_name.clone(), config.clone()));
            let topics =
                configs.clone().map(|(name, config)| (Arc::from(name), Arc::new(Topic::from(config)))).collect();
            let table = TopicConfigSerializeWrapper { data_version: version, topic_config_table: configs.collect() };
            let content = String::from_utf8(content(version, &topics)).unwrap();
            assert_eq!(content, String::from_utf8(json::to_vec_pretty(&table)).unwrap());
        }
    }
}
