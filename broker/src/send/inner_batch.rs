//! Many messages in one record, for topics with batch queues.

use apogee_remoting::message::batch;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{Properties, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::send::SendMessageResponseHeader;
use apogee_remoting::{Command, ResponseCode};
use apogee_store::QueueKind;

use super::{Stored, properties, refusal};
use crate::Broker;
use crate::answer::{NotDone, Refusal};
use crate::settings::Settings;
use crate::topic::queue_kind;

/// Stores a batch of `count` messages as one record. `draft` has everything but the properties.
pub(super) fn send(
    broker: &Broker,
    settings: &Settings,
    draft: &Draft<'_>,
    sent: Properties<'_>,
    count: usize,
) -> Result<Stored<'static>, NotDone> {
    let is_delayed = sent.get_number::<i32>(key::DELAY).is_some_and(|level| level > 0);
    let messages = i16::try_from(count).ok().filter(|_| !is_delayed).ok_or_else(|| refusal::illegal(settings))?;
    let properties = properties::for_inner_batch(settings, sent, count);
    let draft = Draft {
        sys_flag: draft.sys_flag | sys_flag::NEED_UNWRAP | sys_flag::INNER_BATCH,
        properties: properties.as_bytes(),
        ..*draft
    };
    let appended = broker
        .store
        .append_inner_batch(&draft, messages)
        .map_err(|error| refusal::refusal(broker, settings, &error))?;
    broker.stats.stored(draft.topic, count, appended.size);
    let id = OffsetMessageId { store_host: broker.store_host, offset: appended.physical_offset }.to_string();
    let header = SendMessageResponseHeader {
        msg_id: &id,
        queue_id: draft.queue_id,
        queue_offset: appended.queue_offset,
        transaction_id: sent.get_str(key::UNIQ_KEY),
        // tells the producer that its batch is one record
        batch_uniq_id: sent.get_str(key::UNIQ_KEY),
        recall_handle: None,
    };
    Ok(Stored {
        answer: Command::response(ResponseCode::SUCCESS).with_header(&header).into(),
        end: appended.end(),
        waits: sent.get(key::WAIT) != Some(b"false"),
    })
}

/// The number of messages in a message that its producer marked as a batch or gave a number.
///
/// # Errors
/// The topic's queues hold no batches, or mark, number and body do not agree. The reference believes the number.
pub(super) fn messages_in(
    broker: &Broker,
    settings: &Settings,
    draft: &Draft<'_>,
    number: Option<&[u8]>,
) -> Result<i16, Refusal> {
    let illegal = || refusal::illegal(settings);
    let has_batches = |topic| broker.topics.get(topic).is_some_and(|topic| queue_kind(&topic) == QueueKind::Batch);
    if draft.sys_flag & sys_flag::INNER_BATCH == 0 || !has_batches(draft.topic) {
        return Err(illegal());
    }
    let Some(number) = number else { return Ok(1) };
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()).ok_or_else(illegal)?;
    let is_compressed = draft.sys_flag & sys_flag::COMPRESSED != 0;
    let members = || batch::decode(draft.body).collect::<Result<Vec<_>, _>>();
    if number < 1 || !is_compressed && !members().is_ok_and(|members| members.len() == number as usize) {
        return Err(illegal());
    }
    Ok(number)
}
