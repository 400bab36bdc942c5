//! Lite topics: codes 200070 to 200079.

use std::collections::BTreeSet;

use super::body::{body, names};
use crate::header;

header! {
    /// Header of the request POP_LITE_MESSAGE (200070).
    pub struct PopLiteMessageRequestHeader<'a> {
        /// Client id.
        pub client_id: &'a str = "clientId",
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Most messages to return.
        #[default(0)]
        pub max_msg_num: i32 = "maxMsgNum",
        /// How long popped messages stay invisible, ms.
        #[default(0)]
        pub invisible_time: i64 = "invisibleTime",
        /// How long to hold the request, ms.
        #[default(0)]
        pub poll_time: i64 = "pollTime",
        /// When the request was made, ms.
        #[default(0)]
        pub born_time: i64 = "bornTime",
        /// Id of this attempt of an orderly pop.
        pub attempt_id: Option<&'a str> = "attemptId",
    }
}

header! {
    /// Header of the response to POP_LITE_MESSAGE (200070).
    pub struct PopLiteMessageResponseHeader<'a> {
        /// When the messages were popped, ms.
        #[default(0)]
        pub pop_time: i64 = "popTime",
        /// How long popped messages stay invisible, ms.
        #[default(0)]
        pub invisible_time: i64 = "invisibleTime",
        /// Queue of the revive topic.
        #[default(0)]
        pub revive_qid: i32 = "reviveQid",
        /// First queue offset of each queue, as text.
        pub start_offset_info: Option<&'a str> = "startOffsetInfo",
        /// Queue offsets of the messages, as text.
        pub msg_offset_info: Option<&'a str> = "msgOffsetInfo",
        /// Consume counts of orderly messages, as text.
        pub order_count_info: Option<&'a str> = "orderCountInfo",
    }
}

header! {
    /// Header of the request NOTIFY_UNSUBSCRIBE_LITE (200073).
    pub struct NotifyUnsubscribeLiteRequestHeader<'a> {
        /// Lite topic.
        pub lite_topic: &'a str = "liteTopic",
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Client id.
        pub client_id: &'a str = "clientId",
    }
}

header! {
    /// Header of the request GET_PARENT_TOPIC_INFO (200075).
    pub struct GetParentTopicInfoRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// Header of the request GET_LITE_TOPIC_INFO (200076).
    pub struct GetLiteTopicInfoRequestHeader<'a> {
        /// Topic that the lite topics belong to.
        pub parent_topic: Option<&'a str> = "parentTopic",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
    }
}

header! {
    /// Header of the request GET_LITE_CLIENT_INFO (200077).
    pub struct GetLiteClientInfoRequestHeader<'a> {
        /// Topic that the lite topics belong to.
        pub parent_topic: Option<&'a str> = "parentTopic",
        /// Consumer group.
        pub group: Option<&'a str> = "group",
        /// Client id.
        pub client_id: Option<&'a str> = "clientId",
        /// Most lite topics to list.
        #[default(1000)]
        pub max_count: i32 = "maxCount",
    }
}

header! {
    /// Header of the request GET_LITE_GROUP_INFO (200078).
    pub struct GetLiteGroupInfoRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
        /// How many of the worst to list.
        #[default(0)]
        pub top_k: i32 = "topK",
    }
}

header! {
    /// Header of the request TRIGGER_LITE_DISPATCH (200079).
    pub struct TriggerLiteDispatchRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
        /// Client id.
        pub client_id: Option<&'a str> = "clientId",
    }
}

body! {
    /// Body of the request LITE_SUBSCRIPTION_CTL (200071).
    pub struct LiteSubscriptionCtlRequestBody {
        /// Subscriptions.
        pub subscription_set: Vec<LiteSubscriptionDTO>,
    }
}

body! {
    /// A change of what a client subscribes to.
    pub struct LiteSubscriptionDTO {
        /// What to change.
        pub action: LiteSubscriptionAction,
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub group: String,
        /// Lite topics.
        pub lite_topic_set: Option<BTreeSet<String>>,
        /// Where to start.
        pub offset_option: Option<OffsetOption>,
        /// Topic that the lite topics belong to.
        pub topic: String,
        /// Version of the change.
        pub version: i64,
    }
}

body! {
    /// Where a lite subscription starts.
    pub struct OffsetOption {
        /// What `value` is.
        #[serde(rename = "type")]
        pub kind: OffsetOptionType,
        /// A policy, an offset, a number of messages or a time in ms.
        pub value: i64,
    }
}

names! {
    /// What to do with a client's lite topics.
    LiteSubscriptionAction {
        /// Add these.
        PartialAdd = "PARTIAL_ADD",
        /// Remove these.
        PartialRemove = "PARTIAL_REMOVE",
        /// These are all.
        CompleteAdd = "COMPLETE_ADD",
        /// Remove all.
        CompleteRemove = "COMPLETE_REMOVE",
    }
}

names! {
    /// Kind of an [`OffsetOption`].
    OffsetOptionType {
        /// First or last message.
        Policy = "POLICY",
        /// An offset.
        Offset = "OFFSET",
        /// So many from the end.
        TailN = "TAIL_N",
        /// A time.
        Timestamp = "TIMESTAMP",
    }
}
