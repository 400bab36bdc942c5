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
        /// Whether `key` is the unique key of a message.
        pub unique_key: Option<bool> = "_UNIQUE_KEY_QUERY",
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
        /// Physical offset of the record.
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
        /// First index.
        #[default(0)]
        pub index: i64 = "index",
        /// How many.
        #[default(0)]
        pub count: i32 = "count",
        /// Consumer group.
        pub consumer_group: Option<&'a str> = "consumerGroup",
    }
}

body! {
    /// Body of the response to QUERY_CONSUME_QUEUE (321).
    pub struct QueryConsumeQueueResponseBody {
        /// Filter of the group, as text.
        pub filter_data: Option<String>,
        /// Largest index.
        pub max_queue_index: i64,
        /// Smallest index.
        pub min_queue_index: i64,
        /// Units.
        pub queue_data: Option<Vec<ConsumeQueueData>>,
        /// Subscription.
        pub subscription_data: Option<SubscriptionData>,
    }
}

body! {
    /// A consume queue unit.
    pub struct ConsumeQueueData {
        /// Bit map.
        pub bit_map: Option<String>,
        /// Whether the filter matches.
        pub eval: bool,
        /// Content of the extension unit, JSON as text.
        pub extend_data_json: Option<String>,
        /// Note.
        pub msg: Option<String>,
        /// Physical offset of the record.
        pub physic_offset: i64,
        /// Size of the record in bytes.
        pub physic_size: i32,
        /// Tags code of the unit.
        pub tags_code: i64,
    }
}
