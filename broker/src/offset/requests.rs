//! Requests about offsets: codes 14, 15, 29 to 32 and 43.

use std::borrow::Cow;

use apogee_remoting::protocol::offset::{
    BoundaryType, GetEarliestMsgStoretimeRequestHeader, GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader, GetMinOffsetRequestHeader, GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader, QueryConsumerOffsetResponseHeader, SearchOffsetRequestHeader,
    SearchOffsetResponseHeader, UpdateConsumerOffsetRequestHeader,
};
use apogee_remoting::{Command, ResponseCode, json};

use apogee_store::Boundary;

use crate::Broker;
use crate::answer::Answer;

/// Where a group is with a queue (14).
///
/// A group that has not consumed yet begins at 0 if the queue is young: nothing of it expired, and its
/// first message has not left the memory. Otherwise the client decides by its own setting.
pub(crate) fn query(broker: &Broker, request: &Command) -> Answer {
    let header: QueryConsumerOffsetRequestHeader<'_> = request.header()?;
    let (topic, queue_id) = (header.topic, header.queue_id);
    let offset = match broker.offsets.consumed(header.consumer_group, topic, queue_id).filter(|offset| *offset >= 0) {
        Some(offset) => offset,
        None if header.set_zero_if_not_found == Some(false) => {
            return Ok(not_found("Not found, do not set to zero, maybe this group boot first"));
        }
        None if is_young(broker, topic, queue_id) => 0,
        None => return Ok(not_found("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")),
    };
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&QueryConsumerOffsetResponseHeader { offset }))
}

/// Whether a queue's first message is still there and in memory. A queue without messages is not young:
/// a consumer that asks for what comes from now on must not get the first message of a later moment.
fn is_young(broker: &Broker, topic: &str, queue_id: i32) -> bool {
    broker.store.min_offset(topic, queue_id) <= 0
        && broker.store.max_offset(topic, queue_id) > 0
        && broker.store.is_in_memory(topic, queue_id, 0)
}

/// Notes how far a group has consumed (15).
pub(crate) fn update(broker: &Broker, request: &Command) -> Answer {
    let header: UpdateConsumerOffsetRequestHeader<'_> = request.header()?;
    let (group, topic, queue_id) = (header.consumer_group, header.topic, header.queue_id);
    if broker.groups.get(group).is_none() {
        return Ok(refused(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, format!("Group {group} not exist!")));
    }
    if !broker.topics.contains(topic) {
        return Ok(refused(ResponseCode::TOPIC_NOT_EXIST, format!("Topic {topic} not exist!")));
    }
    // Clients come to a slave while they do not reach the master.
    let noted = broker.replication.replica.as_ref().map(|_| broker.offsets.note_committed_here(group, topic, queue_id));
    let answer = Command::response(ResponseCode::SUCCESS).with_empty_header();
    let is_committed = broker.commit_offset(group, topic, queue_id, header.commit_offset);
    drop(noted);
    if is_committed { Ok(answer) } else { Ok(answer.with_remark("Offset has been previously reset")) }
}

/// The offset of the message that was stored at a time (29).
pub(crate) fn search(broker: &Broker, request: &Command) -> Answer {
    let header: SearchOffsetRequestHeader<'_> = request.header()?;
    let boundary = match header.boundary_type.unwrap_or_default() {
        BoundaryType::Lower => Boundary::Lower,
        BoundaryType::Upper => Boundary::Upper,
    };
    let offset = broker.store.offset_by_time(header.topic, header.queue_id, header.timestamp, boundary)?;
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&SearchOffsetResponseHeader { offset }))
}

/// The offset behind a queue's newest message (30).
pub(crate) fn max(broker: &Broker, request: &Command) -> Answer {
    let header: GetMaxOffsetRequestHeader<'_> = request.header()?;
    let offset = broker.store.max_offset(header.topic, header.queue_id);
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&GetMaxOffsetResponseHeader { offset }))
}

/// The offset of a queue's oldest message (31).
pub(crate) fn min(broker: &Broker, request: &Command) -> Answer {
    let header: GetMinOffsetRequestHeader<'_> = request.header()?;
    let offset = broker.store.min_offset(header.topic, header.queue_id);
    // The empty remark is the reference's.
    Ok(Command::response(ResponseCode::SUCCESS).with_remark("").with_header(&GetMinOffsetResponseHeader { offset }))
}

/// When a queue's oldest message was stored (32).
pub(crate) fn earliest_time(broker: &Broker, request: &Command) -> Answer {
    let header: GetEarliestMsgStoretimeRequestHeader<'_> = request.header()?;
    let timestamp = broker.store.earliest_time(header.topic, header.queue_id)?;
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&GetEarliestMsgStoretimeResponseHeader { timestamp }))
}

/// The offsets of all groups (43).
pub(crate) fn get_all(broker: &Broker) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&broker.offsets.snapshot()))
}

fn not_found(remark: &'static str) -> Command {
    refused(ResponseCode::QUERY_NOT_FOUND, remark)
}

/// A refusal with the empty header that the reference attaches here.
fn refused(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Command {
    Command::error(code, remark).with_empty_header()
}
