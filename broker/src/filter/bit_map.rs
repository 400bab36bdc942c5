//! Bit maps that a consume queue's extension keeps of messages: the bits of the groups whose expression was true.

use apogee_filter::bloom;
use apogee_store::dispatch::{BitMaps, RecordFields};
use apogee_store::queue::ExtensionUnit;

use super::{Filters, GroupFilter, Message};

impl BitMaps for Filters {
    /// `None` for a topic that nobody filters.
    fn bit_map(&self, record: &RecordFields<'_>) -> Option<Vec<u8>> {
        let filters = self.of_topic(record.topic);
        if filters.is_empty() {
            return None;
        }
        let mut map = vec![0; self.shape().bytes()];
        for filter in filters.iter().filter(|filter| filter.expression.matches(&Message(record.properties))) {
            bloom::set(&mut map, &filter.positions);
        }
        Some(map)
    }
}

impl GroupFilter {
    /// Whether a message may pass, by what its queue remembers of it. A message from before the group, or with a map of
    /// another shape, may.
    pub(crate) fn may_pass(&self, message: &ExtensionUnit) -> bool {
        message.store_timestamp <= self.data.born_time
            || message.bit_map.len() as i64 * 8 != i64::from(self.data.bloom_filter_data.bit_num)
            || bloom::has_all(&message.bit_map, &self.positions)
    }
}
