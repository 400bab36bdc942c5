//! Queue locks of orderly consumers: codes 41 and 42.

use std::collections::BTreeSet;

use super::body::body;
use super::message_queue::MessageQueue;

body! {
    /// Body of the request LOCK_BATCH_MQ (41).
    pub struct LockBatchRequestBody {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub consumer_group: String,
        /// Queues.
        pub mq_set: BTreeSet<MessageQueue>,
        /// Whether to lock here only.
        pub only_this_broker: bool,
    }
}

body! {
    /// Body of the response to LOCK_BATCH_MQ (41).
    pub struct LockBatchResponseBody {
        /// Queues that are locked by the asker.
        #[serde(rename = "lockOKMQSet")]
        pub lock_okmq_set: BTreeSet<MessageQueue>,
    }
}

body! {
    /// Body of the request UNLOCK_BATCH_MQ (42).
    pub struct UnlockBatchRequestBody {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub consumer_group: String,
        /// Queues.
        pub mq_set: BTreeSet<MessageQueue>,
        /// Whether to unlock here only.
        pub only_this_broker: bool,
    }
}
