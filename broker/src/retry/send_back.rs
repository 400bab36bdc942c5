//! A consumer gives a message back: code 36.

use std::sync::Arc;

use apogee_config::BrokerRole;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::group::SubscriptionGroupConfig;
use apogee_remoting::protocol::send_back::ConsumerSendMsgBackRequestHeader;
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode};
use apogee_store::AppendError;

use super::{dead_letter, max_reconsume_times};
use crate::answer::{NotDone, Refusal, when_possible};
use crate::thread::{in_task, on_thread};
use crate::topic::{PERM_READ, PERM_WRITE, SYS_FLAG_UNIT_SUB, Topic};
use crate::{Broker, names};

/// The delay level of the first retry, where the broker is to choose; one more for each retry before.
const FIRST_LEVEL: i32 = 3;

/// Stores a message again for the group that gives it back (36): in its retry topic after a delay, or with its dead letters when it
/// was consumed too often or its consumer wants no other try (a negative delay level).
pub(crate) fn send_back(broker: &Arc<Broker>, request: Command) -> Reply {
    let (broker, request) = (Arc::clone(broker), Arc::new(request));
    Reply::later(in_task(async move {
        let attempt = || {
            let (broker, request) = (Arc::clone(&broker), Arc::clone(&request));
            on_thread(move || store_again(&broker, &request))
        };
        when_possible(attempt).await.unwrap_or_else(Command::from)
    }))
}

/// It may wait for the disk, where the message is.
fn store_again(broker: &Broker, request: &Command) -> Result<Command, NotDone> {
    let header: ConsumerSendMsgBackRequestHeader<'_> = request.header()?;
    let error = |remark: String| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let no_permission = |remark: String| Refusal::new(ResponseCode::NO_PERMISSION, remark);
    let settings = broker.settings();
    let own_ip = &settings.broker.broker_ip1;
    if settings.store.broker_role == BrokerRole::Slave {
        return Err(error(format!("no master available along with {own_ip}")).into());
    }
    let group = dead_letter::group_config(broker, header.group)?;
    if settings.broker.broker_permission & PERM_WRITE == 0 {
        return Err(no_permission(format!("the broker[{own_ip}] sending message is forbidden")).into());
    }
    if group.retry_queue_nums <= 0 {
        // The group wants nothing again.
        return Ok(Command::response(ResponseCode::SUCCESS));
    }
    let retry = retry_topic(broker, &group, &header)?;
    if retry.perm & PERM_WRITE == 0 {
        return Err(no_permission(format!("the topic[{}] sending message is forbidden", retry.topic_name)).into());
    }
    let not_found = || error(format!("look message by offset failed, {}", header.offset));
    let bytes = broker.store.record_at(header.offset)?.ok_or_else(not_found)?;
    let record = Record::parse(&bytes).map_err(|_| not_found())?;

    let max = max_reconsume_times(request.version, header.max_reconsume_times, group.retry_max_times);
    let target = if record.reconsume_times >= max || header.delay_level < 0 {
        let topic = dead_letter::topic(broker, header.group)?;
        tracing::info!(
            group = header.group,
            topic = header.origin_topic,
            offset = header.offset,
            "a message is given up"
        );
        Target { topic, queue_id: dead_letter::QUEUE, delay_level: 0 }
    } else {
        let delay_level = match header.delay_level {
            0 => FIRST_LEVEL.saturating_add(record.reconsume_times),
            asked => asked,
        };
        Target { topic: retry, queue_id: fastrand::i32(0..group.retry_queue_nums), delay_level }
    };
    store(broker, &record, &target).map_err(|refused| {
        tracing::warn!(group = header.group, offset = header.offset, error = %refused, "a message is not stored for a retry");
        error(status(&refused).to_owned())
    })?;
    broker.stats.given_back(header.group, record.properties.get_str(key::RETRY_TOPIC).unwrap_or(record.topic));
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// Where a message goes.
struct Target {
    topic: Arc<Topic>,
    queue_id: i32,
    /// 0 for a dead letter.
    delay_level: i32,
}

fn retry_topic(
    broker: &Broker,
    group: &SubscriptionGroupConfig,
    header: &ConsumerSendMsgBackRequestHeader<'_>,
) -> Result<Arc<Topic>, NotDone> {
    let topic = broker.topics.get_or_create(TopicConfig {
        topic_name: names::retry_topic(header.group),
        read_queue_nums: group.retry_queue_nums,
        write_queue_nums: group.retry_queue_nums,
        perm: PERM_READ | PERM_WRITE,
        topic_sys_flag: if header.unit_mode { SYS_FLAG_UNIT_SUB } else { 0 },
        ..TopicConfig::default()
    });
    topic.map_err(NotDone::Waits)
}

/// Stores the message once more, as it was but for the marks of a retry.
fn store(broker: &Broker, record: &Record<'_>, target: &Target) -> Result<(), AppendError> {
    let mut properties = retry_properties(record, target.delay_level);
    let (mut topic, mut queue_id) = (target.topic.topic_name.as_str(), target.queue_id);
    let may_wait = matches!(record.sys_flag & sys_flag::TRANSACTION_TYPE, 0 | sys_flag::TRANSACTION_COMMIT);
    if may_wait && let Some(queue) = broker.schedule.delay(&mut properties, target.delay_level, topic, queue_id) {
        (topic, queue_id) = (names::SCHEDULE_TOPIC, queue);
    }
    let appended = broker.store.append(&Draft {
        topic,
        queue_id,
        store_host: broker.store_host,
        reconsume_times: record.reconsume_times.saturating_add(1),
        properties: properties.as_bytes(),
        ..record.draft()
    })?;
    broker.stats.stored(topic, 1, appended.size);
    Ok(())
}

/// The properties of a message that is tried again. Its first topic and id stay with it through all retries.
fn retry_properties(record: &Record<'_>, delay_level: i32) -> PropertiesBuf {
    let mut properties = PropertiesBuf::from_text(record.draft().properties);
    properties.retain(|name| name != key::WAIT.as_bytes() && name != key::DELAY.as_bytes());
    if record.properties.get(key::RETRY_TOPIC).is_none() {
        properties.push(key::RETRY_TOPIC, record.topic);
    }
    if record.properties.get(key::ORIGIN_MESSAGE_ID).is_none_or(<[u8]>::is_empty) {
        let id = OffsetMessageId { store_host: record.store_host, offset: record.physical_offset };
        properties.set(key::ORIGIN_MESSAGE_ID, id.to_string());
    }
    properties.push(key::DELAY, itoa::Buffer::new().format(delay_level)).push(key::WAIT, "false");
    properties
}

/// What the reference calls it when a message is not stored.
fn status(error: &AppendError) -> &'static str {
    match error {
        AppendError::MessageTooLarge { .. }
        | AppendError::Draft(_)
        | AppendError::Properties
        | AppendError::Queue { .. }
        | AppendError::TooManyLightQueues(_) => "MESSAGE_ILLEGAL",
        AppendError::NotWritable(_) | AppendError::DiskFull(_) | AppendError::Broken(_) | AppendError::Shutdown => {
            "SERVICE_NOT_AVAILABLE"
        }
    }
}
