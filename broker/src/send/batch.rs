//! Several messages in one request: records of their own or, for topics with batch queues, one record.

use apogee_remoting::message::batch::{BatchMember, decode};
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{Properties, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::send::{SendMessageRequestHeader, SendMessageResponseHeader};
use apogee_remoting::protocol::topic::TopicFilterType;
use apogee_remoting::server::Peer;
use apogee_remoting::{Command, ResponseCode};
use apogee_store::{AppendError, QueueKind};

use super::{Stored, check, inner_batch, properties, refusal};
use crate::Broker;
use crate::answer::{NotDone, Refusal};
use crate::names;
use crate::settings::Settings;
use crate::topic::queue_kind;

/// Longest topic of a batch, as in the reference.
const LONGEST_TOPIC: usize = 127;

/// Stores the members of a batch, all or none: next to one another, each as a record of its own, or as one record.
pub(super) fn send(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    message: &SendMessageRequestHeader<'_>,
    request: &Command,
) -> Result<Stored<'static>, NotDone> {
    let illegal = |remark: String| Refusal::new(ResponseCode::MESSAGE_ILLEGAL, remark);
    let topic = check::check(broker, settings, peer, message)?;
    let queue_id = check::queue(message.queue_id, topic.write_queue_nums);
    if message.topic.len() > LONGEST_TOPIC {
        return Err(illegal(format!("message topic length too long {}", message.topic.len())).into());
    }
    if message.topic.starts_with(names::RETRY_PREFIX) {
        return Err(illegal(format!("batch request does not support retry group {}", message.topic)).into());
    }
    let body = request.body.bytes();
    let limit = usize::try_from(settings.store.max_message_size).unwrap_or(0);
    if body.len() > limit {
        // As the reference, which then ends in an exception: the limit is for the batch as a whole.
        let error = AppendError::MessageTooLarge { size: body.len(), limit };
        return Err(refusal::refusal(broker, settings, &error).into());
    }
    let members: Vec<BatchMember<'_>> =
        decode(&body).collect::<Result<_, _>>().map_err(|error| illegal(format!("the batch is malformed: {error}")))?;
    if members.is_empty() {
        return Err(illegal("the batch holds no message".to_owned()).into());
    }
    let sent = Properties::new(message.properties.unwrap_or_default().as_bytes());
    let multi_tag = topic.topic_filter_type == TopicFilterType::MultiTag;
    let draft = Draft {
        topic: message.topic,
        queue_id,
        flag: message.flag,
        sys_flag: message.sys_flag | if multi_tag { sys_flag::MULTI_TAGS } else { 0 },
        born_timestamp: message.born_timestamp,
        born_host: peer.address(),
        store_host: broker.store_host,
        reconsume_times: message.reconsume_times.unwrap_or(0),
        prepared_transaction_offset: 0,
        body: &body,
        body_crc: None,
        properties: &[],
    };
    if queue_kind(&topic) == QueueKind::Batch && sent.get(key::UNIQ_KEY).is_some() {
        return inner_batch::send(broker, settings, &draft, sent, members.len());
    }
    if message.sys_flag & sys_flag::INNER_BATCH != 0 || sent.get(key::INNER_NUM).is_some() {
        return Err(refusal::illegal(settings).into());
    }
    let properties: Vec<_> = members.iter().map(|member| properties::for_member(settings, member.properties)).collect();
    let drafts = members.iter().zip(&properties).map(|(member, properties)| Draft {
        flag: member.flag,
        body: member.body,
        properties,
        ..draft
    });
    let appended = broker
        .store
        .append_all(message.topic, queue_id, drafts)
        .map_err(|error| refusal::refusal(broker, settings, &error))?;
    let (Some(first), Some(last)) = (appended.first(), appended.last()) else {
        return Err(illegal("the batch holds no message".to_owned()).into());
    };
    topic.count_stored(&broker.stats, appended.len(), appended.iter().map(|one| one.size).sum());
    let mut ids = Vec::with_capacity(appended.len() * 33);
    for one in &appended {
        if !ids.is_empty() {
            ids.push(b',');
        }
        let id = OffsetMessageId { store_host: broker.store_host, offset: one.physical_offset };
        ids.extend_from_slice(id.text().as_bytes());
    }
    let ids = String::from_utf8(ids).expect("hexadecimal digits and commas are ASCII");
    let header = SendMessageResponseHeader {
        msg_id: &ids,
        queue_id,
        queue_offset: first.queue_offset,
        transaction_id: sent.get_str(key::UNIQ_KEY),
        batch_uniq_id: None,
        recall_handle: None,
    };
    Ok(Stored {
        answer: Command::response(ResponseCode::SUCCESS).with_header(&header).into(),
        end: last.end(),
        waits: sent.get(key::WAIT) != Some(b"false"),
    })
}
