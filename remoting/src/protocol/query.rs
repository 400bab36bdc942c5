//! Looking messages up by key, by id and by consume queue unit: codes 12, 33, 321.

use super::body::body;
use super::subscription::SubscriptionData;
use crate::header;

header! {
    /// Header of the request QUERY_MESSAGE (12).
    pub struct QueryMessageRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Key.
        pub key: &'a str = "key",
        /// Most messages to return.
        pub max_num: i32 = "maxNum",
        /// Oldest store time, ms.
        pub begin_timestamp: i64 = "beginTimestamp",
        /// Newest store time, ms.
        pub end_timestamp: i64 = "endTimestamp",
        /// Kind of the index.
        pub index_type: Option<&'a str> = "indexType",
        /// Where the previous page ended.
        pub last_key: Option<&'a str> = "lastKey",
    }
}

header! {
    /// Header of the response to QUERY_MESSAGE (12).
    pub struct QueryMessageResponseHeader {
        /// Store time of the newest indexed message, ms.
        pub index_last_update_timestamp: i64 = "indexLastUpdateTimestamp",
        /// Physical offset of the newest indexed message.
        pub index_last_update_phyoffset: i64 = "indexLastUpdatePhyoffset",
    }
}

header! {
    /// Header of the request VIEW_MESSAGE_BY_ID (33).
    pub struct ViewMessageRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Offset; its kind is that of the request.
        pub offset: i64 = "offset",
    }
}

header! {
    /// Header of the request QUERY_CONSUME_QUEUE (321).
    pub struct QueryConsumeQueueRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
        /// Index.
        #[default(0)]
        pub index: i64 = "index",
        /// Count.
        #[default(0)]
        pub count: i32 = "count",
        /// Consumer group.
        pub consumer_group: Option<&'a str> = "consumerGroup",
    }
}

body! {
    /// Body of the response to QUERY_CONSUME_QUEUE (321).
    pub struct QueryConsumeQueueResponseBody {
        /// Filter data.
        pub filter_data: Option<String>,
        /// Max queue index.
        pub max_queue_index: i64,
        /// Min queue index.
        pub min_queue_index: i64,
        /// Queue data.
        pub queue_data: Option<Vec<ConsumeQueueData>>,
        /// Subscription data.
        pub subscription_data: Option<SubscriptionData>,
    }
}

body! {
    /// A consume queue unit.
    pub struct ConsumeQueueData {
        /// Bit map.
        pub bit_map: Option<String>,
        /// Eval.
        pub eval: bool,
        /// Extend data json.
        pub extend_data_json: Option<String>,
        /// Msg.
        pub msg: Option<String>,
        /// Physic offset.
        pub physic_offset: i64,
        /// Physic size.
        pub physic_size: i32,
        /// Tags code.
        pub tags_code: i64,
    }
}
