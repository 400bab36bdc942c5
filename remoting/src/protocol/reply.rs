//! The reply of a request-reply exchange, pushed to the requesting producer: code 326.

use crate::header;

header! {
    /// Header of the request PUSH_REPLY_MESSAGE_TO_CLIENT (326).
    pub struct ReplyMessageRequestHeader<'a> {
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
        #[default(false)]
        pub unit_mode: bool = "unitMode",
        /// Address of the client that made it.
        pub born_host: &'a str = "bornHost",
        /// Address of the broker that stored it.
        pub store_host: &'a str = "storeHost",
        /// When it was stored, ms.
        #[default(0)]
        pub store_timestamp: i64 = "storeTimestamp",
    }
}
