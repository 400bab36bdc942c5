//! How brokers leave the tables.

use std::sync::Arc;

use super::notice::MinBrokerChanged;
use super::tables::Tables;

impl Tables {
    /// A broker says good-bye. An unknown one is passed over (trap 25).
    pub fn unregister(&mut self, broker: &str, address: &str) -> Option<MinBrokerChanged> {
        let id = self.brokers.get(broker)?.id_of(address)?;
        self.remove_member(broker, id)
    }

    /// A connection closed: every broker whose last registration came over it is gone.
    pub fn connection_closed(&mut self, connection: u64) -> Vec<MinBrokerChanged> {
        let gone = self.members_where(|member| member.connection == connection);
        gone.into_iter().filter_map(|(broker, id, _)| self.remove_member(&broker, id)).collect()
    }

    /// Removes every broker that was silent for longer than its heartbeat timeout.
    pub fn expire(&mut self, now: i64) -> Expired {
        let gone = self.members_where(|member| member.is_silent(now));
        let mut expired = Expired::default();
        for (broker, id, connection) in gone {
            tracing::warn!(%broker, id, "broker has not been heard of within its heartbeat timeout: removed");
            expired.connections.push(connection);
            expired.notices.extend(self.remove_member(&broker, id));
        }
        expired
    }

    /// Whether [`Tables::expire`] would remove anything; needs no write access.
    pub fn has_silent_members(&self, now: i64) -> bool {
        self.brokers.values().flat_map(|set| set.members.values()).any(|member| member.is_silent(now))
    }

    /// Name, id and connection of the members that fit.
    fn members_where(&self, fits: impl Fn(&super::broker_set::Member) -> bool) -> Vec<(Arc<str>, i64, u64)> {
        let mut found = Vec::new();
        for (name, set) in &self.brokers {
            for (id, member) in set.members.iter().filter(|(_, member)| fits(member)) {
                found.push((Arc::clone(name), *id, member.connection));
            }
        }
        found
    }

    /// Removes one member. Its set goes with the last one; a set that lost its master becomes
    /// read-only when slaves may act as master.
    pub(super) fn remove_member(&mut self, broker: &str, id: i64) -> Option<MinBrokerChanged> {
        let set = self.brokers.get_mut(broker)?;
        let was_first = set.min_id() == Some(id);
        let removed = set.members.remove(&id)?;
        tracing::info!(broker, id, address = %removed.address, cluster = %removed.cluster, "broker left");
        if set.members.is_empty() {
            self.remove_set(broker);
            return None;
        }
        let (acting, lacks_master) = (set.acting_master, set.lacks_master());
        let notice = (was_first && acting).then(|| MinBrokerChanged::after_loss(set, removed.address));
        self.mark_all_stale(broker);
        if acting && lacks_master {
            self.change_queues(broker, super::queues::Queues::read_only);
        }
        notice.flatten()
    }
}

/// What [`Tables::expire`] did.
#[derive(Debug, Default)]
pub struct Expired {
    /// Connections of the removed brokers, to be closed.
    pub connections: Vec<u64>,
    /// Sets whose smallest broker id changed.
    pub notices: Vec<MinBrokerChanged>,
}
