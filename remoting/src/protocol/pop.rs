//! Pop consumption: codes 200050 to 200055.

use crate::header;

header! {
    /// Header of the request POP_MESSAGE (200050).
    pub struct PopMessageRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
        /// Most messages to return.
        #[default(0)]
        pub max_msg_nums: i32 = "maxMsgNums",
        /// How long popped messages stay invisible, ms.
        #[default(0)]
        pub invisible_time: i64 = "invisibleTime",
        /// How long to hold the request, ms.
        #[default(0)]
        pub poll_time: i64 = "pollTime",
        /// When the request was made, ms.
        #[default(0)]
        pub born_time: i64 = "bornTime",
        /// Where a new group starts: 0 oldest, 1 newest.
        #[default(0)]
        pub init_mode: i32 = "initMode",
        /// Kind of the expression.
        pub exp_type: Option<&'a str> = "expType",
        /// Filter expression.
        pub exp: Option<&'a str> = "exp",
        /// Whether consumption is in order.
        #[default(false)]
        pub order: bool = "order",
        /// Id of this attempt of an orderly pop.
        pub attempt_id: Option<&'a str> = "attemptId",
    }
}

header! {
    /// Header of the responses to POP_MESSAGE (200050), PEEK_MESSAGE (200052).
    pub struct PopMessageResponseHeader<'a> {
        /// When the messages were popped, ms.
        #[default(0)]
        pub pop_time: i64 = "popTime",
        /// How long popped messages stay invisible, ms.
        #[default(0)]
        pub invisible_time: i64 = "invisibleTime",
        /// Queue of the revive topic.
        #[default(0)]
        pub revive_qid: i32 = "reviveQid",
        /// Messages left.
        #[default(0)]
        pub rest_num: i64 = "restNum",
        /// First queue offset of each queue, as text.
        pub start_offset_info: Option<&'a str> = "startOffsetInfo",
        /// Queue offsets of the messages, as text.
        pub msg_offset_info: Option<&'a str> = "msgOffsetInfo",
        /// Consume counts of orderly messages, as text.
        pub order_count_info: Option<&'a str> = "orderCountInfo",
    }
}

header! {
    /// Header of the request PEEK_MESSAGE (200052).
    pub struct PeekMessageRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
        /// Most messages to return.
        #[default(0)]
        pub max_msg_nums: i32 = "maxMsgNums",
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
    }
}

header! {
    /// Header of the request ACK_MESSAGE (200051).
    pub struct AckMessageRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Check point of the popped message, as text.
        pub extra_info: &'a str = "extraInfo",
        /// Queue offset of the message.
        pub offset: i64 = "offset",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
    }
}

header! {
    /// Header of the request CHANGE_MESSAGE_INVISIBLETIME (200053).
    pub struct ChangeInvisibleTimeRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Check point of the popped message, as text.
        pub extra_info: &'a str = "extraInfo",
        /// Queue offset of the message.
        pub offset: i64 = "offset",
        /// How long popped messages stay invisible, ms.
        pub invisible_time: i64 = "invisibleTime",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
        /// Whether an orderly queue is suspended meanwhile.
        #[default(false)]
        pub suspend: bool = "suspend",
    }
}

header! {
    /// Header of the response to CHANGE_MESSAGE_INVISIBLETIME (200053).
    pub struct ChangeInvisibleTimeResponseHeader {
        /// When the messages were popped, ms.
        #[default(0)]
        pub pop_time: i64 = "popTime",
        /// How long popped messages stay invisible, ms.
        #[default(0)]
        pub invisible_time: i64 = "invisibleTime",
        /// Queue of the revive topic.
        #[default(0)]
        pub revive_qid: i32 = "reviveQid",
    }
}

header! {
    /// Header of the request NOTIFICATION (200054).
    pub struct NotificationRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
        /// How long to hold the request, ms.
        #[default(0)]
        pub poll_time: i64 = "pollTime",
        /// When the request was made, ms.
        #[default(0)]
        pub born_time: i64 = "bornTime",
        /// Whether consumption is in order.
        #[default(false)]
        pub order: bool = "order",
        /// Id of this attempt of an orderly pop.
        pub attempt_id: Option<&'a str> = "attemptId",
        /// Kind of the expression.
        pub exp_type: Option<&'a str> = "expType",
        /// Filter expression.
        pub exp: Option<&'a str> = "exp",
    }
}

header! {
    /// Header of the response to NOTIFICATION (200054).
    pub struct NotificationResponseHeader {
        /// Whether there are messages.
        #[default(false)]
        pub has_msg: bool = "hasMsg",
        /// Whether too many requests are held.
        #[default(false)]
        pub polling_full: bool = "pollingFull",
    }
}

header! {
    /// Header of the request POLLING_INFO (200055).
    pub struct PollingInfoRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
    }
}

header! {
    /// Header of the response to POLLING_INFO (200055).
    pub struct PollingInfoResponseHeader {
        /// Requests that are held.
        #[default(0)]
        pub polling_num: i32 = "pollingNum",
    }
}
