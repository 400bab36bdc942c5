//! Version of a table of configuration.

use std::cmp::Ordering;

use super::body::body;

body! {
    /// Version of a table of configuration: body of the request and response of QUERY_DATA_VERSION (322).
    #[derive(Copy, Eq)]
    pub struct DataVersion {
        /// Counts the changes.
        pub counter: i64,
        /// Epoch of the controller.
        pub state_version: i64,
        /// Time, ms.
        pub timestamp: i64,
    }
}

impl DataVersion {
    /// The reference's order: controller epoch, then counter, then time.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |v: &Self| (v.state_version, v.counter, v.timestamp);
        key(self).cmp(&key(other))
    }

    /// Counts a change made at `now` (ms) under the controller's epoch `state_version` (0 without controller).
    pub fn advance(&mut self, state_version: i64, now: i64) {
        *self = Self { counter: self.counter + 1, state_version, timestamp: now };
    }
}
