//! Requests of and about clients: codes 34, 35, 38, 46, 203, 204 and 328.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use apogee_remoting::protocol::client::{
    Connection, ConsumerConnection, GetConsumerConnectionListRequestHeader, GetProducerConnectionListRequestHeader,
    ProducerConnection, ProducerInfo, ProducerTableInfo, UnregisterClientRequestHeader,
};
use apogee_remoting::protocol::consumer_list::{
    GetConsumerListByGroupRequestHeader, GetConsumerListByGroupResponseBody, NotifyConsumerIdsChangedRequestHeader,
};
use apogee_remoting::protocol::group::SubscriptionGroupConfig;
use apogee_remoting::protocol::heartbeat::{ConsumerData, HeartbeatData, ProducerData};
use apogee_remoting::protocol::subscription::ConsumeType;
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::server::{Peer, Reply};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};

use super::consumers::{Left, MembersChanged};
use super::{Client, Members};
use crate::answer::{Answer, NotDone, Refusal, when_possible};
use crate::saved_table::Saving;
use crate::topic::{PERM_READ, PERM_WRITE, SYS_FLAG_UNIT_SUB};
use crate::{Broker, names, registration};

/// A client tells who it is and what it wants (34).
///
/// Since 5.x it may send a fingerprint, and leave out subscriptions that did not change; the answer
/// says whether its groups' other members have another fingerprint.
///
/// A group that is new gets a retry topic, of which the name servers know before the answer: its consumers ask for the route
/// at once, and again only half a minute later. Both are written down soon; were they lost, the next heartbeat would make them
/// again.
pub(crate) fn heartbeat(broker: &Arc<Broker>, peer: &Arc<Peer>, request: Command) -> Reply {
    let taken = Heartbeat::take(broker, peer, &request);
    let (broker, peer) = (Arc::clone(broker), Arc::clone(peer));
    match taken {
        Ok((heartbeat, false)) => heartbeat.register(&broker).into(),
        Ok((heartbeat, true)) => {
            let answer = heartbeat.register(&broker);
            Reply::later(async move {
                registration::settled(&broker).await;
                answer
            })
        }
        Err(NotDone::Refused(refusal)) => Command::from(refusal).into(),
        Err(NotDone::Waits(deletion)) => Reply::later(async move {
            heartbeat_behind(deletion, &broker, &peer, &request).await.unwrap_or_else(Command::from)
        }),
    }
}

/// The same when the retry topic that is being deleted is gone.
async fn heartbeat_behind(deletion: Saving, broker: &Broker, peer: &Arc<Peer>, request: &Command) -> Answer {
    deletion.done().await?;
    let (heartbeat, _) = when_possible(|| ready(Heartbeat::take(broker, peer, request))).await?;
    let answer = heartbeat.register(broker);
    registration::settled(broker).await;
    Ok(answer)
}

/// A heartbeat whose groups are there.
struct Heartbeat {
    client: Client,
    /// Fingerprint of all that the client subscribes to; 0 from clients that have none.
    fingerprint: i32,
    /// Whether the subscriptions are in it, and not left out because they did not change.
    with_subscriptions: bool,
    consumers: Vec<(Arc<SubscriptionGroupConfig>, ConsumerData)>,
    producers: Vec<ProducerData>,
}

impl Heartbeat {
    /// Reads a heartbeat and makes the groups and retry topics that are not there; says whether there were any.
    fn take(broker: &Broker, peer: &Arc<Peer>, request: &Command) -> Result<(Self, bool), NotDone> {
        let data: HeartbeatData = json::from_slice(&request.body.bytes())?;
        let client = Client {
            peer: Arc::clone(peer),
            id: data.client_id,
            language: request.language,
            version: request.version,
            seen: broker.now(),
        };
        if data.consumer_data_set.iter().any(|consumer| consumer.group_name.is_empty()) {
            return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "a consumer of the heartbeat has no groupName").into());
        }
        let fingerprint = data.heartbeat_fingerprint;
        let rejects = broker.settings().broker.reject_pull_consumer_enable;
        let (mut consumers, mut is_new) = (Vec::new(), false);
        for consumer in data.consumer_data_set {
            if !(rejects && consumer.consume_type == ConsumeType::ConsumeActively)
                && let Some(group) = make_group(broker, &consumer, &mut is_new)?
            {
                consumers.push((group, consumer));
            }
        }
        let heartbeat = Self {
            client,
            fingerprint,
            with_subscriptions: fingerprint == 0 || !data.without_sub,
            consumers,
            producers: data.producer_data_set,
        };
        Ok((heartbeat, is_new))
    }

    /// Takes up the client.
    fn register(self, broker: &Broker) -> Command {
        let mut differs = false;
        for (group, consumer) in self.consumers {
            differs |= broker.consumers.swap_fingerprint(&consumer.group_name, self.fingerprint);
            if self.with_subscriptions {
                let subscriptions = &consumer.subscription_data_set;
                broker.filters.subscribe(&consumer.group_name, subscriptions, broker.now());
            }
            if let Some(changed) = broker.consumers.heartbeat(&self.client, consumer, self.with_subscriptions)
                && group.notify_consumer_ids_changed_enable
            {
                notify(broker, &group.group_name, &changed);
            }
        }
        for producer in self.producers {
            broker.producers.heartbeat(&producer.group_name, &self.client);
        }
        let changed = if self.fingerprint == 0 || differs { "true" } else { "false" };
        Command::response(ResponseCode::SUCCESS)
            .with_field("IS_SUPPORT_HEART_BEAT_V2", "true")
            .with_field("IS_SUB_CHANGE", changed)
    }
}

/// The group of a consumer, with its retry topic, both created where they are not there. `None` where a group may not be.
///
/// # Errors
/// The retry topic is being deleted: what to wait for.
fn make_group(
    broker: &Broker,
    data: &ConsumerData,
    is_new: &mut bool,
) -> Result<Option<Arc<SubscriptionGroupConfig>>, NotDone> {
    let found = broker.groups.find_or_create_told(&data.group_name, &broker.settings().broker);
    let Some((group, is_new_group)) = found else { return Ok(None) };
    let retry_topic = names::retry_topic(&data.group_name);
    let is_ordered = |topic: &str| broker.topics.get(topic).is_some_and(|config| config.order);
    let order = data.subscription_data_set.iter().any(|subscription| is_ordered(&subscription.topic));
    let made = broker.topics.make(TopicConfig {
        topic_name: retry_topic,
        read_queue_nums: group.retry_queue_nums,
        write_queue_nums: group.retry_queue_nums,
        perm: PERM_READ | PERM_WRITE,
        order,
        topic_sys_flag: if data.unit_mode { SYS_FLAG_UNIT_SUB } else { 0 },
        ..TopicConfig::default()
    });
    let (topic, saving_topic) = made.map_err(NotDone::Waits)?;
    let saving_order = if topic.order == order {
        Saving::nothing()
    } else {
        broker.topics.set_order([topic.topic_name.as_str()], order)
    };
    *is_new |= is_new_group;
    for saving in [saving_topic, saving_order] {
        *is_new |= saving.later();
    }
    Ok(Some(group))
}

/// A client leaves a group (35).
pub(crate) fn unregister(broker: &Broker, peer: &Peer, request: &Command) -> Answer {
    let header: UnregisterClientRequestHeader<'_> = request.header()?;
    if let Some(group) = header.producer_group {
        broker.producers.unregister(group, peer);
    }
    if let Some(group) = header.consumer_group
        && let Some(left) = broker.consumers.unregister(group, peer)
    {
        left_group(broker, group, &left);
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_empty_header())
}

/// A connection ended: its clients leave their groups.
pub(crate) fn connection_closed(broker: &Broker, peer: &Peer) {
    broker.producers.connection_closed(peer);
    for (group, left) in broker.consumers.connection_closed(peer) {
        left_group(broker, &group, &left);
    }
    if broker.filter_servers.connection_closed(peer) {
        broker.topic_changes.note_other();
    }
}

fn left_group(broker: &Broker, group: &str, left: &Left) {
    if left.was_last {
        broker.filters.unsubscribe(group, broker.now());
    }
    if let Some(changed) = &left.changed {
        notify_group(broker, group, changed);
    }
}

/// Closes the connections of clients that no longer send heartbeats.
pub(crate) fn close_silent(broker: &Broker) {
    let oldest = broker.now() - broker.settings().broker.channel_expired_timeout;
    broker.producers.close_silent(oldest);
    broker.consumers.close_silent(oldest);
    broker.filter_servers.close_silent(broker.now());
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

/// All connected producers (328).
pub(crate) fn all_producers(broker: &Broker) -> Command {
    let info = |client: Client| ProducerInfo {
        client_id: client.id,
        language: Some(client.language),
        last_update_timestamp: client.seen,
        remote_ip: format!("/{}", client.peer.address()),
        version: client.version,
    };
    let groups = broker.producers.all().into_iter();
    let data = groups.map(|(group, clients)| (group.to_string(), clients.into_iter().map(info).collect())).collect();
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&ProducerTableInfo { data }))
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
