//! Heartbeats of clients and the check of their subscriptions: codes 34 and 46.

use super::body::body;
use super::subscription::{ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData};

body! {
    /// What a client is and what it subscribes to: body of the request HEART_BEAT (34).
    pub struct HeartbeatData {
        /// Client id.
        #[serde(rename = "clientID")]
        pub client_id: String,
        /// Consumer groups.
        pub consumer_data_set: Vec<ConsumerData>,
        /// Hash of the content; 0 in a heartbeat of the first version.
        pub heartbeat_fingerprint: i32,
        /// Producer groups.
        pub producer_data_set: Vec<ProducerData>,
        /// Whether subscriptions are left out as unchanged.
        pub without_sub: bool,
    }
}

body! {
    /// A producer group of a client.
    pub struct ProducerData {
        /// Producer group.
        pub group_name: String,
    }
}

body! {
    /// A consumer group of a client.
    pub struct ConsumerData {
        /// Where a new group starts.
        pub consume_from_where: ConsumeFromWhere,
        /// How the group consumes.
        pub consume_type: ConsumeType,
        /// Consumer group.
        pub group_name: String,
        /// Clustering or broadcasting.
        pub message_model: MessageModel,
        /// Subscriptions.
        pub subscription_data_set: Vec<SubscriptionData>,
        /// Whether the client works in unit mode.
        pub unit_mode: bool,
    }
}

body! {
    /// Body of the request CHECK_CLIENT_CONFIG (46).
    pub struct CheckClientRequestBody {
        /// Client id.
        pub client_id: String,
        /// Consumer group.
        pub group: String,
        /// Name space.
        pub namespace: Option<String>,
        /// Subscription.
        pub subscription_data: SubscriptionData,
    }
}
