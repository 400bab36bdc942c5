//! Sending messages: codes 10, 310, 320, 324, 325.

use crate::{Command, HeaderError, RequestCode, header};

header! {
    /// Header of the requests SEND_MESSAGE (10), SEND_REPLY_MESSAGE (324).
    pub struct SendMessageRequestHeader<'a> {
        /// Producer group.
        pub producer_group: Option<&'a str> = "producerGroup",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Topic whose settings a topic created by this send takes over.
        pub default_topic: Option<&'a str> = "defaultTopic",
        /// Queues of a topic created by this send.
        pub default_topic_queue_nums: Option<i32> = "defaultTopicQueueNums",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// System flag bits (constants, section 3).
        pub sys_flag: i32 = "sysFlag",
        /// When the client made the message, ms.
        pub born_timestamp: i64 = "bornTimestamp",
        /// Flag of the application, passed through.
        pub flag: i32 = "flag",
        /// Message properties: name, byte 1, value, byte 2, and so on.
        pub properties: Option<&'a str> = "properties",
        /// How often it was consumed in vain.
        pub reconsume_times: Option<i32> = "reconsumeTimes",
        /// Whether the client works in unit mode.
        pub unit_mode: Option<bool> = "unitMode",
        /// Whether the body is a batch.
        pub batch: Option<bool> = "batch",
        /// Retries before the message goes to the dead-letter topic.
        pub max_reconsume_times: Option<i32> = "maxReconsumeTimes",
    }
}

header! {
    /// Header of the requests SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320), SEND_REPLY_MESSAGE_V2 (325).
    pub struct SendMessageRequestHeaderV2<'a> {
        /// Producer group.
        pub producer_group: Option<&'a str> = "a",
        /// Topic.
        pub topic: &'a str = "b",
        /// Topic whose settings a topic created by this send takes over.
        pub default_topic: Option<&'a str> = "c",
        /// Queues of a topic created by this send.
        pub default_topic_queue_nums: Option<i32> = "d",
        /// Queue number.
        pub queue_id: i32 = "e",
        /// System flag bits (constants, section 3).
        pub sys_flag: i32 = "f",
        /// When the client made the message, ms.
        pub born_timestamp: i64 = "g",
        /// Flag of the application, passed through.
        pub flag: i32 = "h",
        /// Message properties: name, byte 1, value, byte 2, and so on.
        pub properties: Option<&'a str> = "i",
        /// How often it was consumed in vain.
        pub reconsume_times: Option<i32> = "j",
        /// Whether the client works in unit mode.
        pub unit_mode: Option<bool> = "k",
        /// Retries before the message goes to the dead-letter topic.
        pub max_reconsume_times: Option<i32> = "l",
        /// Whether the body is a batch.
        pub batch: Option<bool> = "m",
        /// Broker name.
        pub broker_name: Option<&'a str> = "n",
    }
}

impl<'a> SendMessageRequestHeader<'a> {
    /// The header of a send of any code, in its long form. Codes 310, 320 and 325 carry the short names.
    ///
    /// # Errors
    /// As [`Command::header`].
    pub fn of(command: &'a Command) -> Result<Self, HeaderError> {
        match command.request_code() {
            RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE | RequestCode::SEND_REPLY_MESSAGE_V2 => {
                command.header::<SendMessageRequestHeaderV2>().map(Self::from)
            }
            _ => command.header(),
        }
    }
}

impl<'a> From<SendMessageRequestHeaderV2<'a>> for SendMessageRequestHeader<'a> {
    fn from(short: SendMessageRequestHeaderV2<'a>) -> Self {
        Self {
            producer_group: short.producer_group,
            topic: short.topic,
            default_topic: short.default_topic,
            default_topic_queue_nums: short.default_topic_queue_nums,
            queue_id: short.queue_id,
            sys_flag: short.sys_flag,
            born_timestamp: short.born_timestamp,
            flag: short.flag,
            properties: short.properties,
            reconsume_times: short.reconsume_times,
            unit_mode: short.unit_mode,
            batch: short.batch,
            max_reconsume_times: short.max_reconsume_times,
        }
    }
}

header! {
    /// Header of the responses to 10, 310, 320, 324, 325.
    pub struct SendMessageResponseHeader<'a> {
        /// Message id.
        pub msg_id: &'a str = "msgId",
        /// Queue number.
        pub queue_id: i32 = "queueId",
        /// Queue offset.
        pub queue_offset: i64 = "queueOffset",
        /// Transaction id.
        pub transaction_id: Option<&'a str> = "transactionId",
        /// Unique id of the batch.
        pub batch_uniq_id: Option<&'a str> = "batchUniqId",
        /// Handle to take a timer message back.
        pub recall_handle: Option<&'a str> = "recallHandle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_namings_give_the_same_header() {
        let long = SendMessageRequestHeader {
            producer_group: None,
            topic: "T",
            default_topic: Some("TBW102"),
            default_topic_queue_nums: Some(4),
            queue_id: -1,
            sys_flag: 1,
            born_timestamp: 1_700_000_000_000,
            flag: 2,
            properties: Some("a\u{1}b\u{2}"),
            reconsume_times: Some(0),
            unit_mode: Some(false),
            batch: Some(true),
            max_reconsume_times: Some(16),
        };
        let command = Command::request(RequestCode::SEND_MESSAGE).with_header(&long);
        assert_eq!(SendMessageRequestHeader::of(&command).unwrap(), long);

        let mut short = Command::request(RequestCode::SEND_BATCH_MESSAGE);
        let values = [("b", "T"), ("c", "TBW102"), ("d", "4"), ("e", "-1"), ("f", "1"), ("g", "1700000000000")];
        let more = [("h", "2"), ("i", "a\u{1}b\u{2}"), ("j", "0"), ("k", "false"), ("l", "16"), ("m", "true")];
        short.fields = Some(values.into_iter().chain(more).collect());
        assert_eq!(SendMessageRequestHeader::of(&short).unwrap(), long);
    }
}
