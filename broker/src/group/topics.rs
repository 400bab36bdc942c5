//! Which groups consume which topics: codes 300, 343 and 345.

use apogee_remoting::protocol::group::{
    GroupList, QuerySubscriptionByConsumerRequestHeader, QuerySubscriptionResponseBody,
};
use apogee_remoting::protocol::topic::{
    QueryTopicConsumeByWhoRequestHeader, QueryTopicsByConsumerRequestHeader, TopicList,
};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::Answer;

/// The groups that subscribe to a topic or have consumed of it (300).
pub(crate) fn consumers_of(broker: &Broker, request: &Command) -> Answer {
    let header: QueryTopicConsumeByWhoRequestHeader<'_> = request.header()?;
    let consumed = broker.offsets.consumed_by_all(header.topic).into_iter().map(|(group, _)| group);
    let groups = broker.consumers.groups_of(header.topic).into_iter().chain(consumed);
    let body = GroupList { group_list: groups.map(|group| group.to_string()).collect() };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// The topics that a group has consumed of (343).
pub(crate) fn topics_of(broker: &Broker, request: &Command) -> Answer {
    let header: QueryTopicsByConsumerRequestHeader<'_> = request.header()?;
    let topic_list = broker.offsets.topics_of(header.group).into_iter().collect();
    let body = TopicList { broker_addr: broker.address.clone(), topic_list };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// What a connected group wants of a topic (345).
pub(crate) fn subscription(broker: &Broker, request: &Command) -> Answer {
    let header: QuerySubscriptionByConsumerRequestHeader<'_> = request.header()?;
    let topic = header.topic.unwrap_or_default();
    let subscription = broker.consumers.group(header.group).and_then(|group| group.subscription(topic));
    let body = QuerySubscriptionResponseBody {
        group: header.group.to_owned(),
        subscription_data: subscription.map(|subscription| subscription.data.clone()),
        topic: topic.to_owned(),
    };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}
