//! Requests of and about clients: codes 34, 35, 38, 46, 203 and 204.

use std::collections::BTreeMap;
use std::sync::Arc;

use apogee_remoting::protocol::client::{
    Connection, ConsumerConnection, GetConsumerConnectionListRequestHeader, GetProducerConnectionListRequestHeader,
    ProducerConnection, UnregisterClientRequestHeader,
};
use apogee_remoting::protocol::consumer_list::{
    GetConsumerListByGroupRequestHeader, GetConsumerListByGroupResponseBody, NotifyConsumerIdsChangedRequestHeader,
};
use apogee_remoting::protocol::heartbeat::{CheckClientRequestBody, ConsumerData, HeartbeatData};
use apogee_remoting::protocol::subscription::ConsumeType;
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::server::{Peer, Reply};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};

use super::consumers::MembersChanged;
use super::{Client, Members};
use crate::answer::{Answer, Refusal};
use crate::topic::{PERM_READ, PERM_WRITE, SYS_FLAG_UNIT_SUB};
use crate::{Broker, names, registration};

/// A client tells who it is and what it wants (34).
///
/// Since 5.x it may send a fingerprint, and leave out subscriptions that did not change; the answer
/// says whether its groups' other members have another fingerprint.
///
/// A group that is new makes a retry topic, of which the name servers know before the answer: its consumers
/// ask for the route at once, and again only half a minute later.
pub(crate) fn heartbeat(broker: &Arc<Broker>, peer: &Arc<Peer>, request: &Command) -> Reply {
    let mut is_topic_new = false;
    let answer = take_heartbeat(broker, peer, request, &mut is_topic_new).unwrap_or_else(Command::from);
    if !is_topic_new {
        return answer.into();
    }
    let broker = Arc::clone(broker);
    Reply::later(async move {
        registration::settled(&broker).await;
        answer
    })
}

fn take_heartbeat(broker: &Broker, peer: &Arc<Peer>, request: &Command, is_topic_new: &mut bool) -> Answer {
    let data: HeartbeatData = json::from_slice(&request.body.bytes())?;
    let client = Client {
        peer: Arc::clone(peer),
        id: data.client_id,
        language: request.language,
        version: request.version,
        seen: broker.now(),
    };
    if data.consumer_data_set.iter().any(|consumer| consumer.group_name.is_empty()) {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "a consumer of the heartbeat has no groupName"));
    }
    let fingerprint = data.heartbeat_fingerprint;
    let with_subscriptions = fingerprint == 0 || !data.without_sub;
    let mut differs = false;
    for consumer in data.consumer_data_set {
        let rejects = broker.settings().broker.reject_pull_consumer_enable;
        if rejects && consumer.consume_type == ConsumeType::ConsumeActively {
            continue;
        }
        differs |= broker.consumers.swap_fingerprint(&consumer.group_name, fingerprint);
        *is_topic_new |= register_consumer(broker, &client, consumer, with_subscriptions)?;
    }
    for producer in data.producer_data_set {
        broker.producers.heartbeat(&producer.group_name, &client);
    }
    let changed = if fingerprint == 0 || differs { "true" } else { "false" };
    Ok(Command::response(ResponseCode::SUCCESS)
        .with_field("IS_SUPPORT_HEART_BEAT_V2", "true")
        .with_field("IS_SUB_CHANGE", changed))
}

/// Says whether the group's retry topic was made for it.
fn register_consumer(
    broker: &Broker,
    client: &Client,
    data: ConsumerData,
    with_subscriptions: bool,
) -> Result<bool, Refusal> {
    let settings = broker.settings();
    let name = data.group_name.clone();
    let Some(group) = broker.groups.find_or_create(&name, &settings.broker)? else { return Ok(false) };
    let retry_topic = names::retry_topic(&name);
    let is_new = !broker.topics.contains(&retry_topic);
    let is_order = |topic: &str| broker.topics.get(topic).is_some_and(|config| config.order);
    broker.topics.get_or_create(TopicConfig {
        topic_name: retry_topic,
        read_queue_nums: group.retry_queue_nums,
        write_queue_nums: group.retry_queue_nums,
        perm: PERM_READ | PERM_WRITE,
        order: data.subscription_data_set.iter().any(|subscription| is_order(&subscription.topic)),
        topic_sys_flag: if data.unit_mode { SYS_FLAG_UNIT_SUB } else { 0 },
        ..TopicConfig::default()
    })?;
    if let Some(changed) = broker.consumers.heartbeat(client, data, with_subscriptions)
        && group.notify_consumer_ids_changed_enable
    {
        notify(broker, &name, &changed);
    }
    Ok(is_new)
}

/// A client leaves a group (35).
pub(crate) fn unregister(broker: &Broker, peer: &Peer, request: &Command) -> Answer {
    let header: UnregisterClientRequestHeader<'_> = request.header()?;
    if let Some(group) = header.producer_group {
        broker.producers.unregister(group, peer);
    }
    if let Some(group) = header.consumer_group
        && let Some(changed) = broker.consumers.unregister(group, peer)
    {
        notify_group(broker, group, &changed);
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_empty_header())
}

/// A connection ended: its clients leave their groups.
pub(crate) fn connection_closed(broker: &Broker, peer: &Peer) {
    broker.producers.connection_closed(peer);
    for (group, changed) in broker.consumers.connection_closed(peer) {
        notify_group(broker, &group, &changed);
    }
}

/// Closes the connections of clients that no longer send heartbeats.
pub(crate) fn close_silent(broker: &Broker) {
    let oldest = broker.now() - broker.settings().broker.channel_expired_timeout;
    broker.producers.close_silent(oldest);
    broker.consumers.close_silent(oldest);
}

/// A client asks whether its subscription can be served (46).
pub(crate) fn check_config(broker: &Broker, request: &Command) -> Answer {
    let body: CheckClientRequestBody = json::from_slice(&request.body.bytes())?;
    let kind = body.subscription_data.expression_type;
    if kind.is_empty() || kind == "TAG" {
        return Ok(Command::response(ResponseCode::SUCCESS));
    }
    let _ = broker;
    let remark = format!("The broker does not support consumer to filter message by {kind}");
    Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark))
}

/// The members of a group (38).
pub(crate) fn consumer_list(broker: &Broker, request: &Command) -> Answer {
    let header: GetConsumerListByGroupRequestHeader<'_> = request.header()?;
    let ids = broker.consumers.group(header.consumer_group).map(|group| group.client_ids()).unwrap_or_default();
    if ids.is_empty() {
        let remark = format!("no consumer for this group, {}", header.consumer_group);
        return Ok(Command::error(ResponseCode::SYSTEM_ERROR, remark).with_empty_header());
    }
    let body = GetConsumerListByGroupResponseBody { consumer_id_list: ids };
    Ok(Command::response(ResponseCode::SUCCESS).with_empty_header().with_body(json::to_vec(&body)))
}

/// The connections of a group of consumers (203).
pub(crate) fn consumer_connections(broker: &Broker, request: &Command) -> Answer {
    let header: GetConsumerConnectionListRequestHeader<'_> = request.header()?;
    let name = header.consumer_group;
    let group = broker.consumers.group(name).ok_or_else(|| {
        Refusal::new(ResponseCode::CONSUMER_NOT_ONLINE, format!("the consumer group[{name}] not online"))
    })?;
    let body = group.inspect(|view| ConsumerConnection {
        connection_set: connections(view.members),
        consume_from_where: view.consume_from_where,
        consume_type: view.consume_type,
        message_model: view.message_model,
        subscription_table: view
            .subscriptions
            .iter()
            .map(|(topic, subscription)| (topic.clone(), subscription.data.clone()))
            .collect::<BTreeMap<_, _>>(),
    });
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// The connections of a group of producers (204).
pub(crate) fn producer_connections(broker: &Broker, request: &Command) -> Answer {
    let header: GetProducerConnectionListRequestHeader<'_> = request.header()?;
    let name = header.producer_group;
    let clients = broker.producers.clients(name);
    if clients.is_empty() {
        let remark = format!("the producer group[{name}] not exist");
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
    }
    let body = ProducerConnection { connection_set: clients.iter().map(connection).collect() };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

fn connections(members: &Members) -> Vec<Connection> {
    members.iter().map(connection).collect()
}

fn connection(client: &Client) -> Connection {
    Connection {
        client_addr: client.peer.address().to_string(),
        client_id: client.id.clone(),
        language: Some(client.language),
        version: client.version,
    }
}

/// Tells the members of a group that they changed, unless the group's configuration forbids that.
fn notify_group(broker: &Broker, group: &str, changed: &MembersChanged) {
    if broker.groups.get(group).is_none_or(|config| config.notify_consumer_ids_changed_enable) {
        notify(broker, group, changed);
    }
}

fn notify(broker: &Broker, group: &str, changed: &MembersChanged) {
    if !broker.settings().broker.notify_consumer_ids_changed_enable {
        return;
    }
    let header = NotifyConsumerIdsChangedRequestHeader { consumer_group: group };
    for peer in &changed.peers {
        let note = Command::request(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED).with_header(&header).one_way();
        // A client that is gone or does not read finds out when it asks for the members.
        let _ = peer.send(note);
    }
}
