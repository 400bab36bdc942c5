//! Expressions of consumer groups and filter servers: code 301 and the file consumerFilter.json.

use std::collections::BTreeMap;

use super::body::body;
use crate::header;

header! {
    /// Header of the request REGISTER_FILTER_SERVER (301).
    pub struct RegisterFilterServerRequestHeader<'a> {
        /// Address of the filter server.
        pub filter_server_addr: &'a str = "filterServerAddr",
    }
}

header! {
    /// Header of the response to REGISTER_FILTER_SERVER (301).
    pub struct RegisterFilterServerResponseHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
        /// Broker id.
        pub broker_id: i64 = "brokerId",
    }
}

body! {
    /// All expressions of groups that filter by properties: the file consumerFilter.json.
    pub struct ConsumerFilters {
        /// Expressions by topic.
        pub filter_data_by_topic: BTreeMap<String, FilterDataMapByTopic>,
    }
}

body! {
    /// The expressions for one topic.
    pub struct FilterDataMapByTopic {
        /// Expressions by group.
        pub group_filter_data: BTreeMap<String, ConsumerFilterData>,
        /// Topic.
        pub topic: String,
    }
}

body! {
    /// What a group wants of a topic.
    pub struct ConsumerFilterData {
        /// The group's bits in the bit maps of consume queues.
        pub bloom_filter_data: BloomFilterData,
        /// When the group came with this expression, ms.
        pub born_time: i64,
        /// Version of the subscription, as the client counts.
        pub client_version: i64,
        /// Consumer group.
        pub consumer_group: String,
        /// Whether nobody of the group is there.
        pub dead: bool,
        /// Since when nobody is, ms; 0 while somebody is.
        pub dead_time: i64,
        /// The expression.
        pub expression: String,
        /// Kind of the expression.
        pub expression_type: String,
        /// Topic.
        pub topic: String,
    }
}

body! {
    /// Bits in a bit map.
    pub struct BloomFilterData {
        /// Length of the map in bits.
        pub bit_num: i32,
        /// The bits.
        pub bit_pos: Vec<i32>,
    }
}
