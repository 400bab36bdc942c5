//! Numbers of topics and of groups: codes 202 and 208.

use std::collections::BTreeSet;

use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::stats::{
    ConsumeStats, GetConsumeStatsRequestHeader, GetTopicStatsInfoRequestHeader, OffsetWrapper, TopicOffset,
    TopicStatsTable,
};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::{Answer, Refusal};

/// The queues of a topic: where they begin and end, and when the last message came (202).
pub(crate) fn topic(broker: &Broker, request: &Command) -> Answer {
    let header: GetTopicStatsInfoRequestHeader<'_> = request.header()?;
    let topic = header.topic;
    let config = broker
        .topics
        .get(topic)
        .ok_or_else(|| Refusal::new(ResponseCode::TOPIC_NOT_EXIST, format!("topic[{topic}] not exist")))?;
    let mut table = TopicStatsTable::default();
    for queue_id in 0..config.write_queue_nums.max(config.read_queue_nums) {
        let max_offset = broker.store.max_offset(topic, queue_id).max(0);
        let last = if max_offset > 0 { broker.store.store_time(topic, queue_id, max_offset - 1)? } else { 0 };
        let offsets = TopicOffset {
            last_update_timestamp: last,
            max_offset,
            min_offset: broker.store.min_offset(topic, queue_id).max(0),
        };
        table.offset_table.insert(queue(broker, topic, queue_id), offsets);
    }
    table.topic_put_tps = broker.stats.stored_per_second(topic);
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&table)))
}

/// How far a group is with its topics (208).
pub(crate) fn consume(broker: &Broker, request: &Command) -> Answer {
    let header: GetConsumeStatsRequestHeader<'_> = request.header()?;
    let group = header.consumer_group;
    let mut stats = ConsumeStats::default();
    for topic in topics(broker, &header) {
        let Some(config) = broker.topics.get(&topic) else { continue };
        for queue_id in 0..config.read_queue_nums {
            let consumed = broker.offsets.consumed(group, &topic, queue_id).unwrap_or(-1).max(0);
            let pulled = broker.offsets.pulled(group, &topic, queue_id).unwrap_or(-1);
            let last = if consumed > 0 { broker.store.store_time(&topic, queue_id, consumed - 1)? } else { 0 };
            let offsets = OffsetWrapper {
                broker_offset: broker.store.max_offset(&topic, queue_id).max(0),
                consumer_offset: consumed,
                last_timestamp: last.max(0),
                pull_offset: pulled.max(consumed),
            };
            stats.offset_table.insert(queue(broker, &topic, queue_id), offsets);
        }
        stats.consume_tps += broker.stats.pulled_per_second(group, &topic);
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&stats)))
}

/// The topics asked for; of a connected group only those that it still subscribes to, unless they are listed.
fn topics(broker: &Broker, header: &GetConsumeStatsRequestHeader<'_>) -> BTreeSet<String> {
    let listed = header.topic_list.unwrap_or_default().split(';').filter(|topic| !topic.is_empty());
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    if !listed.is_empty() {
        return listed;
    }
    let asked = match header.topic.filter(|topic| !topic.trim().is_empty()) {
        Some(topic) => vec![topic.to_owned()],
        None => broker.offsets.topics_of(header.consumer_group),
    };
    let group = broker.consumers.group(header.consumer_group);
    asked.into_iter().filter(|topic| group.as_ref().is_none_or(|group| group.may_want(topic))).collect()
}

pub(super) fn queue(broker: &Broker, topic: &str, queue_id: i32) -> MessageQueue {
    MessageQueue { broker_name: broker.settings().broker.broker_name.clone(), queue_id, topic: topic.to_owned() }
}
