//! What a consumer does, asked through the broker: codes 221, 223, 307, 309.

use std::collections::BTreeMap;

use super::body::{body, names};
use super::message_queue::MessageQueue;
use super::subscription::SubscriptionData;
use crate::header;

header! {
    /// Header of the requests GET_CONSUMER_STATUS_FROM_CLIENT (221), INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223).
    pub struct GetConsumerStatusRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Consumer group.
        pub group: &'a str = "group",
        /// Client address.
        pub client_addr: Option<&'a str> = "clientAddr",
    }
}

header! {
    /// Header of the request GET_CONSUMER_RUNNING_INFO (307).
    pub struct GetConsumerRunningInfoRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Client id.
        pub client_id: &'a str = "clientId",
        /// Whether to include stacks.
        #[default(false)]
        pub jstack_enable: bool = "jstackEnable",
    }
}

header! {
    /// Header of the request CONSUME_MESSAGE_DIRECTLY (309).
    pub struct ConsumeMessageDirectlyResultRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Client id.
        pub client_id: Option<&'a str> = "clientId",
        /// Message id.
        pub msg_id: Option<&'a str> = "msgId",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// System flag of the topic.
        pub topic_sys_flag: Option<i32> = "topicSysFlag",
        /// System flag of the group.
        pub group_sys_flag: Option<i32> = "groupSysFlag",
    }
}

body! {
    /// Body of the responses to GET_CONSUMER_STATUS_FROM_CLIENT (221), INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223).
    pub struct GetConsumerStatusBody {
        /// Offsets by client and queue.
        pub consumer_table: BTreeMap<String, BTreeMap<MessageQueue, i64>>,
        /// Offsets by queue.
        pub message_queue_table: BTreeMap<MessageQueue, i64>,
    }
}

body! {
    /// Body of the response to CONSUME_MESSAGE_DIRECTLY (309).
    pub struct ConsumeMessageDirectlyResult {
        /// Whether offsets are committed without the listener.
        pub auto_commit: bool = true,
        /// What became of it.
        pub consume_result: ConsumeResult,
        /// Whether it was consumed in order.
        pub order: bool,
        /// Text for people.
        pub remark: Option<String>,
        /// Time taken, ms.
        pub spent_time_mills: i64,
    }
}

body! {
    /// Body of the response to GET_CONSUMER_RUNNING_INFO (307).
    pub struct ConsumerRunningInfo {
        /// Stacks of all threads.
        pub jstack: Option<String>,
        /// Queues by pop.
        pub mq_pop_table: BTreeMap<MessageQueue, PopProcessQueueInfo>,
        /// Queues by pull.
        pub mq_table: BTreeMap<MessageQueue, ProcessQueueInfo>,
        /// What the consumer runs with, by name (PROP_CLIENT_VERSION, PROP_CONSUME_TYPE and so on).
        pub properties: BTreeMap<String, String>,
        /// Rates by topic.
        pub status_table: BTreeMap<String, ConsumeStatus>,
        /// Subscriptions.
        pub subscription_set: Vec<SubscriptionData>,
        /// What the application adds.
        pub user_consumer_info: BTreeMap<String, String>,
    }
}

body! {
    /// How far a consumer is with a queue.
    pub struct ProcessQueueInfo {
        /// Cached messages.
        pub cached_msg_count: i32,
        /// Largest cached queue offset.
        pub cached_msg_max_offset: i64,
        /// Smallest cached queue offset.
        pub cached_msg_min_offset: i64,
        /// Cached bytes, MiB.
        pub cached_msg_size_in_mi_b: i32,
        /// Queue offset to commit.
        pub commit_offset: i64,
        /// Whether the client gave the queue up (spelt so on the wire).
        pub droped: bool,
        /// Last consumption, ms.
        pub last_consume_timestamp: i64,
        /// Last lock, ms.
        pub last_lock_timestamp: i64,
        /// Last pull, ms.
        pub last_pull_timestamp: i64,
        /// Whether it is locked.
        pub locked: bool,
        /// Messages being consumed in order.
        pub transaction_msg_count: i32,
        /// Largest queue offset being consumed in order.
        pub transaction_msg_max_offset: i64,
        /// Smallest queue offset being consumed in order.
        pub transaction_msg_min_offset: i64,
        /// How often unlocking was tried.
        pub try_unlock_times: i64,
    }
}

body! {
    /// How far a pop consumer is with a queue.
    pub struct PopProcessQueueInfo {
        /// Whether the client gave the queue up (spelt so on the wire).
        pub droped: bool,
        /// Last pop, ms.
        pub last_pop_timestamp: i64,
        /// Messages not acknowledged yet.
        pub wait_ack_count: i32,
    }
}

body! {
    /// Rates of a consumer for a topic.
    pub struct ConsumeStatus {
        /// Failures in the last hour.
        pub consume_failed_msgs: i64,
        /// Failures per second.
        #[serde(rename = "consumeFailedTPS")]
        pub consume_failed_tps: f64,
        /// Messages consumed per second.
        #[serde(rename = "consumeOKTPS")]
        pub consume_oktps: f64,
        /// Time of consumption, ms.
        #[serde(rename = "consumeRT")]
        pub consume_rt: f64,
        /// Time of a pull, ms.
        #[serde(rename = "pullRT")]
        pub pull_rt: f64,
        /// Messages pulled per second.
        #[serde(rename = "pullTPS")]
        pub pull_tps: f64,
    }
}

names! {
    /// What became of a message that was consumed on request.
    ConsumeResult {
        /// Consumed.
        Success = "CR_SUCCESS",
        /// To be tried again.
        Later = "CR_LATER",
        /// Rolled back.
        Rollback = "CR_ROLLBACK",
        /// Committed.
        Commit = "CR_COMMIT",
        /// The listener threw.
        ThrowException = "CR_THROW_EXCEPTION",
        /// The listener returned null.
        ReturnNull = "CR_RETURN_NULL",
    }
}
