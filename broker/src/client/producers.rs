//! Producers that are connected, by group.

use std::sync::Arc;

use apogee_remoting::server::Peer;
use dashmap::DashMap;

use super::{Client, Members};

/// All groups with a connected producer.
#[derive(Default)]
pub(crate) struct Producers {
    groups: DashMap<Arc<str>, Members>,
    by_peer: DashMap<u64, Vec<Arc<str>>>,
}

impl Producers {
    /// Takes up a client of a group or notes that it lives.
    pub(crate) fn heartbeat(&self, group: &str, client: &Client) {
        let name: Arc<str> = Arc::from(group);
        if self.groups.entry(Arc::clone(&name)).or_default().heartbeat(client) {
            self.by_peer.entry(client.peer.id()).or_default().push(name);
        }
    }

    /// Removes a client from a group, at its own wish.
    pub(crate) fn unregister(&self, group: &str, peer: &Peer) {
        if let Some(mut groups) = self.by_peer.get_mut(&peer.id()) {
            groups.retain(|name| **name != *group);
        }
        self.remove_member(group, peer);
    }

    /// Removes a client whose connection ended from all its groups.
    pub(crate) fn connection_closed(&self, peer: &Peer) {
        for group in self.by_peer.remove(&peer.id()).map(|(_, groups)| groups).unwrap_or_default() {
            self.remove_member(&group, peer);
        }
    }

    /// Closes the connections of members that have been silent since before `oldest` (ms since the epoch).
    pub(crate) fn close_silent(&self, oldest: i64) {
        for group in &self.groups {
            group.close_silent(oldest, group.key());
        }
    }

    /// The clients of a group; none when the group is not connected.
    pub(crate) fn clients(&self, group: &str) -> Vec<Client> {
        self.groups.get(group).map(|members| members.iter().cloned().collect()).unwrap_or_default()
    }

    fn remove_member(&self, group: &str, peer: &Peer) {
        if let Some(mut members) = self.groups.get_mut(group) {
            members.remove(peer);
        }
        self.groups.remove_if(group, |_, members| members.is_empty());
    }
}
