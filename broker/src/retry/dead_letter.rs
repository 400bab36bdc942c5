//! Dead letters: messages that a group gave up.

use std::sync::Arc;

use apogee_remoting::ResponseCode;
use apogee_remoting::protocol::group::SubscriptionGroupConfig;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::topic::TopicConfig;

use super::max_reconsume_times;
use crate::answer::{NotDone, Refusal, SEE_FAQ};
use crate::topic::{PERM_READ, PERM_WRITE, Topic};
use crate::{Broker, names};

/// The queue of a topic of dead letters, which has one.
pub(super) const QUEUE: i32 = 0;

/// Looks whether a send is that of a message that a consumer gives up: it sends into its group's retry topic, either for more
/// times than are allowed or while the group consumes in order, where nobody tries again later. Such a message goes to the topic
/// that is answered.
///
/// # Errors
/// The retry topic is of no group.
pub(crate) fn for_send(
    broker: &Broker,
    version: i32,
    message: &SendMessageRequestHeader<'_>,
) -> Result<Option<Arc<Topic>>, NotDone> {
    let Some(group) = message.topic.strip_prefix(names::RETRY_PREFIX) else { return Ok(None) };
    let config = group_config(broker, group)?;
    let max = max_reconsume_times(version, message.max_reconsume_times, config.retry_max_times);
    let is_given_up = message.reconsume_times.unwrap_or(0) > max || broker.locks.is_ordered(group, broker.now());
    is_given_up.then(|| topic(broker, group)).transpose()
}

/// The configuration of a group whose message failed.
pub(super) fn group_config(broker: &Broker, group: &str) -> Result<Arc<SubscriptionGroupConfig>, Refusal> {
    broker.groups.find_or_create(group, &broker.settings().broker).ok_or_else(|| {
        let remark = format!("subscription group not exist, {group} {SEE_FAQ}");
        Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark)
    })
}

/// The topic of a group's dead letters, created where there is none.
pub(super) fn topic(broker: &Broker, group: &str) -> Result<Arc<Topic>, NotDone> {
    let topic = broker.topics.get_or_create(TopicConfig {
        topic_name: names::dlq_topic(group),
        read_queue_nums: QUEUE + 1,
        write_queue_nums: QUEUE + 1,
        perm: PERM_READ | PERM_WRITE,
        ..TopicConfig::default()
    });
    topic.map_err(NotDone::Waits)
}
