//! Registration: how the name servers learn what this broker is and which topics it has.

mod changes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apogee_config::BrokerConfig;
use apogee_remoting::client::NameServers;
use apogee_remoting::message::record::crc;
use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::protocol::register::{
    RegisterBrokerBody, RegisterBrokerRequestHeader, UnRegisterBrokerRequestHeader,
};
use apogee_remoting::protocol::topic::{TopicConfig, TopicConfigAndMappingSerializeWrapper};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};

pub(crate) use changes::TopicChanges;

use crate::Broker;
use crate::topic::{PERM_READ, PERM_WRITE};

/// Shortest and longest time between registrations (ms), whatever is configured; as the reference.
const PERIOD: std::ops::RangeInclusive<i32> = 10_000..=60_000;
/// A name server that does not answer keeps nobody waiting longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const UNREGISTER_TIMEOUT: Duration = Duration::from_millis(300);

/// Registers now, then every `registerNameServerPeriod` and with every change of a topic. Never ends.
pub(crate) async fn keep_registered(broker: Arc<Broker>) {
    loop {
        let settings = broker.settings();
        let period = settings.broker.register_name_server_period.clamp(*PERIOD.start(), *PERIOD.end());
        let next = tokio::time::sleep(Duration::from_millis(period as u64));
        tokio::pin!(next);
        loop {
            tokio::select! {
                () = &mut next => break,
                () = broker.topic_changes.noted() => {
                    let pending = broker.topic_changes.take();
                    register(&broker, Some(&pending.topics.iter().map(String::as_str).collect::<Vec<_>>())).await;
                    broker.topic_changes.done(&pending);
                }
            }
        }
        register_all(&broker).await;
    }
}

/// Tells all name servers all topics.
pub(crate) async fn register_all(broker: &Broker) {
    let pending = broker.topic_changes.take();
    register(broker, None).await;
    broker.topic_changes.done(&pending);
}

/// Ends when the name servers know of every change so far: whoever made one asks them for the route next.
pub(crate) async fn settled(broker: &Broker) {
    let _ = tokio::time::timeout(LONGEST_WAIT, broker.topic_changes.registered()).await;
}

/// Takes this broker off all name servers.
pub(crate) async fn unregister(broker: &Broker) {
    let settings = broker.settings();
    let header = UnRegisterBrokerRequestHeader {
        broker_name: &settings.broker.broker_name,
        broker_addr: &broker.address,
        cluster_name: &settings.broker.broker_cluster_name,
        broker_id: Some(settings.broker.broker_id),
    };
    let request = Command::request(RequestCode::UNREGISTER_BROKER).with_header(&header);
    for (server, result) in broker.name_servers.call_all(request, UNREGISTER_TIMEOUT).await {
        match result {
            Ok(_) => tracing::info!(server, "unregistered from the name server"),
            Err(error) => tracing::warn!(server, %error, "cannot unregister from the name server"),
        }
    }
}

/// Tells all name servers at once the named topics, or all.
async fn register(broker: &Broker, only: Option<&[&str]>) {
    let settings = broker.settings();
    let config = &settings.broker;
    let body = registration(broker, config, only).encode(config.compressed_register);
    let header = RegisterBrokerRequestHeader {
        broker_name: &config.broker_name,
        broker_addr: &broker.address,
        cluster_name: &config.broker_cluster_name,
        ha_server_addr: Some(&broker.ha_address),
        broker_id: config.broker_id,
        heartbeat_timeout_millis: config.enable_slave_acting_master.then_some(config.broker_not_active_timeout_millis),
        enable_acting_master: Some(config.enable_slave_acting_master),
        compressed: config.compressed_register,
        body_crc32: crc(&body) as i32,
    };
    let request = Command::request(RequestCode::REGISTER_BROKER).with_header(&header).with_body(body);
    let timeout = Duration::from_millis(config.register_broker_timeout_mills.max(1) as u64);
    for (server, result) in broker.name_servers.call_all(request, timeout).await {
        match result {
            Ok(answer) if answer.response_code() == ResponseCode::SUCCESS => take_order_topics(broker, &answer).await,
            Ok(answer) => {
                tracing::warn!(server, code = answer.code, remark = ?answer.remark, "the name server refused the registration");
            }
            Err(error) => tracing::warn!(server, %error, "cannot register with the name server"),
        }
    }
}

/// What is told: the topics with their version, in the permissions that the broker as a whole has.
fn registration(broker: &Broker, config: &BrokerConfig, only: Option<&[&str]>) -> RegisterBrokerBody {
    let topics = broker.topics.snapshot();
    let is_whole = config.broker_permission & (PERM_READ | PERM_WRITE) == PERM_READ | PERM_WRITE;
    let told = |name: &String| only.is_none_or(|only| only.contains(&name.as_str()));
    let limited = |topic: TopicConfig| {
        if is_whole {
            topic
        } else {
            TopicConfig {
                topic_name: topic.topic_name,
                read_queue_nums: topic.read_queue_nums,
                write_queue_nums: topic.write_queue_nums,
                perm: topic.perm & config.broker_permission,
                ..TopicConfig::default()
            }
        }
    };
    let table: BTreeMap<_, _> = topics
        .topic_config_table
        .into_iter()
        .filter(|(name, _)| told(name))
        .map(|(name, topic)| (name, limited(topic)))
        .collect();
    RegisterBrokerBody {
        topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper {
            data_version: topics.data_version,
            topic_config_table: table,
            ..TopicConfigAndMappingSerializeWrapper::default()
        },
        ..RegisterBrokerBody::default()
    }
}

/// The answer lists the topics that an admin declared ordered at the name server.
async fn take_order_topics(broker: &Broker, answer: &Command) {
    if answer.body.is_empty() {
        return;
    }
    let marked = match json::from_slice::<KVTable>(&answer.body.bytes()) {
        Ok(ordered) => {
            let saving = broker.topics.set_order(ordered.table.keys().map(String::as_str), true);
            saving.done().await.map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = marked {
        tracing::warn!(error, "the name server's list of ordered topics is not taken over");
    }
}

/// The addresses in the key `namesrvAddr`.
pub(crate) fn addresses(config: &BrokerConfig) -> Vec<String> {
    NameServers::parse_list(config.namesrv_addr.as_deref().unwrap_or_default())
}
