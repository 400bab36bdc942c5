//! How far groups are: codes 208 and 317.

use std::collections::{BTreeMap, BTreeSet};

use apogee_remoting::protocol::stats::{
    ConsumeStats, ConsumeStatsList, GetConsumeStatsInBrokerHeader, GetConsumeStatsRequestHeader, OffsetWrapper,
};
use apogee_remoting::{Command, ResponseCode, json};

use super::queue;
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// How far a group is with its topics (208). It may wait for the disk.
pub(crate) fn consume(broker: &Broker, request: &Command) -> Answer {
    let header: GetConsumeStatsRequestHeader<'_> = request.header()?;
    let mut stats = ConsumeStats::default();
    for topic in topics(broker, &header) {
        if let Some(config) = broker.topics.get(&topic) {
            add(broker, header.consumer_group, &topic, config.read_queue_nums, &mut stats)?;
        }
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&stats)))
}

/// How far all groups are with their topics, or with those that are ordered (317). It may wait for the disk.
pub(crate) fn consume_all(broker: &Broker, request: &Command) -> Answer {
    let header: GetConsumeStatsInBrokerHeader = request.header()?;
    let mut list = ConsumeStatsList { broker_addr: broker.address.clone(), ..ConsumeStatsList::default() };
    for group in broker.groups.snapshot().subscription_group_table.into_keys() {
        let mut of_group = Vec::new();
        for topic in subscribed(broker, &group, broker.offsets.topics_of(&group)) {
            let Some(config) = broker.topics.get(&topic).filter(|config| config.order || !header.is_order) else {
                continue;
            };
            let mut stats = ConsumeStats::default();
            add(broker, &group, &topic, config.write_queue_nums, &mut stats)?;
            for offsets in stats.offset_table.values() {
                list.total_diff += offsets.broker_offset - offsets.consumer_offset;
                list.total_inflight_diff += offsets.pull_offset - offsets.consumer_offset;
            }
            of_group.push(stats);
        }
        list.consume_stats_list.push(BTreeMap::from([(group, of_group)]));
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&list)))
}

/// Adds a group's offsets in the queues of a topic.
fn add(broker: &Broker, group: &str, topic: &str, queues: i32, stats: &mut ConsumeStats) -> Result<(), Refusal> {
    for queue_id in 0..queues {
        let consumed = broker.offsets.consumed(group, topic, queue_id).unwrap_or(-1).max(0);
        let pulled = broker.offsets.pulled(group, topic, queue_id).unwrap_or(-1);
        let last = if consumed > 0 { broker.store.store_time(topic, queue_id, consumed - 1)? } else { 0 };
        let offsets = OffsetWrapper {
            broker_offset: broker.store.max_offset(topic, queue_id).max(0),
            consumer_offset: consumed,
            last_timestamp: last.max(0),
            pull_offset: pulled.max(consumed),
        };
        stats.offset_table.insert(queue(broker, topic, queue_id), offsets);
    }
    stats.consume_tps += broker.stats.pulled_per_second(group, topic);
    Ok(())
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
    subscribed(broker, header.consumer_group, asked)
}

/// Those of the topics that a group subscribes to, as far as it is connected.
fn subscribed(broker: &Broker, group: &str, topics: Vec<String>) -> BTreeSet<String> {
    let group = broker.consumers.group(group);
    topics.into_iter().filter(|topic| group.as_ref().is_none_or(|group| group.may_want(topic))).collect()
}
