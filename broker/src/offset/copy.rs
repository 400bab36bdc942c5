//! What groups learn from each other's offsets: codes 308 and 314.

use std::collections::BTreeMap;

use apogee_remoting::protocol::reset_offset::{
    CloneGroupOffsetRequestHeader, QueryCorrectionOffsetBody, QueryCorrectionOffsetHeader,
};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::Answer;

/// Lets a group go on where another one is (314), in one topic or in all that the other has consumed of.
pub(crate) fn clone(broker: &Broker, request: &Command) -> Answer {
    let header: CloneGroupOffsetRequestHeader<'_> = request.header()?;
    let topics = match header.topic.filter(|topic| !topic.trim().is_empty()) {
        Some(topic) => vec![topic.to_owned()],
        None => broker.offsets.topics_of(header.src_group),
    };
    let source = broker.consumers.group(header.src_group);
    // What a connected group no longer subscribes to is of no interest to the other, unless asked for.
    let is_wanted = |topic: &str| header.offline || source.as_ref().is_none_or(|group| group.may_want(topic));
    for topic in topics.iter().filter(|topic| broker.topics.contains(topic) && is_wanted(topic)) {
        broker.offsets.copy(header.src_group, header.dest_group, topic);
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// The smallest offset of all groups in each queue of a topic (308), for a group that is to follow the slowest. Where that
/// group itself is the slowest, the answer is the largest number.
pub(crate) fn correction(broker: &Broker, request: &Command) -> Answer {
    let header: QueryCorrectionOffsetHeader<'_> = request.header()?;
    let left_out: Vec<_> = header.filter_groups.unwrap_or_default().split(',').collect();
    let mut smallest = BTreeMap::new();
    for (group, consumed) in broker.offsets.consumed_by_all(header.topic) {
        if left_out.contains(&&*group) {
            continue;
        }
        // An offset before the oldest message is of a group that is not at work.
        for (queue_id, offset) in consumed {
            if offset >= broker.store.min_offset(header.topic, queue_id) {
                smallest.entry(queue_id).and_modify(|least| *least = offset.min(*least)).or_insert(offset);
            }
        }
    }
    for (queue_id, own) in broker.offsets.consumed_of(header.compare_group, header.topic) {
        if let Some(least) = smallest.get_mut(&queue_id).filter(|least| **least > own) {
            *least = i64::MAX;
        }
    }
    let body = QueryCorrectionOffsetBody { correction_offsets: smallest };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}
