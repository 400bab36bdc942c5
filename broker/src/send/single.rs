//! One message.

use std::borrow::Cow;

use apogee_config::FlushDiskType;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::topic::TopicFilterType;
use apogee_remoting::server::Peer;
use apogee_remoting::{Command, ResponseCode};
use apogee_store::Marks;
use smallvec::SmallVec;

use super::answer::{Place, StoredAnswer};
use super::properties::{Half, SingleProperties};
use super::together::{self, Message};
use super::{Sent, Stored, Way, check, inner_batch, properties, refusal};
use crate::answer::{NotDone, Refusal};
use crate::settings::Settings;
use crate::{Broker, names, retry, transaction};

pub(super) fn send<'a>(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    message: &SendMessageRequestHeader<'a>,
    request: &Command,
    way: Way,
) -> Result<Sent<'a>, NotDone> {
    let topic = check::check(broker, settings, peer, message)?;
    let queue_id = check::queue(message.queue_id, topic.write_queue_nums);
    let multi_tag = topic.topic_filter_type == TopicFilterType::MultiTag;
    let dead_letters = retry::for_send(broker, request.version, message)?;
    let SingleProperties { stored: mut properties, marks, waits, delay_level, half, is_timer, number } =
        properties::for_single(broker, settings, message.topic, message.properties.unwrap_or_default())?;
    let mut sys_flag = message.sys_flag | if multi_tag { sys_flag::MULTI_TAGS } else { 0 };
    let mut target = (message.topic, queue_id);
    if let Some(dead_letters) = &dead_letters {
        properties.set(key::DELAY, "-1");
        target = (&dead_letters.topic_name, 0);
    } else if let Some(Half { has_own }) = half
        && !(message.reconsume_times.unwrap_or(0) > 0 && delay_level > 0)
    {
        // Clients before 4.6.1 leave the mark on messages that are consumed again.
        if settings.broker.reject_transaction_message {
            let remark = format!("the broker[{}] sending transaction message is forbidden", settings.broker.broker_ip1);
            return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark).into());
        }
        let added = || properties.view().get(key::UNIQ_KEY).unwrap_or_default().to_vec();
        let unique_key = marks.unique_key.map_or_else(|| Cow::Owned(added()), Cow::Borrowed);
        transaction::prepare(&mut properties, has_own, &unique_key, message.topic, queue_id);
        target = (names::HALF_TOPIC, transaction::HALF_QUEUE);
        sys_flag = sys_flag::with_transaction_type(sys_flag, 0);
    } else if is_timer && delay_level <= 0 {
        // Delivered at once it would be too early; the remark is the reference's with its timer switched off.
        let remark = "accurate timer message is not enabled, timerWheelEnable is false";
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark).into());
    } else if delay_level > 0
        && matches!(message.sys_flag & sys_flag::TRANSACTION_TYPE, 0 | sys_flag::TRANSACTION_COMMIT)
        && let Some(queue) = broker.schedule.delay(&mut properties, delay_level, message.topic, queue_id)
    {
        target = (names::SCHEDULE_TOPIC, queue);
    }
    // not the place of another topic where it waits first
    let is_own = target == (message.topic, queue_id);
    let body = request.body.contiguous();
    let draft = Draft {
        topic: target.0,
        queue_id: target.1,
        flag: message.flag,
        sys_flag,
        born_timestamp: message.born_timestamp,
        born_host: peer.address(),
        store_host: broker.store_host,
        reconsume_times: message.reconsume_times.unwrap_or(0),
        prepared_transaction_offset: 0,
        body: &body,
        body_crc: None,
        properties: properties.as_bytes(),
    };
    let is_batch = number.is_some() || sys_flag & sys_flag::INNER_BATCH != 0;
    let batch = if is_batch { Some(inner_batch::messages_in(broker, settings, &draft, number)?) } else { None };
    let refuse = |error| refusal::refusal(broker, settings, &error);
    let is_half = target.0 == names::HALF_TOPIC;
    // Where it is missing the broker has added one.
    let unique_key = marks.unique_key.map(Cow::Borrowed).or_else(|| added_key(&properties));
    let appended = match batch {
        None => {
            let marks = Marks { unique_key: unique_key.as_deref(), ..marks };
            let queue =
                if is_own { topic.queue(&broker.store, queue_id) } else { broker.store.queue(target.0, target.1) };
            let queue = queue.map_err(refuse)?;
            if let Way::Together(ticket) = way
                && (is_own || is_half)
            {
                let unique_key = SmallVec::from_slice(marks.unique_key.unwrap_or_default());
                let message = Message { ticket, topic, queue_id, is_half, unique_key };
                together::gather(broker, &draft, &marks, queue, message).map_err(refuse)?;
                return Ok(Sent::Gathered);
            }
            together::append(broker);
            // as its answer waits
            let is_awaited = waits && settings.store.flush_disk_type == FlushDiskType::SyncFlush;
            broker.store.append_to(queue, &draft, &marks, is_awaited)
        }
        Some(count) => {
            together::append(broker);
            broker.store.append_inner_batch(&draft, count)
        }
    };
    let appended = appended.map_err(refuse)?;
    let messages = batch.map_or(1, |count| count as usize);
    if is_own {
        topic.count_stored(&broker.stats, messages, appended.size);
    } else {
        broker.stats.stored(target.0, messages, appended.size);
    }
    if is_half {
        broker.transactions.metrics.add(message.topic, 1, appended.store_timestamp);
    }
    let place = Place {
        id: OffsetMessageId { store_host: broker.store_host, offset: appended.physical_offset },
        queue_id,
        queue_offset: appended.queue_offset,
        unique_key,
    };
    Ok(Sent::Stored(Stored { answer: StoredAnswer::Place(place), end: appended.end(), waits }))
}

fn added_key<'a>(properties: &PropertiesBuf) -> Option<Cow<'a, [u8]>> {
    properties.view().get(key::UNIQ_KEY).map(|key| Cow::Owned(key.to_vec()))
}
