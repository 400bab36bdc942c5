//! Bit maps that a consume queue's extension keeps of messages: the bits of the groups whose expression was true.

#![cfg_attr(not(test), expect(dead_code, reason = "consume queues have no extensions yet"))]

use apogee_filter::bloom;
use apogee_remoting::message::properties::Properties;

use super::{Filters, GroupFilter, Message};

impl Filters {
    /// The bit map of a message; `None` for a topic that nobody filters.
    pub(crate) fn bit_map(&self, topic: &str, properties: Properties<'_>) -> Option<Vec<u8>> {
        let filters = self.of_topic(topic);
        if filters.is_empty() {
            return None;
        }
        let mut map = vec![0; self.shape().bytes()];
        for filter in filters.iter().filter(|filter| filter.expression.matches(&Message(properties))) {
            bloom::set(&mut map, &filter.positions);
        }
        Some(map)
    }
}

impl GroupFilter {
    /// Whether a message may pass, by its store time and bit map. A message from before the group, or with a map of another
    /// shape, may.
    pub(crate) fn may_pass(&self, store_timestamp: i64, bit_map: &[u8]) -> bool {
        store_timestamp <= self.data.born_time
            || bit_map.len() as i64 * 8 != i64::from(self.data.bloom_filter_data.bit_num)
            || bloom::has_all(bit_map, &self.positions)
    }
}
