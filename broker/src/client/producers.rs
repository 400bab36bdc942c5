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
    /// The connection on which a client of this id was taken up last.
    by_id: DashMap<String, Arc<Peer>>,
}

impl Producers {
    /// Takes up a client of a group or notes that it lives.
    pub(crate) fn heartbeat(&self, group: &str, client: &Client) {
        let name: Arc<str> = Arc::from(group);
        if self.groups.entry(Arc::clone(&name)).or_default().heartbeat(client) {
            self.by_peer.entry(client.peer.id()).or_default().push(name);
            self.by_id.insert(client.id.clone(), Arc::clone(&client.peer));
        }
    }

    /// Removes a client from a group, at its own wish.
    pub(crate) fn unregister(&self, group: &str, peer: &Peer) {
        let Some(mut groups) = self.by_peer.get_mut(&peer.id()) else { return };
        groups.retain(|name| **name != *group);
        let was_last = groups.is_empty();
        drop(groups);
        let removed = self.remove_member(group, peer);
        if was_last {
            self.forget_id(removed, peer);
        }
    }

    /// Removes a client whose connection ended from all its groups.
    pub(crate) fn connection_closed(&self, peer: &Peer) {
        for group in self.by_peer.remove(&peer.id()).map(|(_, groups)| groups).unwrap_or_default() {
            let removed = self.remove_member(&group, peer);
            self.forget_id(removed, peer);
        }
    }

    /// The connection of a producer, by what it calls itself.
    pub(crate) fn peer(&self, client_id: &str) -> Option<Arc<Peer>> {
        self.by_id.get(client_id).map(|peer| Arc::clone(&peer))
    }

    /// All groups with their clients.
    pub(crate) fn all(&self) -> Vec<(Arc<str>, Vec<Client>)> {
        self.groups.iter().map(|group| (Arc::clone(group.key()), group.iter().cloned().collect())).collect()
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

    fn remove_member(&self, group: &str, peer: &Peer) -> Option<Client> {
        let removed = self.groups.get_mut(group).and_then(|mut members| members.remove(peer));
        self.groups.remove_if(group, |_, members| members.is_empty());
        removed
    }

    /// A client that came back on another connection keeps its id.
    fn forget_id(&self, client: Option<Client>, peer: &Peer) {
        if let Some(client) = client {
            self.by_id.remove_if(&client.id, |_, known| known.id() == peer.id());
        }
    }
}
