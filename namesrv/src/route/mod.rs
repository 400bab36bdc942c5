//! Which broker has which topic: the route tables and the answers made from them.
//!
//! [`Routes`] is the one owner. Changes run under a write lock; route queries read ready-made answers
//! from a concurrent map and touch the lock only for the first query after a change of that topic.

mod broker_set;
mod lists;
mod notice;
mod queues;
mod registration;
mod removal;
mod snapshot;
mod tables;
mod topics;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use parking_lot::RwLock;

pub use self::notice::MinBrokerChanged;
pub use self::queues::Queues;
pub use self::registration::{Outcome, Registered, Registration};
pub use self::removal::Expired;
pub use self::snapshot::Route;
pub use self::tables::Tables;

/// Owner of the route tables. All times are ms of the server's clock.
#[derive(Debug, Default)]
pub struct Routes {
    tables: RwLock<Tables>,
    /// Answers by topic. Filled while a read lock of `tables` is held and emptied under the write lock,
    /// so that no answer outlives the state it was made from.
    ready: DashMap<Arc<str>, Arc<Route>>,
    acting_master: AtomicBool,
}

impl Routes {
    /// Empty tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The route of `topic`; `None` when no live broker has it. `order` is asked for the topic's order
    /// configuration when an answer is made; see [`Routes::forget`].
    pub fn route(&self, topic: &str, order: impl FnOnce() -> Option<String>) -> Option<Arc<Route>> {
        if let Some(route) = self.ready.get(topic) {
            return Some(Arc::clone(&route));
        }
        let tables = self.tables.read();
        let route = Arc::new(tables.build_route(topic, self.acting_master.load(Ordering::Relaxed), order())?);
        self.ready.insert(topic.into(), Arc::clone(&route));
        Some(route)
    }

    /// Makes the answers for `topic` anew, because its order configuration changed.
    pub fn forget(&self, topic: &str) {
        let _writers_wait = self.tables.write();
        self.ready.remove(topic);
    }

    /// Makes all answers anew, because a setting changed that they depend on, and sets whether the
    /// smallest slave stands in for a missing master (`supportActingMaster`).
    pub fn forget_all(&self, acting_master: bool) {
        let _writers_wait = self.tables.write();
        self.acting_master.store(acting_master, Ordering::Relaxed);
        self.ready.clear();
    }

    /// Looks at the tables.
    pub fn read<T>(&self, look: impl FnOnce(&Tables) -> T) -> T {
        look(&self.tables.read())
    }

    /// Enters or renews a broker; see [`Tables::register_broker`].
    pub fn register_broker(&self, registration: &Registration<'_>, now: i64) -> Outcome {
        self.write(|tables| tables.register_broker(registration, now))
    }

    /// Removes the broker of that name and address.
    pub fn unregister(&self, broker: &str, address: &str) -> Option<MinBrokerChanged> {
        self.write(|tables| tables.unregister(broker, address))
    }

    /// Removes the brokers that registered over a connection.
    pub fn connection_closed(&self, connection: u64) -> Vec<MinBrokerChanged> {
        self.write(|tables| tables.connection_closed(connection))
    }

    /// Removes the brokers that were silent for too long.
    pub fn expire(&self, now: i64) -> Expired {
        if self.read(|tables| tables.has_silent_members(now)) {
            self.write(|tables| tables.expire(now))
        } else {
            Expired::default()
        }
    }

    /// Announces a topic; see [`Tables::register_topic`].
    pub fn register_topic(&self, topic: &str, queues: &[(String, Queues)]) -> bool {
        self.write(|tables| tables.register_topic(topic, queues))
    }

    /// Forgets a topic, in one cluster or everywhere.
    pub fn delete_topic(&self, topic: &str, cluster: Option<&str>) {
        self.write(|tables| match cluster {
            Some(cluster) => tables.delete_topic_in(topic, cluster),
            None => tables.delete_topic(topic),
        });
    }

    /// Closes all topics of a broker for writing; returns their number.
    pub fn wipe_write_permission(&self, broker: &str) -> usize {
        self.write(|tables| tables.wipe_write_permission(broker))
    }

    /// Opens all topics of a broker; returns their number.
    pub fn add_write_permission(&self, broker: &str) -> usize {
        self.write(|tables| tables.add_write_permission(broker))
    }

    /// Changes the tables and drops the answers that the change made stale, as one step for readers.
    fn write<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        let mut tables = self.tables.write();
        let result = change(&mut tables);
        for topic in tables.take_stale() {
            self.ready.remove(&topic);
        }
        result
    }
}
