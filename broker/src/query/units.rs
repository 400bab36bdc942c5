//! Consume queue units as they are: code 321.

use apogee_remoting::protocol::query::{
    ConsumeQueueData, QueryConsumeQueueRequestHeader, QueryConsumeQueueResponseBody,
};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::{Answer, NOT_SET, Refusal};

/// Units of a queue from an index on, and what a group wants of the topic (321). It may wait for the disk.
pub(crate) fn units(broker: &Broker, request: &Command) -> Answer {
    let header: QueryConsumeQueueRequestHeader<'_> = request.header()?;
    let (topic, queue_id, index) = (header.topic.unwrap_or_default(), header.queue_id, header.index);
    if !broker.store.queue_ids(topic).contains(&queue_id) {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, format!("{queue_id}@{topic} is not exist!")));
    }
    let (min, max) = (broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id));
    let answer = Command::response(ResponseCode::SUCCESS);
    if !(min..max).contains(&index) {
        return Ok(answer.with_remark(format!("Index {index} of {queue_id}@{topic} is not exist!")));
    }
    let count = usize::try_from(header.count).unwrap_or(0);
    let units = broker.store.units(topic, queue_id, index, count)?.into_iter().map(|(_, unit)| ConsumeQueueData {
        physic_offset: unit.physical_offset,
        physic_size: unit.size,
        tags_code: unit.tags_code,
        ..ConsumeQueueData::default()
    });
    let mut body = QueryConsumeQueueResponseBody {
        max_queue_index: max,
        min_queue_index: min,
        queue_data: Some(units.collect()),
        ..QueryConsumeQueueResponseBody::default()
    };
    if let Some(name) = header.consumer_group {
        let subscription = broker.consumers.group(name).and_then(|group| group.subscription(topic));
        body.filter_data = Some(match &subscription {
            // No filter of the topic is kept by itself.
            Some(_) => "null".to_owned(),
            None => format!("{name}@{topic} is not online!"),
        });
        body.subscription_data = subscription.map(|subscription| subscription.data.clone());
    }
    Ok(answer.with_remark(NOT_SET).with_body(json::to_vec(&body)))
}
