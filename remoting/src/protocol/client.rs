//! Connected clients: codes 35, 203, 204, 328.

use std::collections::BTreeMap;

use super::body::body;
use super::subscription::{ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData};
use crate::command::Language;
use crate::header;

header! {
    /// Header of the request UNREGISTER_CLIENT (35).
    pub struct UnregisterClientRequestHeader<'a> {
        /// Client id.
        pub client_id: Option<&'a str> = "clientID",
        /// Producer group.
        pub producer_group: Option<&'a str> = "producerGroup",
        /// Consumer group.
        pub consumer_group: Option<&'a str> = "consumerGroup",
    }
}

header! {
    /// Header of the request GET_CONSUMER_CONNECTION_LIST (203).
    pub struct GetConsumerConnectionListRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
    }
}

header! {
    /// Header of the request GET_PRODUCER_CONNECTION_LIST (204).
    pub struct GetProducerConnectionListRequestHeader<'a> {
        /// Producer group.
        pub producer_group: &'a str = "producerGroup",
    }
}

body! {
    /// A connected client.
    pub struct Connection {
        /// Client address.
        pub client_addr: String,
        /// Client id.
        pub client_id: String,
        /// What the client is written in.
        pub language: Option<Language>,
        /// Version of the client, as in [`crate::Command::version`].
        pub version: i32,
    }
}

body! {
    /// Body of the response to GET_CONSUMER_CONNECTION_LIST (203).
    pub struct ConsumerConnection {
        /// Connections.
        pub connection_set: Vec<Connection>,
        /// Where a new group starts.
        pub consume_from_where: ConsumeFromWhere,
        /// How the group consumes.
        pub consume_type: ConsumeType,
        /// Clustering or broadcasting.
        pub message_model: MessageModel,
        /// Subscriptions by topic.
        pub subscription_table: BTreeMap<String, SubscriptionData>,
    }
}

body! {
    /// Body of the response to GET_PRODUCER_CONNECTION_LIST (204).
    pub struct ProducerConnection {
        /// Connections.
        pub connection_set: Vec<Connection>,
    }
}

body! {
    /// A connected producer.
    pub struct ProducerInfo {
        /// Client id.
        pub client_id: String,
        /// What the client is written in.
        pub language: Option<Language>,
        /// Last change, ms.
        pub last_update_timestamp: i64,
        /// Client address with a leading slash.
        #[serde(rename = "remoteIP")]
        pub remote_ip: String,
        /// Version of the client, as in [`crate::Command::version`].
        pub version: i32,
    }
}

body! {
    /// Body of the response to GET_ALL_PRODUCER_INFO (328).
    pub struct ProducerTableInfo {
        /// Producers by group.
        pub data: BTreeMap<String, Vec<ProducerInfo>>,
    }
}
