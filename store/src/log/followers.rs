//! Those who follow the log's end: replication, which sends to slaves what is appended.

use std::sync::atomic::{AtomicBool, Ordering, fence};

use tokio::sync::Notify;

use super::CommitLog;

/// Wakes them. While nobody waits, an append pays one load.
#[derive(Debug, Default)]
pub(super) struct Followers {
    wait: AtomicBool,
    grown: Notify,
}

impl Followers {
    /// The log has grown. Call it behind a sequentially consistent fence that follows the publishing of its new end.
    pub(super) fn wake(&self) {
        if self.wait.load(Ordering::Relaxed) && self.wait.swap(false, Ordering::AcqRel) {
            self.grown.notify_waiters();
        }
    }
}

impl CommitLog {
    /// Ends when the log reaches beyond a physical offset.
    pub(crate) async fn grown(&self, position: i64) {
        loop {
            let mut grown = std::pin::pin!(self.followers.grown.notified());
            grown.as_mut().enable();
            self.followers.wait.store(true, Ordering::Relaxed);
            // Pairs with the fence of an append: either this sees the new end, or the append sees that somebody waits.
            fence(Ordering::SeqCst);
            if self.written() > position {
                return;
            }
            grown.await;
        }
    }
}
