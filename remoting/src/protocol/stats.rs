//! Statistics of topics, consumers and the broker: codes 202, 208, 303, 315, 317.

use std::collections::BTreeMap;

use super::body::body;
use super::message_queue::MessageQueue;
use crate::header;

header! {
    /// Header of the request GET_TOPIC_STATS_INFO (202).
    pub struct GetTopicStatsInfoRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

header! {
    /// Header of the request GET_CONSUME_STATS (208).
    pub struct GetConsumeStatsRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Topics.
        pub topic_list: Option<&'a str> = "topicList",
    }
}

header! {
    /// Header of the request GET_BROKER_CONSUME_STATS (317).
    pub struct GetConsumeStatsInBrokerHeader {
        /// Whether to list orderly groups only.
        #[default(false)]
        pub is_order: bool = "isOrder",
    }
}

header! {
    /// Header of the request VIEW_BROKER_STATS_DATA (315).
    pub struct ViewBrokerStatsDataRequestHeader<'a> {
        /// Name of the statistics.
        pub stats_name: &'a str = "statsName",
        /// Key in the statistics.
        pub stats_key: &'a str = "statsKey",
    }
}

header! {
    /// Header of the request QUERY_CONSUME_TIME_SPAN (303).
    pub struct QueryConsumeTimeSpanRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Consumer group.
        pub group: &'a str = "group",
    }
}

header! {
    /// What a group consumed of a queue in a span of time. The reference declares it for no code.
    pub struct StatisticsMessagesRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(0)]
        pub queue_id: i32 = "queueId",
        /// Start, ms.
        #[default(0)]
        pub from_time: i64 = "fromTime",
        /// End, ms.
        #[default(0)]
        pub to_time: i64 = "toTime",
    }
}

body! {
    /// Body of the response to GET_TOPIC_STATS_INFO (202).
    pub struct TopicStatsTable {
        /// Offsets.
        pub offset_table: BTreeMap<MessageQueue, TopicOffset>,
        /// Messages put per second.
        pub topic_put_tps: f64,
    }
}

body! {
    /// Limits of a queue.
    pub struct TopicOffset {
        /// Last change, ms.
        pub last_update_timestamp: i64,
        /// Queue offset behind the newest message.
        pub max_offset: i64,
        /// Smallest queue offset.
        pub min_offset: i64,
    }
}

body! {
    /// Body of the response to GET_CONSUME_STATS (208).
    pub struct ConsumeStats {
        /// Messages consumed per second.
        pub consume_tps: f64,
        /// Offsets.
        pub offset_table: BTreeMap<MessageQueue, OffsetWrapper>,
    }
}

body! {
    /// How far a group is with a queue.
    pub struct OffsetWrapper {
        /// Queue offset behind the newest message.
        pub broker_offset: i64,
        /// Committed queue offset.
        pub consumer_offset: i64,
        /// Store time of the message consumed last, ms.
        pub last_timestamp: i64,
        /// Queue offset pulled last.
        pub pull_offset: i64,
    }
}

body! {
    /// Body of the response to GET_BROKER_CONSUME_STATS (317).
    pub struct ConsumeStatsList {
        /// Broker address, host:port.
        pub broker_addr: String,
        /// Progress by group.
        pub consume_stats_list: Vec<BTreeMap<String, Vec<ConsumeStats>>>,
        /// Messages not consumed, of all groups.
        pub total_diff: i64,
        /// Messages pulled and not consumed, of all groups.
        pub total_inflight_diff: i64,
    }
}

body! {
    /// Body of the response to VIEW_BROKER_STATS_DATA (315).
    pub struct BrokerStatsData {
        /// The last day.
        pub stats_day: Option<BrokerStatsItem>,
        /// The last hour.
        pub stats_hour: Option<BrokerStatsItem>,
        /// The last minute.
        pub stats_minute: Option<BrokerStatsItem>,
    }
}

body! {
    /// Figures of one span of time.
    pub struct BrokerStatsItem {
        /// Average for each call.
        pub avgpt: f64,
        /// Sum.
        pub sum: i64,
        /// Per second.
        pub tps: f64,
    }
}

body! {
    /// Body of the response to QUERY_CONSUME_TIME_SPAN (303).
    pub struct QueryConsumeTimeSpanBody {
        /// Times by queue.
        pub consume_time_span_set: Vec<QueueTimeSpan>,
    }
}

body! {
    /// Times of what a group consumed of a queue.
    pub struct QueueTimeSpan {
        /// Store time of the message consumed last, ms.
        pub consume_time_stamp: i64,
        /// The same as text (yyyy-MM-dd#HH:mm:ss:SSS, local time).
        pub consume_time_stamp_str: String,
        /// How far the group is behind, ms.
        pub delay_time: i64,
        /// Store time of the newest message, ms.
        pub max_time_stamp: i64,
        /// The same as text.
        pub max_time_stamp_str: String,
        /// Queue.
        pub message_queue: MessageQueue,
        /// Store time of the oldest message, ms.
        pub min_time_stamp: i64,
        /// The same as text.
        pub min_time_stamp_str: String,
    }
}
