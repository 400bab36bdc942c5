//! What the broker tells of lite topics: codes 200074 to 200078.

use std::collections::{BTreeMap, BTreeSet};

use super::body::body;
use super::stats::OffsetWrapper;
use super::stats::TopicOffset;

body! {
    /// Body of the response to GET_BROKER_LITE_INFO (200074).
    pub struct GetBrokerLiteInfoResponseBody {
        /// Cq table size.
        pub cq_table_size: i32,
        /// Current lmq num.
        pub current_lmq_num: i32,
        /// Event map size.
        pub event_map_size: i32,
        /// Group meta.
        pub group_meta: Option<BTreeMap<String, BTreeSet<String>>>,
        /// Lite subscription count.
        pub lite_subscription_count: i32,
        /// Max lmq num.
        pub max_lmq_num: i32,
        /// Offset table size.
        pub offset_table_size: i32,
        /// Order info count.
        pub order_info_count: i32,
        /// Store type.
        pub store_type: String,
        /// Topic meta.
        pub topic_meta: Option<BTreeMap<String, i32>>,
    }
}

body! {
    /// Body of the response to GET_PARENT_TOPIC_INFO (200075).
    pub struct GetParentTopicInfoResponseBody {
        /// Groups.
        pub groups: Option<BTreeSet<String>>,
        /// Lite topic count.
        pub lite_topic_count: i32,
        /// Lmq num.
        pub lmq_num: i32,
        /// Topic.
        pub topic: String,
        /// Ttl.
        pub ttl: i32,
    }
}

body! {
    /// Body of the response to GET_LITE_TOPIC_INFO (200076).
    pub struct GetLiteTopicInfoResponseBody {
        /// Lite topic.
        pub lite_topic: String,
        /// Parent topic.
        pub parent_topic: String,
        /// Sharding to broker.
        pub sharding_to_broker: bool,
        /// Subscriber.
        pub subscriber: Option<Vec<ClientGroup>>,
        /// Topic offset.
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
        /// Last access time.
        pub last_access_time: i64,
        /// Last consume time.
        pub last_consume_time: i64,
        /// Lite topic count.
        pub lite_topic_count: i32,
        /// Lite topic set.
        pub lite_topic_set: Option<BTreeSet<String>>,
        /// Parent topic.
        pub parent_topic: String,
    }
}

body! {
    /// Body of the response to GET_LITE_GROUP_INFO (200078).
    pub struct GetLiteGroupInfoResponseBody {
        /// Earliest unconsumed timestamp.
        pub earliest_unconsumed_timestamp: i64 = -1,
        /// Consumer group.
        pub group: String,
        /// Lag count top k.
        pub lag_count_top_k: Option<Vec<LiteLagInfo>>,
        /// Lag timestamp top k.
        pub lag_timestamp_top_k: Option<Vec<LiteLagInfo>>,
        /// Lite topic.
        pub lite_topic: String,
        /// Lite topic offset wrapper.
        pub lite_topic_offset_wrapper: Option<OffsetWrapper>,
        /// Parent topic.
        pub parent_topic: String,
        /// Total lag count.
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
