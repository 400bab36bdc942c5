//! Brokers at the name server: codes 103, 104, 322, 901, 904, 905.

use std::collections::BTreeMap;

use super::body::body;
use super::topic::TopicConfigAndMappingSerializeWrapper;
use crate::header;

header! {
    /// Header of the request REGISTER_BROKER (103).
    pub struct RegisterBrokerRequestHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
        /// Broker address, host:port.
        pub broker_addr: &'a str = "brokerAddr",
        /// Cluster.
        pub cluster_name: &'a str = "clusterName",
        /// Address for replication, host:port.
        pub ha_server_addr: Option<&'a str> = "haServerAddr",
        /// Broker id; 0 is the master.
        pub broker_id: i64 = "brokerId",
        /// Silence after which the broker counts as gone, ms.
        pub heartbeat_timeout_millis: Option<i64> = "heartbeatTimeoutMillis",
        /// Whether a slave may act as master.
        pub enable_acting_master: Option<bool> = "enableActingMaster",
        /// Whether the body is deflated.
        #[default(false)]
        pub compressed: bool = "compressed",
        /// CRC-32 of the body; 0 is not checked.
        #[default(0)]
        pub body_crc32: i32 = "bodyCrc32",
    }
}

header! {
    /// Header of the response to REGISTER_BROKER (103).
    pub struct RegisterBrokerResponseHeader<'a> {
        /// Address for replication, host:port.
        pub ha_server_addr: Option<&'a str> = "haServerAddr",
        /// Address of the master, host:port.
        pub master_addr: Option<&'a str> = "masterAddr",
    }
}

header! {
    /// Header of the request UNREGISTER_BROKER (104).
    pub struct UnRegisterBrokerRequestHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
        /// Broker address, host:port.
        pub broker_addr: &'a str = "brokerAddr",
        /// Cluster.
        pub cluster_name: &'a str = "clusterName",
        /// Broker id; 0 is the master.
        pub broker_id: Option<i64> = "brokerId",
    }
}

header! {
    /// Header of the request BROKER_HEARTBEAT (904).
    pub struct BrokerHeartbeatRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: &'a str = "clusterName",
        /// Broker address, host:port.
        pub broker_addr: &'a str = "brokerAddr",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Broker id; 0 is the master.
        pub broker_id: Option<i64> = "brokerId",
        /// Newest epoch in the broker's commit log.
        pub epoch: Option<i32> = "epoch",
        /// Physical offset behind the last byte of the broker.
        pub max_offset: Option<i64> = "maxOffset",
        /// Physical offset confirmed by the replicas in sync.
        pub confirm_offset: Option<i64> = "confirmOffset",
        /// Silence after which the broker counts as gone, ms (spelt so on the wire).
        pub heartbeat_timeout_mills: Option<i64> = "heartbeatTimeoutMills",
        /// Priority in elections; lower wins.
        pub election_priority: Option<i32> = "electionPriority",
    }
}

header! {
    /// Header of the request QUERY_DATA_VERSION (322).
    pub struct QueryDataVersionRequestHeader<'a> {
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Broker address, host:port.
        pub broker_addr: &'a str = "brokerAddr",
        /// Cluster.
        pub cluster_name: &'a str = "clusterName",
        /// Broker id; 0 is the master.
        pub broker_id: Option<i64> = "brokerId",
    }
}

header! {
    /// Header of the response to QUERY_DATA_VERSION (322).
    pub struct QueryDataVersionResponseHeader {
        /// Whether the versions differ.
        pub changed: bool = "changed",
    }
}

header! {
    /// Header of the request GET_BROKER_MEMBER_GROUP (901).
    pub struct GetBrokerMemberGroupRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: &'a str = "clusterName",
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
    }
}

header! {
    /// Header of the request NOTIFY_MIN_BROKER_ID_CHANGE (905).
    pub struct NotifyMinBrokerIdChangeRequestHeader<'a> {
        /// Smallest broker id alive.
        pub min_broker_id: Option<i64> = "minBrokerId",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Address of the broker with the smallest id.
        pub min_broker_addr: Option<&'a str> = "minBrokerAddr",
        /// Address of the broker that went.
        pub offline_broker_addr: Option<&'a str> = "offlineBrokerAddr",
        /// Address for replication of the broker with the smallest id.
        pub ha_broker_addr: Option<&'a str> = "haBrokerAddr",
    }
}

body! {
    /// Body of the request REGISTER_BROKER (103) in its JSON form; see [`RegisterBrokerBody::decode`] for the other.
    pub struct RegisterBrokerBody {
        /// Addresses of filter servers.
        pub filter_server_list: Vec<String>,
        /// Topics of the broker.
        pub topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper,
    }
}

body! {
    /// The living brokers of one name.
    pub struct BrokerMemberGroup {
        /// Addresses by broker id.
        pub broker_addrs: BTreeMap<i64, String>,
        /// Broker name.
        pub broker_name: String,
        /// Cluster.
        pub cluster: String,
    }
}

body! {
    /// Body of the response to GET_BROKER_MEMBER_GROUP (901).
    pub struct GetBrokerMemberGroupResponseBody {
        /// The brokers of that name.
        pub broker_member_group: Option<BrokerMemberGroup>,
    }
}
