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

use bytes::Bytes;
use dashmap::DashMap;
use parking_lot::RwLock;

pub use self::notice::MinBrokerChanged;
pub use self::queues::Queues;
pub use self::registration::{Outcome, Registered, Registration};
pub use self::removal::Expired;
use self::snapshot::{encode, keep_zone};
pub use self::tables::Tables;

/// Owner of the route tables. All times are ms of the server's clock.
#[derive(Debug, Default)]
pub struct Routes {
    tables: RwLock<Tables>,
    /// Answers by topic, with integer keys unquoted and quoted. Filled while a read lock of `tables` is held and emptied under
    /// the write lock, so that no answer outlives the state it was made from.
    ready: [DashMap<Arc<str>, Bytes>; 2],
    acting_master: AtomicBool,
}

impl Routes {
    /// Empty tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The body that answers a query for `topic`, in standard JSON or not; `None` when no live broker has it. `order` is asked
    /// for the topic's order configuration when an answer is made; see [`Routes::forget`].
    pub fn route(&self, topic: &str, standard: bool, order: impl FnOnce() -> Option<String>) -> Option<Bytes> {
        let ready = &self.ready[usize::from(standard)];
        if let Some(body) = ready.get(topic) {
            return Some(body.clone());
        }
        let tables = self.tables.read();
        let body = encode(&tables.build_route(topic, self.acting_master.load(Ordering::Relaxed), order())?, standard);
        ready.insert(topic.into(), body.clone());
        Some(body)
    }

    /// The same for a client that wants the brokers of its own zone only; made anew for each query.
    pub fn route_in_zone(&self, topic: &str, zone: &str, standard: bool, order: Option<String>) -> Option<Bytes> {
        let acting_master = self.acting_master.load(Ordering::Relaxed);
        let mut route = self.tables.read().build_route(topic, acting_master, order)?;
        keep_zone(&mut route, zone);
        Some(encode(&route, standard))
    }

    /// Makes the answers for `topic` anew, because its order configuration changed.
    pub fn forget(&self, topic: &str) {
        let _writers_wait = self.tables.write();
        self.drop_answers(topic);
    }

    /// Makes all answers anew, because a setting changed that they depend on, and sets whether the
    /// smallest slave stands in for a missing master (`supportActingMaster`).
    pub fn forget_all(&self, acting_master: bool) {
        let _writers_wait = self.tables.write();
        self.acting_master.store(acting_master, Ordering::Relaxed);
        self.ready.iter().for_each(DashMap::clear);
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
            self.drop_answers(&topic);
        }
        result
    }

    fn drop_answers(&self, topic: &str) {
        for ready in &self.ready {
            ready.remove(topic);
        }
    }
}
