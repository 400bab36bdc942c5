//! Batched pop acknowledgements (code 200151) and the records of the revive topic.

use super::body::body;

body! {
    /// Acknowledged messages of one pop.
    pub struct BatchAck {
        /// Base64 of the acknowledged positions, bit 0 first, little-endian bytes.
        #[serde(rename = "b")]
        pub bit_set: String,
        /// Consumer group.
        #[serde(rename = "c")]
        pub consumer_group: String,
        /// How long popped messages stay invisible, ms.
        #[serde(rename = "it")]
        pub invisible_time: i64,
        /// When the messages were popped, ms.
        #[serde(rename = "pt")]
        pub pop_time: i64,
        /// Queue number.
        #[serde(rename = "q")]
        pub queue_id: i32,
        /// Kind of retry topic.
        #[serde(rename = "r")]
        pub retry: Option<String>,
        /// Queue of the revive topic.
        #[serde(rename = "rq")]
        pub revive_queue_id: i32,
        /// First offset.
        #[serde(rename = "so")]
        pub start_offset: i64,
        /// Topic.
        #[serde(rename = "t")]
        pub topic: String,
    }
}

body! {
    /// Body of the request BATCH_ACK_MESSAGE (200151).
    pub struct BatchAckMessageRequestBody {
        /// Acknowledgements.
        pub acks: Vec<BatchAck>,
        /// Broker name.
        pub broker_name: String,
    }
}

body! {
    /// Record of the revive topic: one message was acknowledged.
    pub struct AckMsg {
        /// Queue offset of the message.
        #[serde(rename = "ao")]
        pub ack_offset: i64,
        /// Broker name.
        #[serde(rename = "bn")]
        pub broker_name: String,
        /// Consumer group.
        #[serde(rename = "c")]
        pub consumer_group: String,
        /// When the messages were popped, ms.
        #[serde(rename = "pt")]
        pub pop_time: i64,
        /// Queue number.
        #[serde(rename = "q")]
        pub queue_id: i32,
        /// First offset.
        #[serde(rename = "so")]
        pub start_offset: i64,
        /// Topic.
        #[serde(rename = "t")]
        pub topic: String,
    }
}

body! {
    /// Record of the revive topic: several messages of one pop were acknowledged.
    pub struct BatchAckMsg {
        /// Queue offset of the message.
        #[serde(rename = "ao")]
        pub ack_offset: i64,
        /// Queue offsets of the messages.
        #[serde(rename = "aol")]
        pub ack_offset_list: Vec<i64>,
        /// Broker name.
        #[serde(rename = "bn")]
        pub broker_name: String,
        /// Consumer group.
        #[serde(rename = "c")]
        pub consumer_group: String,
        /// When the messages were popped, ms.
        #[serde(rename = "pt")]
        pub pop_time: i64,
        /// Queue number.
        #[serde(rename = "q")]
        pub queue_id: i32,
        /// First offset.
        #[serde(rename = "so")]
        pub start_offset: i64,
        /// Topic.
        #[serde(rename = "t")]
        pub topic: String,
    }
}

body! {
    /// Record of the revive topic: messages were popped.
    pub struct PopCheckPoint {
        /// Bit map.
        #[serde(rename = "bm")]
        pub bit_map: i32,
        /// Broker name.
        #[serde(rename = "bn")]
        pub broker_name: String,
        /// Consumer group.
        #[serde(rename = "c")]
        pub cid: String,
        /// Distance of each message from the first.
        #[serde(rename = "d")]
        pub queue_offset_diff: Option<Vec<i32>>,
        /// How long popped messages stay invisible, ms.
        #[serde(rename = "it")]
        pub invisible_time: i64,
        /// Messages.
        #[serde(rename = "n")]
        pub num: i8,
        /// When the messages were popped, ms.
        #[serde(rename = "pt")]
        pub pop_time: i64,
        /// Queue number.
        #[serde(rename = "q")]
        pub queue_id: i32,
        /// When it becomes visible again, ms; derived from the two times.
        pub revive_time: i64,
        /// Offset in the revive topic.
        #[serde(rename = "ro")]
        pub revive_offset: i64,
        /// How often it was put again.
        #[serde(rename = "rp")]
        pub re_put_times: Option<String>,
        /// First offset.
        #[serde(rename = "so")]
        pub start_offset: i64,
        /// Whether an orderly queue is suspended meanwhile.
        #[serde(rename = "sp")]
        pub suspend: bool,
        /// Topic.
        #[serde(rename = "t")]
        pub topic: String,
    }
}
