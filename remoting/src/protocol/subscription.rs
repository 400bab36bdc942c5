//! What a consumer group takes of a topic.

use std::collections::BTreeSet;

use super::body::{body, names};

body! {
    /// What a consumer group takes of a topic.
    pub struct SubscriptionData {
        /// Whether a class filters (withdrawn).
        pub class_filter_mode: bool,
        /// Java's hash codes of the tags.
        pub code_set: BTreeSet<i32>,
        /// Kind of the expression: TAG or SQL92.
        pub expression_type: String = "TAG".into(),
        /// Filter expression.
        pub sub_string: String,
        /// Version of the subscription, ms.
        pub sub_version: i64,
        /// Tags.
        pub tags_set: BTreeSet<String>,
        /// Topic.
        pub topic: String,
    }
}

names! {
    /// How a group gets its messages.
    ConsumeType {
        /// The application pulls.
        ConsumeActively = "CONSUME_ACTIVELY",
        /// The client pulls and calls a listener.
        ConsumePassively = "CONSUME_PASSIVELY",
        /// By pop.
        ConsumePop = "CONSUME_POP",
    }
}

names! {
    /// Who of a group gets a message.
    MessageModel {
        /// Everyone.
        Broadcasting = "BROADCASTING",
        /// One of them.
        Clustering = "CLUSTERING",
        /// Lite consumers.
        LiteSelective = "LITE_SELECTIVE",
    }
}

names! {
    /// Where a group without offset starts.
    ConsumeFromWhere {
        /// At the newest message.
        ConsumeFromLastOffset = "CONSUME_FROM_LAST_OFFSET",
        /// Withdrawn.
        ConsumeFromLastOffsetAndFromMinWhenBootFirst = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
        /// Withdrawn.
        ConsumeFromMinOffset = "CONSUME_FROM_MIN_OFFSET",
        /// Withdrawn.
        ConsumeFromMaxOffset = "CONSUME_FROM_MAX_OFFSET",
        /// At the oldest message.
        ConsumeFromFirstOffset = "CONSUME_FROM_FIRST_OFFSET",
        /// At a time.
        ConsumeFromTimestamp = "CONSUME_FROM_TIMESTAMP",
    }
}
