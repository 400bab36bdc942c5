//! Resets that wait for the next pull of their group.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Offsets to go on with, by group, topic and queue. Not kept over a restart: the offsets themselves are.
///
/// Every pull looks here, so that an empty table, the normal case, costs a read of a number.
#[derive(Default)]
pub(super) struct Resets {
    count: AtomicUsize,
    offsets: Mutex<HashMap<Place, i64>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Place {
    group: String,
    topic: String,
    queue_id: i32,
}

impl Place {
    fn new(group: &str, topic: &str, queue_id: i32) -> Self {
        Self { group: group.to_owned(), topic: topic.to_owned(), queue_id }
    }
}

impl Resets {
    pub(super) fn set(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.change(|offsets| offsets.insert(Place::new(group, topic, queue_id), offset));
    }

    pub(super) fn get(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        self.offsets.lock().get(&Place::new(group, topic, queue_id)).copied()
    }

    pub(super) fn take(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        self.change(|offsets| offsets.remove(&Place::new(group, topic, queue_id)))
    }

    pub(super) fn remove_group(&self, group: &str) {
        self.change(|offsets| offsets.retain(|place, _| place.group != group));
    }

    pub(super) fn remove_topic(&self, topic: &str) {
        self.change(|offsets| offsets.retain(|place, _| place.topic != topic));
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn change<T>(&self, act: impl FnOnce(&mut HashMap<Place, i64>) -> T) -> T {
        let mut offsets = self.offsets.lock();
        let result = act(&mut offsets);
        self.count.store(offsets.len(), Ordering::Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_given_out_once() {
        let resets = Resets::default();
        resets.set("g", "T", 1, 7);
        assert_eq!([("g", "T", 0), ("g", "U", 1), ("h", "T", 1)].map(|(g, t, q)| resets.take(g, t, q)), [None; 3]);
        assert_eq!(
            (resets.get("g", "T", 1), resets.take("g", "T", 1), resets.take("g", "T", 1)),
            (Some(7), Some(7), None)
        );
    }

    #[test]
    fn resets_go_with_their_group_and_topic() {
        let resets = Resets::default();
        for (group, topic) in [("g", "T"), ("g", "U"), ("h", "T")] {
            resets.set(group, topic, 0, 1);
        }
        resets.remove_topic("T");
        assert_eq!((resets.get("g", "U", 0), resets.get("h", "T", 0)), (Some(1), None));
        resets.remove_group("g");
        assert!(resets.is_empty());
    }
}
