//! Static topics: logical queues mapped onto queues of several brokers, codes 21, 103, 513.

use std::collections::BTreeMap;

use super::body::body;
use super::data_version::DataVersion;

body! {
    /// Which logical queues of a static topic a broker holds now.
    pub struct TopicQueueMappingInfo {
        /// Bname.
        pub bname: String,
        /// Curr id map.
        pub curr_id_map: BTreeMap<i32, i32>,
        /// Dirty.
        pub dirty: bool,
        /// Epoch.
        pub epoch: i64,
        /// Scope.
        pub scope: String = "__global__".into(),
        /// Topic.
        pub topic: String,
        /// Total queues.
        pub total_queues: i32,
    }
}

body! {
    /// Where the logical queues of a static topic were, in order: body of UPDATE_AND_CREATE_STATIC_TOPIC (513).
    pub struct TopicQueueMappingDetail {
        /// Bname.
        pub bname: String,
        /// Curr id map.
        pub curr_id_map: BTreeMap<i32, i32>,
        /// Dirty.
        pub dirty: bool,
        /// Epoch.
        pub epoch: i64,
        /// Hosted queues.
        pub hosted_queues: BTreeMap<i32, Vec<LogicQueueMappingItem>>,
        /// Scope.
        pub scope: String = "__global__".into(),
        /// Topic.
        pub topic: String,
        /// Total queues.
        pub total_queues: i32,
    }
}

body! {
    /// A run of a logical queue on one broker.
    pub struct LogicQueueMappingItem {
        /// Bname.
        pub bname: String,
        /// Offset behind the last one.
        pub end_offset: i64 = -1,
        /// Gen.
        #[serde(rename = "gen")]
        pub generation: i32,
        /// Logic offset.
        pub logic_offset: i64,
        /// Queue number.
        pub queue_id: i32,
        /// First offset.
        pub start_offset: i64,
        /// Time of end.
        pub time_of_end: i64 = -1,
        /// Time of start.
        pub time_of_start: i64 = -1,
    }
}

body! {
    /// The file topicqueuemapping.json.
    pub struct TopicQueueMappingSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Topic queue mapping info map.
        pub topic_queue_mapping_info_map: BTreeMap<String, TopicQueueMappingDetail>,
    }
}
