//! Counters that are looked for once.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::traffic::{Amount, Traffic};

/// The counters of one topic, kept by who counts often.
#[derive(Default)]
pub(crate) struct KeptTraffic(ArcSwapOption<Traffic>);

impl KeptTraffic {
    /// Counts where it is known to; else where `find` says, and there from then on.
    pub(super) fn count(&self, amount: Amount, find: impl FnOnce() -> Arc<Traffic>) {
        if let Some(traffic) = self.0.load().as_ref().filter(|traffic| !traffic.is_gone()) {
            traffic.count(amount);
            return;
        }
        let found = find();
        found.count(amount);
        self.0.store(Some(found));
    }
}
