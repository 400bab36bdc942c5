//! Producers that are connected, by group.

use std::sync::Arc;

use apogee_remoting::server::Peer;
use dashmap::DashMap;

use super::{Client, Members};

/// All groups with a connected producer.
#[derive(Default)]
pub(crate) struct Producers {
    groups: DashMap<Arc<str>, Members>,
    by_peer: DashMap<u64, Connected>,
    /// The connection on which a client of this id was taken up last.
    by_id: DashMap<String, Arc<Peer>>,
}

/// A connection with producers.
struct Connected {
    /// What the client called itself first.
    id: String,
    groups: Vec<Arc<str>>,
}

impl Producers {
    /// Takes up a client of a group or notes that it lives.
    pub(crate) fn heartbeat(&self, group: &str, client: &Client) {
        let name: Arc<str> = Arc::from(group);
        if !self.groups.entry(Arc::clone(&name)).or_default().heartbeat(client) {
            return;
        }
        let mut connected = self.by_peer.entry(client.peer.id()).or_insert_with(|| {
            self.by_id.insert(client.id.clone(), Arc::clone(&client.peer));
            Connected { id: client.id.clone(), groups: Vec::new() }
        });
        connected.groups.push(name);
    }

    /// Removes a client from a group, at its own wish.
    pub(crate) fn unregister(&self, group: &str, peer: &Peer) {
        self.remove_member(group, peer);
        if let Some(mut connected) = self.by_peer.get_mut(&peer.id()) {
            connected.groups.retain(|name| **name != *group);
        }
        if let Some((_, connected)) = self.by_peer.remove_if(&peer.id(), |_, connected| connected.groups.is_empty()) {
            self.forget_id(&connected.id, peer);
        }
    }

    /// Removes a client whose connection ended from all its groups.
    pub(crate) fn connection_closed(&self, peer: &Peer) {
        if let Some((_, connected)) = self.by_peer.remove(&peer.id()) {
            connected.groups.iter().for_each(|group| self.remove_member(group, peer));
            self.forget_id(&connected.id, peer);
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

    fn remove_member(&self, group: &str, peer: &Peer) {
        if let Some(mut members) = self.groups.get_mut(group) {
            members.remove(peer);
        }
        self.groups.remove_if(group, |_, members| members.is_empty());
    }

    /// A client that came back on another connection keeps its id.
    fn forget_id(&self, id: &str, peer: &Peer) {
        self.by_id.remove_if(id, |_, known| known.id() == peer.id());
    }
}
