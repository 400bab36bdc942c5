//! Taking a timer message back: code 370.

use crate::header;

header! {
    /// Header of the request RECALL_MESSAGE (370).
    pub struct RecallMessageRequestHeader<'a> {
        /// Producer group.
        pub producer_group: Option<&'a str> = "producerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Handle to take a timer message back.
        pub recall_handle: &'a str = "recallHandle",
    }
}

header! {
    /// Header of the response to RECALL_MESSAGE (370).
    pub struct RecallMessageResponseHeader<'a> {
        /// Message id.
        pub msg_id: &'a str = "msgId",
    }
}
