//! The answer of a consumer to a producer's request: codes 324 and 325, and 326 to the producer.

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use apogee_remoting::command::Body;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::protocol::reply::ReplyMessageRequestHeader;
use apogee_remoting::protocol::send::{SendMessageRequestHeader, SendMessageResponseHeader};
use apogee_remoting::server::{Peer, Reply};
use apogee_remoting::{Command, RequestCode, ResponseCode};
use apogee_store::Appended;

use super::{Stored, Unsettled, check, with_trace};
use crate::Broker;
use crate::answer::{NotDone, Refusal, when_possible};
use crate::client::PATIENCE;
use crate::settings::Settings;

/// What clients get as message id where the reply is not stored; they cannot do without one.
const NO_ID: &str = "0";

/// Hands a reply to the producer that waits for it, and stores it with `storeReplyMessageEnable`.
pub(crate) fn reply(broker: &Arc<Broker>, peer: &Arc<Peer>, request: Command) -> Reply {
    let (broker, peer) = (Arc::clone(broker), Arc::clone(peer));
    Reply::later(async move {
        let settings = broker.settings.load_full();
        match deliver(&broker, &settings, &peer, &request).await {
            Ok(stored) => {
                Unsettled::of(&broker, &settings, stored).detached(&settings).settle(&broker, Instant::now()).await
            }
            Err(refusal) => with_trace(&settings, refusal.into()),
        }
    })
}

async fn deliver(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    request: &Command,
) -> Result<Stored<'static>, Refusal> {
    let header = SendMessageRequestHeader::of(request)?;
    let queue_id = when_possible(|| ready(queue(broker, settings, peer, &header))).await?;
    let mut properties = PropertiesBuf::from_text(header.properties.unwrap_or_default().as_bytes());
    properties
        .set(key::MSG_REGION, &settings.broker.region_id)
        .set(key::TRACE_ON, if settings.broker.trace_on { "true" } else { "false" });
    let reply = Draft {
        topic: header.topic,
        queue_id,
        flag: header.flag,
        sys_flag: 0,
        born_timestamp: header.born_timestamp,
        born_host: peer.address(),
        store_host: broker.store_host,
        reconsume_times: header.reconsume_times.unwrap_or(0),
        prepared_transaction_offset: 0,
        body: &request.body.bytes(),
        body_crc: None,
        properties: properties.as_bytes(),
    };
    let pushed = push(broker, &header, &reply, &request.body).await;
    let stored = settings.broker.store_reply_message_enable.then(|| store(broker, &reply));
    let stored = stored.flatten();

    let mut answer = match &pushed {
        Ok(()) => Command::response(ResponseCode::SUCCESS),
        Err(remark) => Command::error(ResponseCode::SYSTEM_ERROR, remark.clone()),
    };
    // One that only its producer missed is stored all the same, and its place is told.
    if pushed.is_ok() || stored.is_some() {
        answer = answer.with_header(&SendMessageResponseHeader {
            msg_id: &stored.as_ref().map_or(NO_ID.to_owned(), |appended| id(broker, appended)),
            queue_id,
            queue_offset: stored.as_ref().map_or(0, |appended| appended.queue_offset),
            transaction_id: None,
            batch_uniq_id: None,
            recall_handle: None,
        });
    }
    let end = stored.as_ref().map_or(0, Appended::end);
    Ok(Stored { answer: answer.into(), end, waits: stored.is_some() })
}

/// The queue of the reply's topic, which is the cluster's own.
fn queue(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    header: &SendMessageRequestHeader<'_>,
) -> Result<i32, NotDone> {
    let topic = check::check(broker, settings, peer, header)?;
    Ok(check::queue(header.queue_id, topic.write_queue_nums))
}

/// Hands the reply to the producer that its properties name (326). The error is the remark for the consumer.
async fn push(
    broker: &Broker,
    header: &SendMessageRequestHeader<'_>,
    reply: &Draft<'_>,
    body: &Body,
) -> Result<(), String> {
    let mut properties = PropertiesBuf::from_text(reply.properties);
    let Some(client) = properties.view().get_str(key::REPLY_TO_CLIENT).map(str::to_owned) else {
        return Err(format!("reply message properties[{}] is null", key::REPLY_TO_CLIENT));
    };
    let not_found = || format!("push reply message fail, channel of <{client}> not found.");
    let producer = broker.producers.peer(&client).ok_or_else(not_found)?;
    let now = broker.now();
    properties.set(key::PUSH_REPLY_TIME, now.to_string());
    let pushed = Command::request(RequestCode::PUSH_REPLY_MESSAGE_TO_CLIENT).with_header(&ReplyMessageRequestHeader {
        producer_group: header.producer_group,
        topic: header.topic,
        default_topic: header.default_topic,
        default_topic_queue_nums: header.default_topic_queue_nums,
        queue_id: header.queue_id,
        sys_flag: header.sys_flag,
        born_timestamp: header.born_timestamp,
        flag: header.flag,
        properties: Some(&String::from_utf8_lossy(properties.as_bytes())),
        reconsume_times: header.reconsume_times,
        unit_mode: header.unit_mode.unwrap_or(false),
        born_host: &reply.born_host.to_string(),
        store_host: &reply.store_host.to_string(),
        store_timestamp: now,
    });
    let reason = match producer.request(pushed.with_body(body.clone()), PATIENCE).await {
        Ok(answer) if answer.response_code() == ResponseCode::SUCCESS => return Ok(()),
        Ok(answer) => answer.remark.unwrap_or_default().into_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(client, reason, "a reply does not reach its producer");
    Err(format!("push reply message to {client}fail."))
}

fn store(broker: &Broker, reply: &Draft<'_>) -> Option<Appended> {
    match broker.store.append(reply) {
        Ok(appended) => {
            broker.stats.stored(reply.topic, 1, appended.size);
            Some(appended)
        }
        Err(error) => {
            tracing::warn!(%error, "a reply is not stored");
            None
        }
    }
}

fn id(broker: &Broker, appended: &Appended) -> String {
    OffsetMessageId { store_host: broker.store_host, offset: appended.physical_offset }.to_string()
}
