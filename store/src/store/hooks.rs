//! What the store asks of its owner, and tells it.

use std::sync::Arc;

use crate::dispatch::{Arrival, ArrivalListener, BitMaps};
use crate::queue::QueueKinds;

/// The owner's side of a store. A listener alone will do, and even nobody: then all queues are simple, but those that are
/// batch queues on disk, and nothing is known of filters.
#[derive(Clone)]
pub struct Hooks {
    /// Told of every message that can be read.
    pub listener: Arc<dyn ArrivalListener>,
    /// Which topics have batch queues.
    pub queue_kinds: Arc<dyn QueueKinds>,
    /// Which filters a message passes, for extensions of queues.
    pub bit_maps: Option<Arc<dyn BitMaps>>,
}

impl<L: ArrivalListener + 'static> From<Arc<L>> for Hooks {
    fn from(listener: Arc<L>) -> Self {
        Self { listener, queue_kinds: Arc::new(|_: &str| None), bit_maps: None }
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self::from(Arc::new(Nobody))
    }
}

/// Waits for no message.
struct Nobody;

impl ArrivalListener for Nobody {
    fn is_waited_for(&self) -> bool {
        false
    }

    fn arrived(&self, _: &Arrival<'_>) {}
}
