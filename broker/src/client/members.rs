//! The members of one group of producers or consumers.

use std::collections::HashMap;
use std::sync::Arc;

use apogee_remoting::command::Language;
use apogee_remoting::server::Peer;

/// A client on one connection.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) peer: Arc<Peer>,
    /// What the client calls itself.
    pub(crate) id: String,
    pub(crate) language: Language,
    pub(crate) version: i32,
    /// Time of the last heartbeat, ms since the epoch.
    pub(crate) seen: i64,
}

/// Clients by connection.
#[derive(Default)]
pub(crate) struct Members(HashMap<u64, Client>);

impl Members {
    /// Takes up a client or notes that it lives; says whether it is new.
    pub(crate) fn heartbeat(&mut self, client: &Client) -> bool {
        self.0.insert(client.peer.id(), client.clone()).is_none()
    }

    /// Says whether the client was there.
    pub(crate) fn remove(&mut self, peer: &Peer) -> bool {
        self.0.remove(&peer.id()).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.values()
    }

    pub(crate) fn peers(&self) -> Vec<Arc<Peer>> {
        self.iter().map(|client| Arc::clone(&client.peer)).collect()
    }

    /// Closes the connections of clients not heard of since before `oldest`; their end removes them.
    pub(crate) fn close_silent(&self, oldest: i64, group: &str) {
        for client in self.iter().filter(|client| client.seen < oldest) {
            tracing::warn!(group, client = client.id, address = %client.peer.address(), "closing a silent client");
            client.peer.close();
        }
    }
}
