//! Transactions: codes 37, 39, 323.

use std::collections::BTreeMap;

use super::body::body;
use super::data_version::DataVersion;
use super::schedule::Metric;
use crate::header;

header! {
    /// Header of the request END_TRANSACTION (37).
    pub struct EndTransactionRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Producer group.
        pub producer_group: Option<&'a str> = "producerGroup",
        /// Queue offset of the half message.
        pub tran_state_table_offset: i64 = "tranStateTableOffset",
        /// Physical offset of the half message.
        pub commit_log_offset: i64 = "commitLogOffset",
        /// 8 commits, 12 rolls back, 0 knows nothing.
        pub commit_or_rollback: i32 = "commitOrRollback",
        /// Whether this answers a check.
        #[default(false)]
        pub from_transaction_check: bool = "fromTransactionCheck",
        /// Message id.
        pub msg_id: Option<&'a str> = "msgId",
        /// Transaction id.
        pub transaction_id: Option<&'a str> = "transactionId",
    }
}

header! {
    /// Header of the request CHECK_TRANSACTION_STATE (39).
    pub struct CheckTransactionStateRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Queue offset of the half message.
        pub tran_state_table_offset: i64 = "tranStateTableOffset",
        /// Physical offset of the half message.
        pub commit_log_offset: i64 = "commitLogOffset",
        /// Message id.
        pub msg_id: Option<&'a str> = "msgId",
        /// Transaction id.
        pub transaction_id: Option<&'a str> = "transactionId",
        /// Offset message id.
        pub offset_msg_id: Option<&'a str> = "offsetMsgId",
    }
}

header! {
    /// How a checked transaction stands. The reference declares it for no code; producers answer with END_TRANSACTION (37).
    pub struct CheckTransactionStateResponseHeader<'a> {
        /// Producer group.
        pub producer_group: &'a str = "producerGroup",
        /// Queue offset of the half message.
        pub tran_state_table_offset: i64 = "tranStateTableOffset",
        /// Physical offset of the half message.
        pub commit_log_offset: i64 = "commitLogOffset",
        /// 8 commits, 12 rolls back, 0 knows nothing.
        pub commit_or_rollback: i32 = "commitOrRollback",
    }
}

header! {
    /// Header of the request RESUME_CHECK_HALF_MESSAGE (323).
    pub struct ResumeCheckHalfMessageRequestHeader<'a> {
        /// Topic.
        pub topic: Option<&'a str> = "topic",
        /// Message id.
        pub msg_id: Option<&'a str> = "msgId",
    }
}

body! {
    /// The file transactionMetrics: pending transactions by topic.
    pub struct TransactionMetricsSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Pending transactions by topic.
        pub transaction_count: BTreeMap<String, Metric>,
    }
}
