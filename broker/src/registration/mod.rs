//! Registration: how the name servers learn what this broker is and which topics it has.

mod changes;

use std::sync::Arc;
use std::time::Duration;

use apogee_config::BrokerConfig;
use apogee_remoting::client::NameServers;
use apogee_remoting::message::record::crc;
use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::protocol::register::{
    BrokerHeartbeatRequestHeader, RegisterBrokerBody, RegisterBrokerRequestHeader, RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
};
use apogee_remoting::protocol::topic::{
    TopicConfig, TopicConfigAndMappingSerializeWrapper, TopicConfigSerializeWrapper,
};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) use changes::TopicChanges;

use crate::topic::{PERM_READ, PERM_WRITE};
use crate::{Broker, replication};

/// Shortest and longest time between registrations (ms), whatever is configured; as the reference.
const PERIOD: std::ops::RangeInclusive<i32> = 10_000..=60_000;
/// A name server that does not answer keeps nobody waiting longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Milliseconds; whatever is configured.
const SHORTEST_HEARTBEAT: i64 = 10;
const UNREGISTER_TIMEOUT: Duration = Duration::from_millis(300);

/// Registers now, then every `registerNameServerPeriod` and with every change of a topic. Never ends.
pub(crate) async fn keep_registered(broker: Arc<Broker>) {
    replication::before_registration(&broker).await;
    let mut calls = JoinSet::new();
    loop {
        let pending = broker.topic_changes.take();
        register(&broker, None, &mut calls).await;
        broker.topic_changes.done(&pending);
        let period = broker.settings().broker.register_name_server_period.clamp(*PERIOD.start(), *PERIOD.end());
        let next = tokio::time::sleep(Duration::from_millis(period as u64));
        tokio::pin!(next);
        loop {
            tokio::select! {
                () = &mut next => break,
                () = broker.topic_changes.noted() => {
                    let pending = broker.topic_changes.take();
                    register(&broker, pending.single(), &mut calls).await;
                    broker.topic_changes.done(&pending);
                }
            }
        }
    }
}

/// Tells the name servers every `brokerHeartbeatInterval` that this broker lives, where they are told to miss it sooner than it
/// registers again (`enableSlaveActingMaster`). Never ends.
pub(crate) async fn keep_alive(broker: Arc<Broker>) {
    loop {
        let interval = i64::from(broker.settings().broker.broker_heartbeat_interval).max(SHORTEST_HEARTBEAT);
        tokio::time::sleep(Duration::from_millis(interval as u64)).await;
        if let Some(heartbeat) = heartbeat(&broker) {
            for (server, error) in broker.name_servers.send_one_way_all(heartbeat, LONGEST_WAIT).await {
                tracing::debug!(server, %error, "no heartbeat to the name server");
            }
        }
    }
}

fn heartbeat(broker: &Broker) -> Option<Command> {
    let settings = broker.settings();
    let config = &settings.broker;
    let header = BrokerHeartbeatRequestHeader {
        cluster_name: &config.broker_cluster_name,
        broker_addr: &broker.address,
        broker_name: Some(&config.broker_name),
        broker_id: None,
        epoch: None,
        max_offset: None,
        confirm_offset: None,
        heartbeat_timeout_mills: None,
        election_priority: None,
    };
    let request = || Command::request(RequestCode::BROKER_HEARTBEAT).with_header(&header);
    config.enable_slave_acting_master.then(request)
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

/// Tells all name servers at once a topic, or all. Ends when they have answered, but not later than after [`LONGEST_WAIT`]:
/// who takes longer holds up nobody, and goes on among the `calls`.
async fn register(broker: &Arc<Broker>, only: Option<&str>, calls: &mut JoinSet<()>) {
    while calls.try_join_next().is_some() {}
    // One that is gone again is told with all the others.
    let only = only.and_then(|topic| broker.topics.get(topic));
    let request = request(broker, only.as_deref().map(|topic| &**topic));
    let (ends, mut all_ended) = mpsc::channel::<()>(1);
    for server in &*broker.name_servers.addresses() {
        let call = register_with(Arc::clone(broker), server.clone(), request.clone(), only.is_some());
        let end = ends.clone();
        calls.spawn(async move {
            call.await;
            drop(end);
        });
    }
    drop(ends);
    // Nothing is ever sent: it ends with the last call, or with the time.
    let _ = tokio::time::timeout(LONGEST_WAIT, all_ended.recv()).await;
}

async fn register_with(broker: Arc<Broker>, server: String, request: Command, is_single: bool) {
    let timeout = Duration::from_millis(broker.settings().broker.register_broker_timeout_mills.max(1) as u64);
    let is_success = |answer: &Command| answer.response_code() == ResponseCode::SUCCESS;
    let mut answer = broker.name_servers.call(&server, request, timeout).await;
    if is_single && answer.as_ref().is_ok_and(|answer| !is_success(answer)) {
        // It does not know this broker, having been restarted for instance (trap 24).
        answer = broker.name_servers.call(&server, self::request(&broker, None), timeout).await;
    }
    match answer {
        Ok(answer) if is_success(&answer) => {
            if let Ok(header) = answer.header::<RegisterBrokerResponseHeader<'_>>() {
                broker.replication.registered(&header);
            }
            take_order_topics(&broker, &answer).await;
        }
        Ok(answer) => {
            tracing::warn!(server, code = answer.code, remark = ?answer.remark, "the name server refused the registration");
        }
        Err(error) => tracing::warn!(server, %error, "cannot register with the name server"),
    }
}

/// The request that tells a topic, or all.
fn request(broker: &Broker, only: Option<&TopicConfig>) -> Command {
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
    Command::request(RequestCode::REGISTER_BROKER).with_header(&header).with_body(body)
}

/// What is told: topics with the version of them all, in the permissions that the broker as a whole has.
fn registration(broker: &Broker, config: &BrokerConfig, only: Option<&TopicConfig>) -> RegisterBrokerBody {
    let is_whole = config.broker_permission & (PERM_READ | PERM_WRITE) == PERM_READ | PERM_WRITE;
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
    let TopicConfigSerializeWrapper { data_version, mut topic_config_table } = match only {
        Some(topic) => broker.topics.snapshot_of(topic),
        None => broker.topics.snapshot(),
    };
    for topic in topic_config_table.values_mut() {
        *topic = limited(std::mem::take(topic));
    }
    RegisterBrokerBody {
        filter_server_list: broker.filter_servers.addresses(),
        topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper {
            data_version,
            topic_config_table,
            ..TopicConfigAndMappingSerializeWrapper::default()
        },
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
