//! Numbers of topics: code 202.

use apogee_remoting::protocol::stats::{GetTopicStatsInfoRequestHeader, TopicOffset, TopicStatsTable};
use apogee_remoting::{Command, ResponseCode, json};

use super::queue;
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// The queues of a topic: where they begin and end, and when the last message came (202). It may wait for the disk.
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
