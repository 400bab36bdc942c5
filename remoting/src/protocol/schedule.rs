//! Progress of delayed messages: codes 45 and 61.

use std::collections::BTreeMap;

use super::body::body;
use super::data_version::DataVersion;

body! {
    /// Body of the response to GET_ALL_DELAY_OFFSET (45).
    pub struct DelayOffsetSerializeWrapper {
        /// Version of the table.
        pub data_version: Option<DataVersion>,
        /// Offsets.
        pub offset_table: BTreeMap<i32, i64>,
    }
}

body! {
    /// Timer messages by topic: body of the response to GET_TIMER_METRICS (61) and the file timermetrics.
    pub struct TimerMetricsSerializeWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Messages by topic.
        pub timing_count: BTreeMap<String, Metric>,
    }
}

body! {
    /// Messages of a topic that wait, and since when the number holds.
    pub struct Metric {
        /// Messages.
        pub count: i64,
        /// Time, ms.
        pub time_stamp: i64,
    }
}
