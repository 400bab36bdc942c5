//! What is looked at before a pull reads, in the reference's order and with its remarks.

use std::borrow::Cow;
use std::sync::Arc;

use apogee_remoting::protocol::group::SubscriptionGroupConfig;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::subscription::SubscriptionData;
use apogee_remoting::server::Peer;
use apogee_remoting::{Command, RequestCode, ResponseCode};

use super::filter::PropertyFilter;
use super::{PullFilter, TagFilter};
use crate::Broker;
use crate::answer::{Refusal, SEE_FAQ};
use crate::filter::{self, SQL92, is_tag_type};
use crate::topic::{PERM_READ, Topic};

/// Bit of a pull's `sysFlag`: the offset of the last consumed message comes with it.
pub(super) const FLAG_COMMIT_OFFSET: i32 = 0x1;
/// Bit of a pull's `sysFlag`: it may be held until a message arrives.
pub(super) const FLAG_SUSPEND: i32 = 0x2;
/// Bit of a pull's `sysFlag`: it carries its own subscription.
const FLAG_SUBSCRIPTION: i32 = 0x4;

/// A pull that may read.
pub(super) struct Pull<'a> {
    pub(super) header: PullMessageRequestHeader<'a>,
    pub(super) group: Arc<SubscriptionGroupConfig>,
    pub(super) topic: Arc<Topic>,
    pub(super) filter: PullFilter,
}

/// A pull that may not read.
pub(super) struct Refused {
    refusal: Refusal,
    /// What forbids it, for clients that tell such refusals apart; 0 for none.
    forbidden: Option<i32>,
}

/// Values of `forbiddenType` in a refusal.
mod forbidden {
    pub(super) const BROKER: i32 = 1;
    pub(super) const GROUP: i32 = 2;
    pub(super) const TOPIC: i32 = 3;
    pub(super) const BROADCASTING: i32 = 4;
    pub(super) const SUBSCRIPTION: i32 = 5;
}

pub(super) fn check<'a>(
    broker: &Broker,
    peer: &Peer,
    request: &Command,
    header: PullMessageRequestHeader<'a>,
) -> Result<Pull<'a>, Refused> {
    let settings = broker.settings();
    let ip = || &settings.broker.broker_ip1;
    if settings.broker.broker_permission & PERM_READ == 0 {
        return Err(no_permission(forbidden::BROKER, format!("the broker[{}] pulling message is forbidden", ip())));
    }
    if request.request_code() == RequestCode::LITE_PULL_MESSAGE && !settings.broker.lite_pull_message_enable {
        let remark = format!("the broker[{}] for lite pull consumer is forbidden", ip());
        return Err(no_permission(forbidden::BROKER, remark));
    }
    let group_name = header.consumer_group;
    let group = broker.groups.find_or_create(group_name, &settings.broker).ok_or_else(|| {
        let remark = format!("subscription group [{group_name}] does not exist, {SEE_FAQ}");
        refused(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark)
    })?;
    if !group.consume_enable {
        return Err(no_permission(forbidden::GROUP, format!("subscription group no permission, {group_name}")));
    }
    let topic = broker.topics.get(header.topic).ok_or_else(|| {
        let remark = format!("topic[{}] not exist, apply first please! {SEE_FAQ}", header.topic);
        refused(ResponseCode::TOPIC_NOT_EXIST, remark)
    })?;
    if topic.perm & PERM_READ == 0 {
        let remark = format!("the topic[{}] pulling message is forbidden", header.topic);
        return Err(no_permission(forbidden::TOPIC, remark));
    }
    if !(0..topic.read_queue_nums).contains(&header.queue_id) {
        let remark = format!(
            "queueId[{}] is illegal, topic:[{}] topicConfig.readQueueNums:[{}] consumer:[/{}]",
            header.queue_id,
            header.topic,
            topic.read_queue_nums,
            peer.address()
        );
        return Err(refused(ResponseCode::INVALID_PARAMETER, remark));
    }
    let filter = if header.sys_flag & FLAG_SUBSCRIPTION == 0 {
        registered(broker, &header, &group)?
    } else {
        brought(broker, &header)?
    };
    Ok(Pull { header, group, topic, filter })
}

/// The filter of the subscription that a pull brings along.
fn brought(broker: &Broker, header: &PullMessageRequestHeader<'_>) -> Result<PullFilter, Refused> {
    let unparsed = || refused(ResponseCode::SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed");
    let kind = header.expression_type.unwrap_or_default();
    if is_tag_type(kind) {
        return TagFilter::parse(header.subscription).map(PullFilter::Tags).ok_or_else(unparsed);
    }
    let text = header.subscription.filter(|text| !text.is_empty()).ok_or_else(unparsed)?;
    filter::is_served(broker, kind)?;
    // The reference lets everything pass where it cannot compile the expression.
    let expression = Some(text).filter(|_| kind == SQL92).and_then(|text| broker.filters.compile(text).ok());
    Ok(by_properties(broker, header, PropertyFilter::brought(expression.ok_or_else(unparsed)?)))
}

/// The filter of the subscription that the group's heartbeats registered.
fn registered(
    broker: &Broker,
    header: &PullMessageRequestHeader<'_>,
    config: &SubscriptionGroupConfig,
) -> Result<PullFilter, Refused> {
    let name = header.consumer_group;
    let missing = |what: &str| refused(ResponseCode::SUBSCRIPTION_NOT_EXIST, format!("{what}{SEE_FAQ}"));
    let group = broker.consumers.group(name).ok_or_else(|| missing("the consumer's group info not exist"))?;
    if !config.consume_broadcast_enable && group.is_broadcasting() {
        let remark = format!("the consumer group[{name}] can not consume by broadcast way");
        return Err(no_permission(forbidden::BROADCASTING, remark));
    }
    if broker.groups.is_read_forbidden(name, header.topic) {
        let remark = format!("the consumer group[{name}] is forbidden for topic[{}]", header.topic);
        return Err(no_permission(forbidden::SUBSCRIPTION, remark));
    }
    let subscription =
        group.subscription(header.topic).ok_or_else(|| missing("the consumer's subscription not exist"))?;
    if subscription.data.sub_version < header.sub_version.unwrap_or(0) {
        return Err(refused(ResponseCode::SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"));
    }
    let Some(tags) = &subscription.tags else {
        return registered_expression(broker, header, &subscription.data);
    };
    Ok(PullFilter::Tags(tags.clone()))
}

/// The filter of a registered subscription that is none of tags.
fn registered_expression(
    broker: &Broker,
    header: &PullMessageRequestHeader<'_>,
    subscription: &SubscriptionData,
) -> Result<PullFilter, Refused> {
    let filter = broker.filters.get(header.topic, header.consumer_group).ok_or_else(|| {
        let remark = "The broker's consumer filter data is not exist!Your expression may be wrong!";
        refused(ResponseCode::FILTER_DATA_NOT_EXIST, remark)
    })?;
    if filter.data.client_version < header.sub_version.unwrap_or(0) {
        return Err(refused(ResponseCode::FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest"));
    }
    filter::is_served(broker, &subscription.expression_type)?;
    if subscription.class_filter_mode {
        return Ok(PullFilter::ALL);
    }
    Ok(by_properties(broker, header, PropertyFilter::registered(filter)))
}

fn by_properties(broker: &Broker, header: &PullMessageRequestHeader<'_>, filter: PropertyFilter) -> PullFilter {
    PullFilter::Properties(if broker.settings().broker.filter_support_retry {
        filter.by_origin(header.topic, &broker.filters)
    } else {
        filter
    })
}

fn refused(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Refused {
    Refused { refusal: Refusal::new(code, remark), forbidden: None }
}

fn no_permission(forbidden: i32, remark: String) -> Refused {
    Refused { refusal: Refusal::new(ResponseCode::NO_PERMISSION, remark), forbidden: Some(forbidden) }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, forbidden: None }
    }
}

impl From<Refused> for Command {
    fn from(refused: Refused) -> Self {
        let answer = Command::from(refused.refusal).with_empty_header();
        match refused.forbidden {
            Some(kind) => answer.with_field("forbiddenType", &kind.to_string()),
            None => answer,
        }
    }
}
