//! What the broker tells of lite topics: codes 200074 to 200078.

use std::collections::{BTreeMap, BTreeSet};

use super::body::body;
use super::stats::{OffsetWrapper, TopicOffset};

body! {
    /// Body of the response to GET_BROKER_LITE_INFO (200074).
    pub struct GetBrokerLiteInfoResponseBody {
        /// Consume queues in memory.
        pub cq_table_size: i32,
        /// Light queues in use.
        pub current_lmq_num: i32,
        /// Events in memory.
        pub event_map_size: i32,
        /// Parent topics by group.
        pub group_meta: Option<BTreeMap<String, BTreeSet<String>>>,
        /// Subscriptions.
        pub lite_subscription_count: i32,
        /// Most light queues.
        pub max_lmq_num: i32,
        /// Offsets in memory.
        pub offset_table_size: i32,
        /// Orderly pops in memory.
        pub order_info_count: i32,
        /// Kind of store.
        pub store_type: String,
        /// Life of lite topics in minutes, by parent topic.
        pub topic_meta: Option<BTreeMap<String, i32>>,
    }
}

body! {
    /// Body of the response to GET_PARENT_TOPIC_INFO (200075).
    pub struct GetParentTopicInfoResponseBody {
        /// Consumer groups.
        pub groups: Option<BTreeSet<String>>,
        /// Lite topics.
        pub lite_topic_count: i32,
        /// Light queues.
        pub lmq_num: i32,
        /// Topic.
        pub topic: String,
        /// Life of a lite topic without use, minutes.
        pub ttl: i32,
    }
}

body! {
    /// Body of the response to GET_LITE_TOPIC_INFO (200076).
    pub struct GetLiteTopicInfoResponseBody {
        /// Lite topic.
        pub lite_topic: String,
        /// Topic that the lite topics belong to.
        pub parent_topic: String,
        /// Whether the lite topic belongs to this broker.
        pub sharding_to_broker: bool,
        /// Who subscribes.
        pub subscriber: Option<Vec<ClientGroup>>,
        /// Limits of its queue.
        pub topic_offset: Option<TopicOffset>,
    }
}

body! {
    /// Body of the response to GET_LITE_CLIENT_INFO (200077).
    pub struct GetLiteClientInfoResponseBody {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub group: String,
        /// Last sign of life, ms.
        pub last_access_time: i64,
        /// Last consumption, ms.
        pub last_consume_time: i64,
        /// Lite topics.
        pub lite_topic_count: i32,
        /// Lite topics.
        pub lite_topic_set: Option<BTreeSet<String>>,
        /// Topic that the lite topics belong to.
        pub parent_topic: String,
    }
}

body! {
    /// Body of the response to GET_LITE_GROUP_INFO (200078).
    pub struct GetLiteGroupInfoResponseBody {
        /// Store time of the oldest message not consumed, ms; -1 without one.
        pub earliest_unconsumed_timestamp: i64 = -1,
        /// Consumer group.
        pub group: String,
        /// Those with most messages.
        pub lag_count_top_k: Option<Vec<LiteLagInfo>>,
        /// Those that wait longest.
        pub lag_timestamp_top_k: Option<Vec<LiteLagInfo>>,
        /// Lite topic.
        pub lite_topic: String,
        /// How far the group is with the lite topic.
        pub lite_topic_offset_wrapper: Option<OffsetWrapper>,
        /// Topic that the lite topics belong to.
        pub parent_topic: String,
        /// Messages not consumed.
        pub total_lag_count: i64,
    }
}

body! {
    /// A client of a group.
    pub struct ClientGroup {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub group: String,
    }
}

body! {
    /// How far a lite topic is behind.
    pub struct LiteLagInfo {
        /// Store time of the oldest message not consumed, ms; -1 without one.
        pub earliest_unconsumed_timestamp: i64 = -1,
        /// Messages not consumed.
        pub lag_count: i64,
        /// Lite topic.
        pub lite_topic: String,
    }
}
