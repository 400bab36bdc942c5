//! When a consumer group gets a failed message again.

use super::body::body;
use super::body::names;

body! {
    /// Kind and figures of a retry policy.
    pub struct GroupRetryPolicy {
        /// Customized retry policy.
        pub customized_retry_policy: Option<CustomizedRetryPolicy>,
        /// Exponential retry policy.
        pub exponential_retry_policy: Option<ExponentialRetryPolicy>,
        /// Type.
        #[serde(rename = "type")]
        pub kind: GroupRetryPolicyType = GroupRetryPolicyType::Customized,
    }
}

body! {
    /// Times that grow by a factor, ms.
    pub struct ExponentialRetryPolicy {
        /// Initial.
        pub initial: i64 = 5000,
        /// Max.
        pub max: i64 = 7_200_000,
        /// Multiplier.
        pub multiplier: i64 = 2,
    }
}

body! {
    /// Times as listed, ms.
    pub struct CustomizedRetryPolicy {
        /// Next.
        pub next: Vec<i64>,
    }
}

body! {
    /// A subscription that is fixed in the configuration of its group.
    pub struct SimpleSubscriptionData {
        /// Expression.
        pub expression: String,
        /// Kind of the expression: TAG or SQL92.
        pub expression_type: String,
        /// Topic.
        pub topic: String,
        /// Version number.
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
