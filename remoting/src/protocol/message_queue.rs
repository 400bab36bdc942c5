//! The queue of a topic on a broker.

use super::body::body;

body! {
    /// The queue of a topic on a broker; also a key of JSON maps.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    pub struct MessageQueue {
        /// Broker name.
        pub broker_name: String,
        /// Queue number.
        pub queue_id: i32,
        /// Topic.
        pub topic: String,
    }
}
