//! Filter servers: processes beside old brokers that ran filters written in Java. They are listed in routes and otherwise
//! left alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use apogee_remoting::server::Peer;
use parking_lot::Mutex;

/// The filter servers that are connected, by connection.
#[derive(Default)]
pub(crate) struct FilterServers(Mutex<BTreeMap<u64, FilterServer>>);

struct FilterServer {
    peer: Arc<Peer>,
    address: String,
    /// When it was last heard of, ms since the epoch.
    seen: i64,
}

impl FilterServers {
    /// Takes up a filter server or notes that it lives; says whether it is new.
    pub(crate) fn register(&self, peer: &Arc<Peer>, address: &str, now: i64) -> bool {
        let mut servers = self.0.lock();
        if let Some(server) = servers.get_mut(&peer.id()) {
            server.seen = now;
            return false;
        }
        let server = FilterServer { peer: Arc::clone(peer), address: address.to_owned(), seen: now };
        servers.insert(peer.id(), server);
        true
    }

    /// Forgets the filter server of a connection that ended; says whether there was one.
    pub(crate) fn connection_closed(&self, peer: &Peer) -> bool {
        self.0.lock().remove(&peer.id()).is_some()
    }

    /// Closes the connections of those that have been silent for too long; their end removes them.
    pub(crate) fn close_silent(&self, now: i64) {
        for server in self.0.lock().values().filter(|server| now - server.seen > LONGEST_SILENCE) {
            tracing::warn!(address = server.address, "closing a silent filter server");
            server.peer.close();
        }
    }

    /// Their addresses.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.0.lock().values().map(|server| server.address.clone()).collect()
    }
}

/// As in the reference (4.9.4), ms.
const LONGEST_SILENCE: i64 = 30_000;
