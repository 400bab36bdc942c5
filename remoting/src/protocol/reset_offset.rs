//! Resetting, cloning and correcting consumer offsets: codes 220, 222, 308, 314.

use std::collections::BTreeMap;

use super::body::body;
use super::message_queue::MessageQueue;
use crate::header;

header! {
    /// Header of the requests RESET_CONSUMER_CLIENT_OFFSET (220), INVOKE_BROKER_TO_RESET_OFFSET (222).
    pub struct ResetOffsetRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Queue number.
        #[default(-1)]
        pub queue_id: i32 = "queueId",
        /// Queue offset to set; absent: that of `timestamp`.
        pub offset: Option<i64> = "offset",
        /// Store time to go to, ms; -1: the end.
        #[default(0)]
        pub timestamp: i64 = "timestamp",
        /// Whether to set the offset forward, too.
        #[default(false)]
        pub is_force: bool = "isForce",
    }
}

header! {
    /// Header of the request CLONE_GROUP_OFFSET (314).
    pub struct CloneGroupOffsetRequestHeader<'a> {
        /// Group to copy from.
        pub src_group: &'a str = "srcGroup",
        /// Group to copy to.
        pub dest_group: &'a str = "destGroup",
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Whether the target group must be offline.
        #[default(false)]
        pub offline: bool = "offline",
    }
}

header! {
    /// Header of the request QUERY_CORRECTION_OFFSET (308).
    pub struct QueryCorrectionOffsetHeader<'a> {
        /// Groups to leave out, comma separated.
        pub filter_groups: Option<&'a str> = "filterGroups",
        /// Group to compare with.
        pub compare_group: &'a str = "compareGroup",
        /// Topic.
        pub topic: &'a str = "topic",
    }
}

body! {
    /// New offsets: body of the request 220 and of the response to 222.
    pub struct ResetOffsetBody {
        /// Offsets.
        pub offset_table: BTreeMap<MessageQueue, i64>,
    }
}

body! {
    /// New offsets as clients in C++ read them: body of the request 220.
    pub struct ResetOffsetBodyForC {
        /// Offsets.
        pub offset_table: Vec<MessageQueueForC>,
    }
}

body! {
    /// Body of the response to QUERY_CORRECTION_OFFSET (308).
    pub struct QueryCorrectionOffsetBody {
        /// Offsets by queue.
        pub correction_offsets: BTreeMap<i32, i64>,
    }
}

body! {
    /// A queue and its new offset.
    pub struct MessageQueueForC {
        /// Broker name.
        pub broker_name: String,
        /// Queue offset.
        pub offset: i64,
        /// Queue number.
        pub queue_id: i32,
        /// Topic.
        pub topic: String,
    }
}
