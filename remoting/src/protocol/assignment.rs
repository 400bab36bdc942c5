//! Rebalancing by the broker: codes 400 to 402.

use std::collections::BTreeMap;

use super::body::{body, names};
use super::message_queue::MessageQueue;
use super::subscription::MessageModel;

body! {
    /// Body of the request QUERY_ASSIGNMENT (400).
    pub struct QueryAssignmentRequestBody {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub consumer_group: String,
        /// Clustering or broadcasting.
        pub message_model: Option<MessageModel>,
        /// Allocation strategy.
        pub strategy_name: String,
        /// Topic.
        pub topic: String,
    }
}

body! {
    /// Body of the response to QUERY_ASSIGNMENT (400).
    pub struct QueryAssignmentResponseBody {
        /// Queues for the asking client.
        pub message_queue_assignments: Option<Vec<MessageQueueAssignment>>,
    }
}

body! {
    /// Body of the request SET_MESSAGE_REQUEST_MODE (401).
    pub struct SetMessageRequestModeRequestBody {
        /// Consumer group.
        pub consumer_group: String,
        /// Pull or pop.
        pub mode: MessageRequestMode = MessageRequestMode::Pull,
        /// Queues that a client shares; 0 shares all.
        pub pop_share_queue_num: i32,
        /// Topic.
        pub topic: String,
    }
}

body! {
    /// Body of the response to GET_ALL_MESSAGE_REQUEST_MODE (402).
    pub struct MessageRequestModeSerializeWrapper {
        /// Modes by topic and group.
        pub message_request_mode_map: BTreeMap<String, BTreeMap<String, SetMessageRequestModeRequestBody>>,
    }
}

body! {
    /// A queue for the asking client.
    pub struct MessageQueueAssignment {
        /// Further properties.
        pub attachments: Option<BTreeMap<String, String>>,
        /// The queue; -1 stands for all queues of the broker in pop mode.
        pub message_queue: Option<MessageQueue>,
        /// Pull or pop.
        pub mode: MessageRequestMode = MessageRequestMode::Pull,
    }
}

names! {
    /// How a group asks for messages.
    MessageRequestMode {
        /// By pull.
        Pull = "PULL",
        /// By pop: queues are shared.
        Pop = "POP",
    }
}
