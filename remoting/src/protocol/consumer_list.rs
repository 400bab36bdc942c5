//! Members of a consumer group and the note that they changed: codes 38 and 40.

use super::body::body;
use crate::header;

header! {
    /// Header of the request GET_CONSUMER_LIST_BY_GROUP (38).
    pub struct GetConsumerListByGroupRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
    }
}

header! {
    /// Header of the request NOTIFY_CONSUMER_IDS_CHANGED (40).
    pub struct NotifyConsumerIdsChangedRequestHeader<'a> {
        /// Consumer group.
        pub consumer_group: &'a str = "consumerGroup",
    }
}

body! {
    /// Body of the response to GET_CONSUMER_LIST_BY_GROUP (38).
    pub struct GetConsumerListByGroupResponseBody {
        /// Client ids.
        pub consumer_id_list: Vec<String>,
    }
}
