//! The topics that a broker creates for itself (constants, section 1).

use std::collections::BTreeSet;

use apogee_config::BrokerSettings;
use apogee_remoting::protocol::topic::TopicConfig;

use super::{PERM_INHERIT, PERM_READ, PERM_WRITE};
use crate::names;

const READ_WRITE: i32 = PERM_READ | PERM_WRITE;
const SCHEDULE_QUEUES: i32 = 18;
const CLUSTER_TOPIC_QUEUES: i32 = 16;
const BENCHMARK_QUEUES: i32 = 1024;

/// The broker's own topics. Those in `topics.json` are laid over them, as the reference does.
pub(super) fn topics(settings: &BrokerSettings) -> Vec<TopicConfig> {
    let broker = &settings.broker;
    let (cluster, name) = (&broker.broker_cluster_name, &broker.broker_name);
    let inheritable = |enabled: bool| if enabled { READ_WRITE | PERM_INHERIT } else { PERM_INHERIT };
    let mut topics = vec![
        topic(names::SELF_TEST_TOPIC, 1, READ_WRITE),
        topic(names::BENCHMARK_TOPIC, BENCHMARK_QUEUES, READ_WRITE),
        topic(cluster, CLUSTER_TOPIC_QUEUES, inheritable(broker.cluster_topic_enable)),
        topic(name, 1, inheritable(broker.broker_topic_enable)),
        topic(names::OFFSET_MOVED_EVENT, 1, READ_WRITE),
        topic(names::SCHEDULE_TOPIC, SCHEDULE_QUEUES, READ_WRITE),
        topic(&format!("{cluster}_REPLY_TOPIC"), 1, READ_WRITE),
        topic(&format!("rmq_sys_REVIVE_LOG_{cluster}"), broker.revive_queue_num, READ_WRITE),
        topic(&format!("rmq_sys_SYNC_BROKER_MEMBER_{name}"), 1, PERM_INHERIT),
        topic(names::HALF_TOPIC, 1, READ_WRITE),
        topic(names::OP_HALF_TOPIC, 1, READ_WRITE),
        topic(names::ROCKSDB_HALF_TOPIC, 1, READ_WRITE),
        topic(names::ROCKSDB_OP_HALF_TOPIC, 1, READ_WRITE),
    ];
    if broker.auto_create_topic_enable {
        topics.push(topic(names::AUTO_CREATE_TOPIC, broker.default_topic_queue_nums, READ_WRITE | PERM_INHERIT));
    }
    if broker.trace_topic_enable {
        topics.push(topic(&broker.msg_trace_topic_name, 1, READ_WRITE));
    }
    if settings.store.timer_wheel_enable {
        topics.push(topic("rmq_sys_wheel_timer", 1, READ_WRITE));
    }
    topics
}

/// Names of those above and of the topics that are the system's own without being there.
pub(super) fn names(settings: &BrokerSettings) -> BTreeSet<String> {
    let created = topics(settings).into_iter().map(|topic| topic.topic_name);
    created.chain(names::SYSTEM_TOPICS.map(str::to_owned)).collect()
}

/// Whether a topic is one of those above, or any other that is the system's own.
pub(crate) fn is_system_topic(settings: &BrokerSettings, topic: &str) -> bool {
    let broker = &settings.broker;
    names::is_system_topic(topic)
        || topic == broker.broker_name
        || topic.strip_prefix(&broker.broker_cluster_name).is_some_and(|rest| rest.is_empty() || rest == "_REPLY_TOPIC")
}

fn topic(name: &str, queues: i32, perm: i32) -> TopicConfig {
    TopicConfig {
        topic_name: name.to_owned(),
        read_queue_nums: queues,
        write_queue_nums: queues,
        perm,
        ..TopicConfig::default()
    }
}
