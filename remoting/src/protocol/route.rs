//! Where topics live: codes 105, 106, 205, 327.

use std::collections::{BTreeMap, BTreeSet};

use super::body::body;
use super::static_topic::TopicQueueMappingInfo;
use crate::header;

header! {
    /// Header of the request GET_ROUTEINFO_BY_TOPIC (105).
    pub struct GetRouteInfoRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Whether integer keys must be quoted (trap 4).
        pub accept_standard_json_only: Option<bool> = "acceptStandardJsonOnly",
    }
}

header! {
    /// Header of the request WIPE_WRITE_PERM_OF_BROKER (205).
    pub struct WipeWritePermOfBrokerRequestHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
    }
}

header! {
    /// Header of the response to WIPE_WRITE_PERM_OF_BROKER (205).
    pub struct WipeWritePermOfBrokerResponseHeader {
        /// Topics changed.
        pub wipe_topic_count: i32 = "wipeTopicCount",
    }
}

header! {
    /// Header of the request ADD_WRITE_PERM_OF_BROKER (327).
    pub struct AddWritePermOfBrokerRequestHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
    }
}

header! {
    /// Header of the response to ADD_WRITE_PERM_OF_BROKER (327).
    pub struct AddWritePermOfBrokerResponseHeader {
        /// Topics changed.
        pub add_topic_count: i32 = "addTopicCount",
    }
}

body! {
    /// Body of the request REGISTER_TOPIC_IN_NAMESRV (217) and of the response to GET_ROUTEINFO_BY_TOPIC (105).
    pub struct TopicRouteData {
        /// Brokers.
        pub broker_datas: Vec<BrokerData>,
        /// Filter servers by broker address.
        pub filter_server_table: BTreeMap<String, Vec<String>>,
        /// Order configuration: broker:queues;…
        pub order_topic_conf: Option<String>,
        /// Queues by broker.
        pub queue_datas: Vec<QueueData>,
        /// Static topics: mapping by broker.
        pub topic_queue_mapping_by_broker: Option<BTreeMap<String, TopicQueueMappingInfo>>,
    }
}

body! {
    /// Queues that a topic has on a broker.
    pub struct QueueData {
        /// Broker name.
        pub broker_name: String,
        /// Permission bits: 4 read, 2 write, 1 inherit.
        pub perm: i32,
        /// Queues to read from.
        pub read_queue_nums: i32,
        /// System flag of the topic.
        pub topic_sys_flag: i32,
        /// Queues to write to.
        pub write_queue_nums: i32,
    }
}

body! {
    /// The brokers of one name: a master and its slaves.
    pub struct BrokerData {
        /// Addresses by broker id.
        pub broker_addrs: BTreeMap<i64, String>,
        /// Broker name.
        pub broker_name: String,
        /// Cluster.
        pub cluster: String,
        /// Whether a slave may act as master.
        pub enable_acting_master: bool,
        /// Zone.
        pub zone_name: Option<String>,
    }
}

body! {
    /// Body of the response to GET_BROKER_CLUSTER_INFO (106).
    pub struct ClusterInfo {
        /// Brokers by name.
        pub broker_addr_table: BTreeMap<String, BrokerData>,
        /// Broker names by cluster.
        pub cluster_addr_table: BTreeMap<String, BTreeSet<String>>,
    }
}
