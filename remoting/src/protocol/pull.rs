//! Pulling messages: codes 11 and 361.

use crate::header;

header! {
    /// Header of the requests PULL_MESSAGE (11), LITE_PULL_MESSAGE (361).
    pub struct PullMessageRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Queue offset.
        pub queue_offset: i64 = "queueOffset",
        /// Most messages to return.
        pub max_msg_nums: i32 = "maxMsgNums",
        /// System flag bits (constants, section 3).
        pub sys_flag: i32 = "sysFlag",
        /// Queue offset to commit.
        pub commit_offset: Option<i64> = "commitOffset",
        /// How long to hold the request when there is nothing, ms.
        pub suspend_timeout_millis: Option<i64> = "suspendTimeoutMillis",
        /// Filter expression.
        pub subscription: Option<&'a str> = "subscription",
        /// Version of the subscription, ms.
        pub sub_version: Option<i64> = "subVersion",
        /// Kind of the expression: TAG or SQL92.
        pub expression_type: Option<&'a str> = "expressionType",
        /// Most bytes to return.
        pub max_msg_bytes: Option<i32> = "maxMsgBytes",
        /// Who asks: -1 SDK, 0 and above proxies.
        pub request_source: Option<i32> = "requestSource",
        /// Client that a proxy asks for (spelt so on the wire).
        pub proxy_froward_client_id: Option<&'a str> = "proxyFrowardClientId",
    }
}

header! {
    /// Header of the responses to PULL_MESSAGE (11), LITE_PULL_MESSAGE (361).
    pub struct PullMessageResponseHeader {
        /// Broker id to pull from next.
        pub suggest_which_broker_id: i64 = "suggestWhichBrokerId",
        /// Queue offset to go on at.
        pub next_begin_offset: i64 = "nextBeginOffset",
        /// Smallest queue offset.
        pub min_offset: i64 = "minOffset",
        /// Queue offset behind the newest message.
        pub max_offset: i64 = "maxOffset",
        /// Difference of logical to physical queue offset, static topics.
        pub offset_delta: Option<i64> = "offsetDelta",
        /// System flag of the topic.
        pub topic_sys_flag: Option<i32> = "topicSysFlag",
        /// System flag of the group.
        pub group_sys_flag: Option<i32> = "groupSysFlag",
        /// Why reading is forbidden.
        pub forbidden_type: Option<i32> = "forbiddenType",
    }
}
