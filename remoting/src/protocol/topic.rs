//! Topics and their configuration: codes 17, 18, 21, 215 to 217, 224, 300, 343, 351.

use std::collections::{BTreeMap, BTreeSet};

use super::body::{body, names};
use super::data_version::DataVersion;
use super::static_topic::{TopicQueueMappingDetail, TopicQueueMappingInfo};
use crate::header;

header! {
    /// Header of the requests UPDATE_AND_CREATE_TOPIC (17), UPDATE_AND_CREATE_STATIC_TOPIC (513).
    pub struct CreateTopicRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// What the reference's tools send (TBW102); nothing depends on it.
        pub default_topic: Option<&'a str> = "defaultTopic",
        /// Queues to read from.
        pub read_queue_nums: i32 = "readQueueNums",
        /// Queues to write to.
        pub write_queue_nums: i32 = "writeQueueNums",
        /// Permission bits: 4 read, 2 write, 1 inherit.
        pub perm: i32 = "perm",
        /// SINGLE_TAG or MULTI_TAG.
        pub topic_filter_type: &'a str = "topicFilterType",
        /// System flag of the topic.
        pub topic_sys_flag: Option<i32> = "topicSysFlag",
        /// Whether the topic is ordered over all of its queues.
        #[default(false)]
        pub order: bool = "order",
        /// Attributes.
        pub attributes: Option<&'a str> = "attributes",
        /// Whether to go on against doubts.
        #[default(false)]
        pub force: bool = "force",
    }
}

header! {
    /// Header of the request DELETE_TOPIC_IN_BROKER (215).
    pub struct DeleteTopicRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// Header of the request DELETE_TOPIC_IN_NAMESRV (216).
    pub struct DeleteTopicFromNamesrvRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
    }
}

header! {
    /// Header of the request REGISTER_TOPIC_IN_NAMESRV (217).
    pub struct RegisterTopicRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// The order configuration of a topic. The reference declares it for no code.
    pub struct RegisterOrderTopicRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Order configuration: broker:queues;…
        pub order_topic_string: &'a str = "orderTopicString",
    }
}

header! {
    /// Header of the request GET_ALL_TOPIC_CONFIG (21).
    pub struct GetAllTopicConfigRequestHeader<'a> {
        /// First topic of the page; absent asks for all.
        pub topic_seq: Option<i32> = "topicSeq",
        /// Version of the table.
        pub data_version: Option<&'a str> = "dataVersion",
        /// Most topics of a page.
        pub max_topic_num: Option<i32> = "maxTopicNum",
    }
}

header! {
    /// Header of the response to GET_ALL_TOPIC_CONFIG (21).
    pub struct GetAllTopicConfigResponseHeader {
        /// Topics in all, over every page.
        pub total_topic_num: Option<i32> = "totalTopicNum",
    }
}

header! {
    /// Header of the request GET_TOPIC_CONFIG (351).
    pub struct GetTopicConfigRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// Header of the request GET_TOPICS_BY_CLUSTER (224).
    pub struct GetTopicsByClusterRequestHeader<'a> {
        /// Cluster.
        pub cluster: &'a str = "cluster",
    }
}

header! {
    /// Header of the request QUERY_TOPIC_CONSUME_BY_WHO (300).
    pub struct QueryTopicConsumeByWhoRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// Header of the request QUERY_TOPICS_BY_CONSUMER (343).
    pub struct QueryTopicsByConsumerRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
    }
}

body! {
    /// Configuration of a topic.
    pub struct TopicConfig {
        /// Attributes.
        pub attributes: BTreeMap<String, String>,
        /// Whether the topic is ordered over all of its queues.
        pub order: bool,
        /// Permission bits: 4 read, 2 write, 1 inherit.
        pub perm: i32 = 6,
        /// Queues to read from.
        pub read_queue_nums: i32 = 16,
        /// SINGLE_TAG or MULTI_TAG.
        pub topic_filter_type: TopicFilterType = TopicFilterType::SingleTag,
        /// Topic.
        pub topic_name: String,
        /// System flag of the topic.
        pub topic_sys_flag: i32,
        /// Queues to write to.
        pub write_queue_nums: i32 = 16,
    }
}

body! {
    /// All topics of a broker, as 4.x brokers send and the file topics.json holds them.
    pub struct TopicConfigSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Topics by name.
        pub topic_config_table: BTreeMap<String, TopicConfig>,
    }
}

body! {
    /// All topics of a broker with the mappings of its static topics: body of the response to GET_ALL_TOPIC_CONFIG (21), part of a registration.
    pub struct TopicConfigAndMappingSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Version of the mappings.
        pub mapping_data_version: DataVersion,
        /// Topics by name.
        pub topic_config_table: BTreeMap<String, TopicConfig>,
        /// Static topics: all runs, by topic.
        pub topic_queue_mapping_detail_map: BTreeMap<String, TopicQueueMappingDetail>,
        /// Static topics: what this broker holds now, by topic.
        pub topic_queue_mapping_info_map: BTreeMap<String, TopicQueueMappingInfo>,
    }
}

body! {
    /// A topic with its mapping if it is static: body of the response to GET_TOPIC_CONFIG (351).
    pub struct TopicConfigAndQueueMapping {
        /// Attributes.
        pub attributes: BTreeMap<String, String>,
        /// Its mapping, if static.
        pub mapping_detail: Option<TopicQueueMappingDetail>,
        /// Whether the topic is ordered over all of its queues.
        pub order: bool,
        /// Permission bits: 4 read, 2 write, 1 inherit.
        pub perm: i32 = 6,
        /// Queues to read from.
        pub read_queue_nums: i32 = 16,
        /// SINGLE_TAG or MULTI_TAG.
        pub topic_filter_type: TopicFilterType = TopicFilterType::SingleTag,
        /// Topic.
        pub topic_name: String,
        /// System flag of the topic.
        pub topic_sys_flag: i32,
        /// Queues to write to.
        pub write_queue_nums: i32 = 16,
    }
}

body! {
    /// Body of the request UPDATE_AND_CREATE_TOPIC_LIST (18).
    pub struct CreateTopicListRequestBody {
        /// Topics.
        pub topic_config_list: Vec<TopicConfig>,
    }
}

body! {
    /// Names of topics: body of the responses to 206, 224, 304, 305, 311 to 313, 343.
    pub struct TopicList {
        /// Broker address, host:port.
        pub broker_addr: String,
        /// Topics.
        pub topic_list: BTreeSet<String>,
    }
}

names! {
    /// How many tags a message of the topic may have.
    TopicFilterType {
        /// One tag.
        SingleTag = "SINGLE_TAG",
        /// Several tags.
        MultiTag = "MULTI_TAG",
    }
}
