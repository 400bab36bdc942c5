//! Consumer offsets, queue limits and search by time: codes 14, 15, 29 to 32, 43.

use std::collections::{BTreeMap, BTreeSet};

use super::body::body;
use super::data_version::DataVersion;
use super::message_queue::MessageQueue;
use crate::header;
use crate::header::{FieldSink, FieldValue, HeaderError};

header! {
    /// Header of the request QUERY_CONSUMER_OFFSET (14).
    pub struct QueryConsumerOffsetRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Whether a group without offset gets 0 when the queue is in memory.
        pub set_zero_if_not_found: Option<bool> = "setZeroIfNotFound",
    }
}

header! {
    /// Header of the response to QUERY_CONSUMER_OFFSET (14).
    pub struct QueryConsumerOffsetResponseHeader {
        /// Committed queue offset.
        pub offset: i64 = "offset",
    }
}

header! {
    /// Header of the request UPDATE_CONSUMER_OFFSET (15).
    pub struct UpdateConsumerOffsetRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Queue offset to commit.
        pub commit_offset: i64 = "commitOffset",
    }
}

header! {
    /// Header of the request SEARCH_OFFSET_BY_TIMESTAMP (29).
    pub struct SearchOffsetRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Lite topic.
        pub lite_topic: Option<&'a str> = "liteTopic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Store time to look for, ms.
        pub timestamp: i64 = "timestamp",
        /// Which message counts when several have the time.
        pub boundary_type: Option<BoundaryType> = "boundaryType",
    }
}

header! {
    /// Header of the response to SEARCH_OFFSET_BY_TIMESTAMP (29).
    pub struct SearchOffsetResponseHeader {
        /// Queue offset of the message.
        pub offset: i64 = "offset",
    }
}

header! {
    /// Header of the request GET_MAX_OFFSET (30).
    pub struct GetMaxOffsetRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Whether to count acknowledged messages only.
        #[default(true)]
        pub committed: bool = "committed",
    }
}

header! {
    /// Header of the response to GET_MAX_OFFSET (30).
    pub struct GetMaxOffsetResponseHeader {
        /// Queue offset behind the newest message.
        pub offset: i64 = "offset",
    }
}

header! {
    /// Header of the request GET_MIN_OFFSET (31).
    pub struct GetMinOffsetRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
    }
}

header! {
    /// Header of the response to GET_MIN_OFFSET (31).
    pub struct GetMinOffsetResponseHeader {
        /// Smallest queue offset.
        pub offset: i64 = "offset",
    }
}

header! {
    /// Header of the request GET_EARLIEST_MSG_STORETIME (32).
    pub struct GetEarliestMsgStoretimeRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        pub queue_id: i32 = "queueId",
    }
}

header! {
    /// Header of the response to GET_EARLIEST_MSG_STORETIME (32).
    pub struct GetEarliestMsgStoretimeResponseHeader {
        /// Store time of the oldest message, ms; -1 without one.
        pub timestamp: i64 = "timestamp",
    }
}

header! {
    /// Where a new group starts with a topic. The reference declares it for no code.
    pub struct InitConsumerOffsetRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Where a new group starts: 0 oldest, 1 newest.
        #[default(0)]
        pub init_mode: i32 = "initMode",
    }
}

body! {
    /// Offsets by topic@group and queue: body of the response to GET_ALL_CONSUMER_OFFSET (43) and the file consumerOffset.json.
    pub struct ConsumerOffsetSerializeWrapper {
        /// Topics@groups and queues of what clients committed with this slave; only in the file, and not the reference's.
        pub committed_here: Option<BTreeMap<String, BTreeSet<i32>>>,
        /// Version of the table.
        pub data_version: DataVersion,
        /// Topics by group; only in the file and from 5.x.
        pub group_topic_map: Option<BTreeMap<String, BTreeSet<String>>>,
        /// Offsets of groups of light queues by topic@group; only with `enableLmq`, in lmqConsumerOffset.json.
        pub lmq_offset_table: Option<BTreeMap<String, i64>>,
        /// Offsets.
        pub offset_table: BTreeMap<String, BTreeMap<i32, i64>>,
        /// Pulled offsets by topic@group and queue; only in the file and from 5.x.
        pub pull_offset_table: Option<BTreeMap<String, BTreeMap<i32, i64>>>,
    }
}

body! {
    /// Tells of a consumer offset that was out of range.
    pub struct OffsetMovedEvent {
        /// Consumer group.
        pub consumer_group: String,
        /// Queue.
        pub message_queue: MessageQueue,
        /// Queue offset that is given instead.
        pub offset_new: i64,
        /// Queue offset that was asked for.
        pub offset_request: i64,
    }
}

/// Which message a search by time means when several have the time (constants, section 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundaryType {
    /// The first of them.
    #[default]
    Lower,
    /// The last of them.
    Upper,
}

impl<'a> FieldValue<'a> for BoundaryType {
    /// As the reference: UPPER in any case, everything else is LOWER.
    fn read(_: &'static str, text: &'a str) -> Result<Self, HeaderError> {
        Ok(if text.eq_ignore_ascii_case("UPPER") { Self::Upper } else { Self::Lower })
    }

    fn write(&self, field: &str, fields: &mut impl FieldSink) {
        fields.put(field, if *self == Self::Upper { "UPPER" } else { "LOWER" });
    }
}
