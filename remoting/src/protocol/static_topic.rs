//! Static topics: logical queues mapped onto queues of several brokers, codes 21, 103, 513.

use std::collections::BTreeMap;

use super::body::body;
use super::data_version::DataVersion;

body! {
    /// Which logical queues of a static topic a broker holds now.
    pub struct TopicQueueMappingInfo {
        /// Broker name.
        pub bname: String,
        /// Queue number on this broker by logical queue, for those it holds now.
        pub curr_id_map: BTreeMap<i32, i32>,
        /// Whether it is not persisted yet.
        pub dirty: bool,
        /// Epoch.
        pub epoch: i64,
        /// Scope of the logical queues.
        pub scope: String = "__global__".into(),
        /// Topic.
        pub topic: String,
        /// Logical queues in all.
        pub total_queues: i32,
    }
}

body! {
    /// Where the logical queues of a static topic were, in order: body of UPDATE_AND_CREATE_STATIC_TOPIC (513).
    pub struct TopicQueueMappingDetail {
        /// Broker name.
        pub bname: String,
        /// Queue number on this broker by logical queue, for those it holds now.
        pub curr_id_map: BTreeMap<i32, i32>,
        /// Whether it is not persisted yet.
        pub dirty: bool,
        /// Epoch.
        pub epoch: i64,
        /// Runs of each logical queue, oldest first.
        pub hosted_queues: BTreeMap<i32, Vec<LogicQueueMappingItem>>,
        /// Scope of the logical queues.
        pub scope: String = "__global__".into(),
        /// Topic.
        pub topic: String,
        /// Logical queues in all.
        pub total_queues: i32,
    }
}

body! {
    /// A run of a logical queue on one broker.
    pub struct LogicQueueMappingItem {
        /// Broker name.
        pub bname: String,
        /// Offset behind the last one.
        pub end_offset: i64 = -1,
        /// Number of the run, from 0.
        #[serde(rename = "gen")]
        pub generation: i32,
        /// Logical queue offset at which the run starts; -1 while it is undecided.
        pub logic_offset: i64,
        /// Queue number.
        pub queue_id: i32,
        /// First offset.
        pub start_offset: i64,
        /// When the run ended, ms; -1 while it is open.
        pub time_of_end: i64 = -1,
        /// When the run started, ms; -1 when unknown.
        pub time_of_start: i64 = -1,
    }
}

body! {
    /// The file topicqueuemapping.json.
    pub struct TopicQueueMappingSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Static topics: what this broker holds now, by topic.
        pub topic_queue_mapping_info_map: BTreeMap<String, TopicQueueMappingDetail>,
    }
}
