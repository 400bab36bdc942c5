//! When a consumer group gets a failed message again.

use super::body::{body, names};

body! {
    /// Kind and figures of a retry policy.
    pub struct GroupRetryPolicy {
        /// Listed times.
        pub customized_retry_policy: Option<CustomizedRetryPolicy>,
        /// Figures of growing times.
        pub exponential_retry_policy: Option<ExponentialRetryPolicy>,
        /// Which of the figures count.
        #[serde(rename = "type")]
        pub kind: GroupRetryPolicyType = GroupRetryPolicyType::Customized,
    }
}

body! {
    /// Times that grow by a factor, ms.
    pub struct ExponentialRetryPolicy {
        /// First time, ms.
        pub initial: i64 = 5000,
        /// Longest time, ms.
        pub max: i64 = 7_200_000,
        /// Factor.
        pub multiplier: i64 = 2,
    }
}

body! {
    /// Times as listed, ms.
    pub struct CustomizedRetryPolicy {
        /// Times in order, ms.
        pub next: Vec<i64>,
    }
}

body! {
    /// A subscription that is fixed in the configuration of its group.
    pub struct SimpleSubscriptionData {
        /// Filter expression.
        pub expression: String,
        /// Kind of the expression: TAG or SQL92.
        pub expression_type: String,
        /// Topic.
        pub topic: String,
        /// Version of the subscription.
        pub version: i64,
    }
}

names! {
    /// Which figures of a [`GroupRetryPolicy`] count.
    GroupRetryPolicyType {
        /// [`ExponentialRetryPolicy`].
        Exponential = "EXPONENTIAL",
        /// [`CustomizedRetryPolicy`].
        Customized = "CUSTOMIZED",
    }
}
