//! What is looked at before a message is stored, in the reference's order and with its remarks.

use std::sync::Arc;

use apogee_config::BrokerSettings;
use apogee_remoting::ResponseCode;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::server::Peer;

use crate::answer::{NotDone, Refusal, SEE_FAQ};
use crate::saved_table::Entry;
use crate::topic::{PERM_INHERIT, PERM_READ, PERM_WRITE, SYS_FLAG_UNIT, SYS_FLAG_UNIT_SUB, Topic};
use crate::{Broker, names};

/// Finds the topic of a message, creating it where that is allowed, and checks that it takes the message. It waits for a topic
/// that is not on disk yet, whoever makes it.
pub(super) fn check(
    broker: &Broker,
    settings: &BrokerSettings,
    peer: &Peer,
    message: &SendMessageRequestHeader<'_>,
) -> Result<Arc<Topic>, NotDone> {
    let refuse = |code, remark: String| Err(NotDone::from(Refusal::new(code, remark)));
    let topic = message.topic;
    let known = broker.topics.get(topic);
    if settings.broker.broker_permission & PERM_WRITE == 0 && known.as_ref().is_some_and(|config| config.order) {
        let remark = format!("the broker[{}] sending message is forbidden", settings.broker.broker_ip1);
        return refuse(ResponseCode::NO_PERMISSION, remark);
    }
    let opening = settings.broker.start_accept_send_request_time_stamp;
    if opening > 0 && broker.now() < opening {
        let remark = "broker unable to service, until its configured start time";
        return refuse(ResponseCode::SYSTEM_ERROR, remark.to_owned());
    }
    if !known.as_ref().is_some_and(|known| known.is_open) {
        names::check_topic(topic).map_err(|remark| Refusal::new(ResponseCode::INVALID_PARAMETER, remark))?;
        if names::is_closed_to_senders(topic) {
            return refuse(ResponseCode::NO_PERMISSION, format!("Sending message to topic[{topic}] is forbidden."));
        }
    }
    let config = match known.filter(|known| known.is_saved()) {
        Some(config) => config,
        None => match broker.topics.find(topic) {
            Some(found) => found.map_err(NotDone::Waits)?,
            None => create(broker, settings, message)?,
        },
    };
    let queues = config.write_queue_nums.max(config.read_queue_nums);
    if message.queue_id >= queues {
        let remark = format!(
            "request queueId[{}] is illegal, {} Producer: {}",
            message.queue_id,
            described(&config),
            peer.address()
        );
        return refuse(ResponseCode::INVALID_PARAMETER, remark);
    }
    Ok(config)
}

/// A topic as the reference prints it, for remarks that operators know.
fn described(config: &TopicConfig) -> String {
    let letter = |bit, letter| if config.perm & bit != 0 { letter } else { '-' };
    let attributes: Vec<_> = config.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!(
        "TopicConfig [topicName={}, readQueueNums={}, writeQueueNums={}, perm={}{}{}, topicFilterType={}, topicSysFlag={}, \
         order={}, attributes={{{}}}]",
        config.topic_name,
        config.read_queue_nums,
        config.write_queue_nums,
        letter(PERM_READ, 'R'),
        letter(PERM_WRITE, 'W'),
        letter(PERM_INHERIT, 'X'),
        config.topic_filter_type.name().unwrap_or_default(),
        config.topic_sys_flag,
        config.order,
        attributes.join(", ")
    )
}

fn create(
    broker: &Broker,
    settings: &BrokerSettings,
    message: &SendMessageRequestHeader<'_>,
) -> Result<Arc<Topic>, NotDone> {
    let topic = message.topic;
    let is_retry = topic.starts_with(names::RETRY_PREFIX);
    let sys_flag = match (message.unit_mode == Some(true), is_retry) {
        (false, _) => 0,
        (true, true) => SYS_FLAG_UNIT_SUB,
        (true, false) => SYS_FLAG_UNIT,
    };
    let default_topic = message.default_topic.unwrap_or_default();
    let queues = message.default_topic_queue_nums.unwrap_or(0);
    // The model of automatic topics stays in the table when they are switched off at run time.
    let is_allowed = settings.broker.auto_create_topic_enable || default_topic != names::AUTO_CREATE_TOPIC;
    let mut created = if is_allowed { broker.topics.create_like(topic, default_topic, queues, sys_flag) } else { None };
    if created.is_none() && is_retry {
        let retry = TopicConfig {
            topic_name: topic.to_owned(),
            read_queue_nums: 1,
            write_queue_nums: 1,
            perm: PERM_READ | PERM_WRITE,
            topic_sys_flag: sys_flag,
            ..TopicConfig::default()
        };
        created = Some(broker.topics.get_or_create(retry));
    }
    let created = created.ok_or_else(|| {
        let mut remark = format!("topic[{topic}] not exist, apply first please!{SEE_FAQ}");
        let config = &settings.broker;
        if topic == config.msg_trace_topic_name && !config.trace_topic_enable {
            // Nobody creates this topic by hand; who misses it looks for the switch.
            remark.push_str(" The topic of message traces is there from the start with traceTopicEnable=true.");
        }
        Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark)
    })?;
    created.map_err(NotDone::Waits)
}

/// The queue asked for; any of them where the producer leaves it to the broker.
pub(super) fn queue(asked: i32, queues: i32) -> i32 {
    if asked >= 0 { asked } else { fastrand::i32(0..queues.max(1)) }
}
