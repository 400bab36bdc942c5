//! Resetting where a group goes on: code 222, and 220 to its consumers.

use std::collections::BTreeMap;

use apogee_config::BrokerRole;
use apogee_remoting::command::Language;
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::reset_offset::{
    MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC, ResetOffsetRequestHeader,
};
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use apogee_store::Boundary;

use crate::Broker;
use crate::answer::{Answer, NOT_SET, Refusal};
use crate::client::Client;

/// First version of clients that can be told to go to another offset (`V3_0_7_SNAPSHOT`).
const CAN_BE_RESET: i32 = 28;
/// The time that stands for the end of the queue.
const END: i64 = -1;
/// The offset that stands for none.
const NO_OFFSET: i64 = -1;

/// Sets a group to a time or an offset (222), here or by way of its consumers. It may wait for the disk.
pub(crate) fn reset(broker: &Broker, request: &Command) -> Answer {
    let header: ResetOffsetRequestHeader<'_> = request.header()?;
    if broker.settings().broker.use_server_side_reset_offset {
        reset_here(broker, &header)
    } else {
        reset_consumers(broker, &header, request.language == Language::CPP)
    }
}

/// Notes the offsets here: each queue's consumer hears of its own with its next pull.
fn reset_here(broker: &Broker, header: &ResetOffsetRequestHeader<'_>) -> Answer {
    let (topic, group) = (header.topic, header.group);
    if broker.settings().store.broker_role == BrokerRole::Slave {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "Can not reset offset in slave broker"));
    }
    let config = broker
        .topics
        .get(topic)
        .ok_or_else(|| Refusal::new(ResponseCode::TOPIC_NOT_EXIST, format!("Topic {topic} does not exist")))?;
    if broker.groups.get(group).is_none() {
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, format!("Group {group} does not exist")));
    }
    let mut offsets = BTreeMap::new();
    if header.queue_id < 0 {
        for queue_id in 0..config.read_queue_nums {
            offsets.insert(queue_id, offset_at(broker, topic, queue_id, header.timestamp)?);
        }
    } else {
        let offset = match header.offset {
            Some(offset) if offset != NO_OFFSET => within(broker, topic, header.queue_id, offset)?,
            _ => offset_at(broker, topic, header.queue_id, header.timestamp)?,
        };
        offsets.insert(header.queue_id, offset);
    }
    if offsets.is_empty() {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "No queues to reset."));
    }
    for (queue_id, offset) in &offsets {
        broker.offsets.reset(group, topic, *queue_id, *offset);
        broker.held_pulls.wake(topic, *queue_id);
    }
    tracing::info!(topic, group, ?offsets, "offsets are reset");
    Ok(answer(broker, topic, &offsets))
}

/// An offset that an admin names.
fn within(broker: &Broker, topic: &str, queue_id: i32, offset: i64) -> Result<i64, Refusal> {
    let (min, max) = (broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id));
    if (min..=max + 1).contains(&offset) {
        return Ok(offset);
    }
    let remark = format!("Target offset {offset} not in consume queue range [{min}-{max}]");
    Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark))
}

/// Tells the group's consumers the offsets; they stop, commit them and go on.
fn reset_consumers(broker: &Broker, header: &ResetOffsetRequestHeader<'_>, is_c: bool) -> Answer {
    let (topic, group) = (header.topic, header.group);
    let config = broker.topics.get(topic).ok_or_else(|| {
        let remark = format!("[reset-offset] reset offset failed, no topic in this broker. topic={topic}");
        Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark)
    })?;
    let offsets = consumer_offsets(broker, header, &config)?;
    let consumers = broker.consumers.group(group).map(|group| group.clients()).unwrap_or_default();
    if consumers.is_empty() {
        let remark = format!(
            "Consumer not online, so can not reset offset, Group: {group} Topic: {topic} Timestamp: {}",
            header.timestamp
        );
        return Err(Refusal::new(ResponseCode::CONSUMER_NOT_ONLINE, remark));
    }
    let told = ResetOffsetRequestHeader { queue_id: -1, offset: None, is_force: false, ..*header };
    let body = if is_c { body_for_c(broker, topic, &offsets) } else { body(broker, topic, &offsets) };
    let note = Command::request(RequestCode::RESET_CONSUMER_CLIENT_OFFSET).with_header(&told).with_body(body).one_way();
    for Client { id, peer, version, .. } in consumers {
        if version < CAN_BE_RESET {
            let remark = format!("the client does not support this feature. version={version}");
            return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
        }
        if let Err(error) = peer.send(note.clone()) {
            tracing::warn!(topic, group, client = id, %error, "a consumer is not told that its offsets are reset");
        }
    }
    tracing::info!(topic, group, ?offsets, "consumers are told that their offsets are reset");
    Ok(answer(broker, topic, &offsets).with_remark(NOT_SET))
}

/// Where the group is to go on. Without force it only goes back.
fn consumer_offsets(
    broker: &Broker,
    header: &ResetOffsetRequestHeader<'_>,
    config: &TopicConfig,
) -> Result<BTreeMap<i32, i64>, Refusal> {
    let (topic, group) = (header.topic, header.group);
    let offset = |queue_id| {
        let consumed = broker.offsets.consumed(group, topic, queue_id).ok_or_else(|| {
            Refusal::new(ResponseCode::SYSTEM_ERROR, format!("THe consumer group <{group}> not exist"))
        })?;
        let wanted = match header.timestamp {
            END => broker.store.max_offset(topic, queue_id),
            time => broker.store.offset_by_time(topic, queue_id, time, Boundary::Lower)?,
        };
        Ok((queue_id, if header.is_force { wanted } else { wanted.min(consumed) }))
    };
    (0..config.write_queue_nums).map(offset).collect()
}

/// The offset of a time (ms); a negative one is the end.
fn offset_at(broker: &Broker, topic: &str, queue_id: i32, time: i64) -> Result<i64, Refusal> {
    if time < 0 {
        return Ok(broker.store.max_offset(topic, queue_id));
    }
    Ok(broker.store.offset_by_time(topic, queue_id, time, Boundary::Lower)?)
}

fn answer(broker: &Broker, topic: &str, offsets: &BTreeMap<i32, i64>) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(body(broker, topic, offsets))
}

fn body(broker: &Broker, topic: &str, offsets: &BTreeMap<i32, i64>) -> Vec<u8> {
    let broker_name = &broker.settings().broker.broker_name;
    let named = offsets.iter().map(|(queue_id, offset)| {
        let queue = MessageQueue { broker_name: broker_name.clone(), queue_id: *queue_id, topic: topic.to_owned() };
        (queue, *offset)
    });
    json::to_vec(&ResetOffsetBody { offset_table: named.collect() })
}

/// The same as a list, for clients that cannot read objects as keys.
fn body_for_c(broker: &Broker, topic: &str, offsets: &BTreeMap<i32, i64>) -> Vec<u8> {
    let broker_name = &broker.settings().broker.broker_name;
    let named = offsets.iter().map(|(queue_id, offset)| MessageQueueForC {
        broker_name: broker_name.clone(),
        offset: *offset,
        queue_id: *queue_id,
        topic: topic.to_owned(),
    });
    json::to_vec(&ResetOffsetBodyForC { offset_table: named.collect() })
}
