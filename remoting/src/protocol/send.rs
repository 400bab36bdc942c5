//! Sending messages: codes 10, 310, 320, 324, 325.

use crate::header;

header! {
    /// Header of the requests SEND_MESSAGE (10), SEND_REPLY_MESSAGE (324).
    pub struct SendMessageRequestHeader<'a> {
        /// Producer group.
        pub producer_group: Option<&'a str> = "producerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Topic whose settings a topic created by this send takes over.
        pub default_topic: Option<&'a str> = "defaultTopic",
        /// Queues of a topic created by this send.
        pub default_topic_queue_nums: Option<i32> = "defaultTopicQueueNums",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// System flag bits (constants, section 3).
        pub sys_flag: i32 = "sysFlag",
        /// When the client made the message, ms.
        pub born_timestamp: i64 = "bornTimestamp",
        /// Flag of the application, passed through.
        pub flag: i32 = "flag",
        /// Message properties: name, byte 1, value, byte 2, and so on.
        pub properties: Option<&'a str> = "properties",
        /// How often it was consumed in vain.
        pub reconsume_times: Option<i32> = "reconsumeTimes",
        /// Whether the client works in unit mode.
        pub unit_mode: Option<bool> = "unitMode",
        /// Whether the body is a batch.
        pub batch: Option<bool> = "batch",
        /// Retries before the message goes to the dead-letter topic.
        pub max_reconsume_times: Option<i32> = "maxReconsumeTimes",
    }
}

header! {
    /// Header of the requests SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320), SEND_REPLY_MESSAGE_V2 (325).
    pub struct SendMessageRequestHeaderV2<'a> {
        /// Producer group.
        pub producer_group: Option<&'a str> = "a",
        /// Topic.
        pub topic: &'a str = "b",
        /// Topic whose settings a topic created by this send takes over.
        pub default_topic: Option<&'a str> = "c",
        /// Queues of a topic created by this send.
        pub default_topic_queue_nums: Option<i32> = "d",
        /// Queue number.
        pub queue_id: i32 = "e",
        /// System flag bits (constants, section 3).
        pub sys_flag: i32 = "f",
        /// When the client made the message, ms.
        pub born_timestamp: i64 = "g",
        /// Flag of the application, passed through.
        pub flag: i32 = "h",
        /// Message properties: name, byte 1, value, byte 2, and so on.
        pub properties: Option<&'a str> = "i",
        /// How often it was consumed in vain.
        pub reconsume_times: Option<i32> = "j",
        /// Whether the client works in unit mode.
        pub unit_mode: Option<bool> = "k",
        /// Retries before the message goes to the dead-letter topic.
        pub max_reconsume_times: Option<i32> = "l",
        /// Whether the body is a batch.
        pub batch: Option<bool> = "m",
        /// Broker name.
        pub broker_name: Option<&'a str> = "n",
    }
}

header! {
    /// Header of the responses to SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320), SEND_REPLY_MESSAGE (324), SEND_REPLY_MESSAGE_V2 (325).
    pub struct SendMessageResponseHeader<'a> {
        /// Message id.
        pub msg_id: &'a str = "msgId",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Queue offset.
        pub queue_offset: i64 = "queueOffset",
        /// Transaction id.
        pub transaction_id: Option<&'a str> = "transactionId",
        /// Unique id of the batch.
        pub batch_uniq_id: Option<&'a str> = "batchUniqId",
        /// Handle to take a timer message back.
        pub recall_handle: Option<&'a str> = "recallHandle",
    }
}
