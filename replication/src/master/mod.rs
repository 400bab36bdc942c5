//! The master's side: any number of slaves, each fed from where its log ends.

mod listen;
mod reports;
mod send;
mod slaves;
mod start;

use std::sync::Arc;
use std::time::Duration;

use apogee_store::Store;
use tokio::time::timeout;

pub use listen::bind;
pub use slaves::{Acknowledged, Slave, Slaves};

use crate::CurrentOptions;

/// Serves slaves.
#[derive(Clone)]
pub struct Master {
    store: Arc<Store>,
    options: CurrentOptions,
    slaves: Arc<Slaves>,
}

impl Master {
    /// A master of what is in the store.
    pub fn new(store: Arc<Store>, options: impl Into<CurrentOptions>) -> Self {
        Self { store, options: options.into(), slaves: Arc::default() }
    }

    /// The slaves that are connected.
    pub fn slaves(&self) -> &Slaves {
        &self.slaves
    }

    /// Ends when at least so many slaves have everything before a physical offset.
    pub fn acknowledged(&self, position: i64, slaves: usize) -> Acknowledged {
        Slaves::acknowledged(&self.slaves, position, slaves)
    }

    /// Ends when all slaves that are connected have everything, or when it takes too long.
    pub async fn drained(&self, limit: Duration) {
        // Who is too slow gets the rest from the next master.
        let _ = timeout(limit, self.slaves.have_all(self.store.max_physical_offset())).await;
    }
}
