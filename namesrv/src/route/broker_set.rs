//! The brokers that share one name: a master and its slaves.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use apogee_remoting::protocol::data_version::DataVersion;

/// Id of a master; slaves have larger ones.
pub const MASTER_ID: i64 = 0;

/// All live brokers of one name, and what is known of them together.
///
/// Never empty while it is in the table: the set goes with its last member.
#[derive(Debug)]
pub struct BrokerSet {
    /// Cluster that the first of the present members named.
    pub cluster: Arc<str>,
    /// Zone that the last registration named.
    pub zone: Option<Arc<str>>,
    /// Whether a slave may stand in for a missing master (`enableActingMaster` of the last registration).
    pub acting_master: bool,
    /// Members by broker id.
    pub members: BTreeMap<i64, Member>,
    /// Topics that have queues here: the inverse of the topic table.
    pub topics: HashSet<Arc<str>>,
}

/// One live broker.
#[derive(Debug)]
pub struct Member {
    /// Cluster that this member named.
    pub cluster: Arc<str>,
    /// `host:port` for clients.
    pub address: Arc<str>,
    /// `host:port` for replication; what a slave is told about its master.
    pub ha_address: Option<Arc<str>>,
    /// Version of its topic configuration at the last registration.
    pub version: DataVersion,
    /// Time of the last sign of life, in ms of the server's clock. Atomic, so that a heartbeat needs no write lock.
    pub last_seen: AtomicI64,
    /// Silence in ms after which the member is gone.
    pub timeout: i64,
    /// Connection of the last registration; the member goes when it closes.
    pub connection: u64,
    /// Addresses of filter servers (4.x).
    pub filter_servers: Vec<String>,
}

impl BrokerSet {
    /// A set for its first member; the caller adds that at once.
    pub fn new(cluster: Arc<str>) -> Self {
        Self { cluster, zone: None, acting_master: false, members: BTreeMap::new(), topics: HashSet::new() }
    }

    /// The smallest broker id.
    pub fn min_id(&self) -> Option<i64> {
        self.members.keys().next().copied()
    }

    /// Whether the set has lost its master.
    pub fn lacks_master(&self) -> bool {
        !self.members.contains_key(&MASTER_ID)
    }

    /// Id of the member at `address`.
    pub fn id_of(&self, address: &str) -> Option<i64> {
        self.members.iter().find(|(_, member)| &*member.address == address).map(|(id, _)| *id)
    }

    /// Whether the set, or one of its members, names `cluster`.
    pub fn is_in(&self, cluster: &str) -> bool {
        &*self.cluster == cluster || self.members.values().any(|member| &*member.cluster == cluster)
    }
}

impl Member {
    /// Notes a sign of life at `now` (ms of the server's clock).
    pub fn seen(&self, now: i64) {
        self.last_seen.store(now, Ordering::Relaxed);
    }

    /// Whether the member has been silent for longer than its timeout.
    pub fn is_silent(&self, now: i64) -> bool {
        self.last_seen.load(Ordering::Relaxed).saturating_add(self.timeout) < now
    }
}
