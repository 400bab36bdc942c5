//! Giving a message back for a later retry: code 36.

use crate::header;

header! {
    /// Header of the request CONSUMER_SEND_MSG_BACK (36).
    pub struct ConsumerSendMsgBackRequestHeader<'a> {
        /// Physical offset of the message.
        pub offset: i64 = "offset",
        /// Consumer group.
        pub group: &'a str = "group",
        /// Delay level; negative gives up, 0 lets the broker choose.
        pub delay_level: i32 = "delayLevel",
        /// Id of the message.
        pub origin_msg_id: Option<&'a str> = "originMsgId",
        /// Topic of the message.
        pub origin_topic: Option<&'a str> = "originTopic",
        /// Whether the client works in unit mode.
        #[default(false)]
        pub unit_mode: bool = "unitMode",
        /// Retries before the message goes to the dead-letter topic.
        pub max_reconsume_times: Option<i32> = "maxReconsumeTimes",
    }
}
