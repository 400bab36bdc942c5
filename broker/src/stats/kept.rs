//! Counters that are looked for once.

use std::sync::{Arc, OnceLock};

use super::traffic::{Amount, Traffic};

/// The counters of one topic, kept by who counts often.
#[derive(Default)]
pub(crate) struct KeptTraffic(OnceLock<Arc<Traffic>>);

impl KeptTraffic {
    /// Counts where it is known to; else where `find` says, and there from then on.
    pub(super) fn count(&self, amount: Amount, find: impl FnOnce() -> Arc<Traffic>) {
        if let Some(traffic) = self.0.get().filter(|traffic| !traffic.is_gone()) {
            traffic.count(amount);
            return;
        }
        let found = find();
        found.count(amount);
        // of a topic that is no more, the first ones stay: the next has a keeper of its own
        let _ = self.0.set(found);
    }
}
