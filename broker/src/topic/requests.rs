//! Requests about topics: codes 17, 18, 21, 215, 305, 316 and 351.

use std::collections::BTreeMap;

use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::topic::{
    CreateTopicListRequestBody, CreateTopicRequestHeader, DeleteTopicRequestHeader, GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader, GetTopicConfigRequestHeader, TopicConfig, TopicConfigAndMappingSerializeWrapper,
    TopicConfigAndQueueMapping, TopicFilterType, TopicList,
};
use apogee_remoting::{Command, ResponseCode, json};
use apogee_store::light::is_light;

use super::{is_system_topic, system};
use crate::Broker;
use crate::answer::{Answer, NOT_SET, NotDone, Refusal};
use crate::names;
use crate::saved_table::Saving;

/// Creates or changes a topic (17).
pub(crate) fn update(broker: &Broker, request: &Command) -> Result<(Command, Saving), NotDone> {
    let header: CreateTopicRequestHeader<'_> = request.header()?;
    let config = TopicConfig {
        topic_name: header.topic.to_owned(),
        read_queue_nums: header.read_queue_nums,
        write_queue_nums: header.write_queue_nums,
        perm: header.perm,
        topic_filter_type: match TopicFilterType::from_name(header.topic_filter_type) {
            TopicFilterType::Unknown => {
                let remark = format!("topicFilterType = [{}] value invalid", header.topic_filter_type);
                return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark).into());
            }
            known => known,
        },
        topic_sys_flag: header.topic_sys_flag.unwrap_or(0),
        order: header.order,
        attributes: parse_attributes(header.attributes.unwrap_or_default())?,
    };
    apply(broker, vec![config])
}

/// Creates or changes several topics (18), all or none.
pub(crate) fn update_list(broker: &Broker, request: &Command) -> Result<(Command, Saving), NotDone> {
    let body: CreateTopicListRequestBody = json::from_slice(&request.body.bytes())?;
    apply(broker, body.topic_config_list)
}

/// Deletes a topic, what groups know of it, and its queues (215). It may wait for the disk.
pub(crate) fn delete(broker: &Broker, request: &Command) -> Answer {
    let header: DeleteTopicRequestHeader<'_> = request.header()?;
    if header.topic.trim().is_empty() {
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, "The specified topic is blank."));
    }
    refuse_system_topic(broker, header.topic)?;
    let (deletion, saving) = loop {
        match broker.topics.delete(header.topic) {
            Ok(begun) => break begun,
            Err(other) => {
                if other.wait()? {
                    // What somebody made anew since then is not what was to be deleted.
                    return Ok(Command::response(ResponseCode::SUCCESS));
                }
            }
        }
    };
    saving.wait()?;
    broker.offsets.remove_topic(header.topic);
    broker.stats.remove_topic(header.topic);
    broker.store.delete_topic(header.topic)?;
    deletion.through();
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// Names of the topics that are this broker's own (305).
pub(crate) fn own(broker: &Broker) -> Command {
    let body = TopicList { topic_list: system::names(&broker.settings()), ..TopicList::default() };
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body))
}

/// Removes the queues of topics that are no longer there (316).
pub(crate) fn clean_unused(broker: &Broker, _request: &Command) -> Answer {
    for topic in broker.store.topics() {
        if names::is_system_topic(&topic) || is_light(&topic) {
            continue;
        }
        // Not through with all that there is of it: who deletes it meanwhile has offsets to remove.
        if let Some(_deletion) = broker.topics.delete_rest(&topic) {
            tracing::info!(topic = &*topic, "removing the queues of a topic that is not there");
            broker.store.delete_topic(&topic)?;
        }
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// All topics (21), whole or in pages.
pub(crate) fn get_all(broker: &Broker, request: &Command) -> Answer {
    let header: GetAllTopicConfigRequestHeader<'_> = request.header()?;
    let settings = broker.settings();
    let topics = broker.topics.snapshot();
    let total = topics.topic_config_table.len();
    let is_paged = header.topic_seq.is_some() || header.max_topic_num.is_some() || header.data_version.is_some();
    let topic_config_table = if settings.broker.enable_split_metadata && is_paged {
        let limit = header.max_topic_num.unwrap_or(i32::MAX).min(settings.broker.split_metadata_size);
        let start = page_start(header.topic_seq, header.data_version, &topics.data_version);
        topics.topic_config_table.into_iter().skip(start).take(limit.max(0) as usize).collect()
    } else {
        topics.topic_config_table
    };
    let body = TopicConfigAndMappingSerializeWrapper {
        data_version: topics.data_version,
        topic_config_table,
        ..TopicConfigAndMappingSerializeWrapper::default()
    };
    let header = GetAllTopicConfigResponseHeader { total_topic_num: Some(total as i32) };
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&header).with_body(json::to_vec(&body)))
}

/// One topic (351).
pub(crate) fn get(broker: &Broker, request: &Command) -> Answer {
    let header: GetTopicConfigRequestHeader<'_> = request.header()?;
    let config = broker.topics.get(header.topic).ok_or_else(|| {
        Refusal::new(ResponseCode::TOPIC_NOT_EXIST, format!("No topic in this broker. topic: {}", header.topic))
    })?;
    let body = TopicConfigAndQueueMapping {
        attributes: config.attributes.clone(),
        mapping_detail: None,
        order: config.order,
        perm: config.perm,
        read_queue_nums: config.read_queue_nums,
        topic_filter_type: config.topic_filter_type,
        topic_name: config.topic_name.clone(),
        topic_sys_flag: config.topic_sys_flag,
        write_queue_nums: config.write_queue_nums,
    };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// Where a page of a sorted table begins: at the start if the table changed since the first page.
pub(crate) fn page_start(sequence: Option<i32>, asked: Option<&str>, version: &DataVersion) -> usize {
    let start = sequence.unwrap_or(0).max(0) as usize;
    let is_same = asked.is_some_and(|text| json::from_str::<DataVersion>(text).is_ok_and(|asked| asked == *version));
    if is_same { start } else { 0 }
}

fn apply(broker: &Broker, configs: Vec<TopicConfig>) -> Result<(Command, Saving), NotDone> {
    for config in &configs {
        names::check_topic(&config.topic_name)
            .map_err(|remark| Refusal::new(ResponseCode::INVALID_PARAMETER, remark))?;
        refuse_system_topic(broker, &config.topic_name)?;
        check_values(config)?;
        let is_mixed = config.attributes.get("+message.type").is_some_and(|kind| kind == "MIXED");
        if is_mixed && !broker.settings().broker.enable_mixed_message_type {
            return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, "MIXED message type is not supported.").into());
        }
    }
    let saving = broker.topics.update(configs)?;
    Ok((Command::response(ResponseCode::SUCCESS).with_remark(NOT_SET), saving))
}

/// Numbers that no topic can have. The reference checks none of them and serves the topic badly afterwards.
fn check_values(config: &TopicConfig) -> Result<(), Refusal> {
    let refuse = |what: String| Err(Refusal::new(ResponseCode::INVALID_PARAMETER, what));
    if config.read_queue_nums < 0 || config.write_queue_nums < 0 {
        return refuse(format!("The number of queues of topic[{}] is negative.", config.topic_name));
    }
    if !(0..8).contains(&config.perm) {
        return refuse(format!("The perm {} of topic[{}] is not in 0..7.", config.perm, config.topic_name));
    }
    Ok(())
}

fn refuse_system_topic(broker: &Broker, topic: &str) -> Result<(), Refusal> {
    let settings = broker.settings();
    if settings.broker.validate_system_topic_when_update_topic && is_system_topic(&settings, topic) {
        let remark = format!("The topic[{topic}] is conflict with system topic.");
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, remark));
    }
    Ok(())
}

/// Reads `+a=b,-c` as the changes that it names.
fn parse_attributes(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let mut changes = BTreeMap::new();
    let refuse = |remark: String| Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) if name.contains('+') => (name, value),
            Some((name, _)) => return refuse(format!("add/alter attribute format is wrong: {name}")),
            None if part.contains('-') => (part, ""),
            None => return refuse(format!("delete attribute format is wrong: {part}")),
        };
        if changes.insert(name.to_owned(), value.to_owned()).is_some() {
            return refuse(format!("key duplication: {name}"));
        }
    }
    Ok(changes)
}
