//! How many slaves have to have a message before its producer is answered.

use std::sync::atomic::Ordering;
use std::time::Duration;

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::message::properties::{Properties, key};
use apogee_remoting::{Command, ResponseCode};
use tokio::time::timeout;

use super::Replication;
use crate::Broker;
use crate::answer::Refusal;

/// What a message waits for besides the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quorum {
    /// So many slaves, for so long.
    Slaves(usize, Duration),
    /// A slave, and none is near enough to wait for.
    Unavailable,
}

impl Quorum {
    /// What a message that ends at a physical offset waits for; `None` for nothing. Only producers of a SYNC_MASTER wait.
    ///
    /// As in 5.5.0 the master is one of the `inSyncReplicas`, so that by default nobody waits. A configuration of 4.9.x,
    /// which has the key `haSlaveFallbehindMax`, means what it meant there: one slave, if one is that near.
    pub(crate) fn of(broker: &Broker, settings: &BrokerSettings, end: i64) -> Option<Self> {
        let store = &settings.store;
        if store.broker_role != BrokerRole::SyncMaster || store.duplication_enable {
            return None;
        }
        let limit = Duration::from_millis(store.slave_timeout.max(1) as u64);
        if let Some(gap) = settings.unknown.get(FALL_BEHIND) {
            let gap = gap.trim().parse().unwrap_or(FALL_BEHIND_DEFAULT);
            let is_near = broker.replication.master.slaves().count_within(gap, end) > 0;
            return Some(if is_near { Self::Slaves(1, limit) } else { Self::Unavailable });
        }
        let needed = if settings.broker.enable_slave_acting_master {
            needed(settings, broker.replication.in_sync(settings, end))
        } else {
            i64::from(store.in_sync_replicas)
        };
        (needed > 1).then_some(Self::Slaves((needed - 1) as usize, limit))
    }

    /// Waits for a message that ends at a physical offset. It is stored all the same when that fails, and the producer is told
    /// so.
    pub(crate) async fn wait(self, broker: &Broker, answer: Command, end: i64) -> Command {
        let code = match self {
            Self::Unavailable => ResponseCode::SLAVE_NOT_AVAILABLE,
            Self::Slaves(count, limit) => {
                match timeout(limit, broker.replication.master.acknowledged(end, count)).await {
                    Ok(()) => return answer,
                    Err(_) => ResponseCode::FLUSH_SLAVE_TIMEOUT,
                }
            }
        };
        Command { code: code.0, ..answer }
    }
}

/// Refuses a message with these properties that too few brokers of this name could take. Only where slaves may act for their
/// master.
pub(crate) fn check_members(broker: &Broker, settings: &BrokerSettings, properties: &str) -> Result<(), Refusal> {
    let (store, config) = (&settings.store, &settings.broker);
    if store.broker_role != BrokerRole::SyncMaster || !config.enable_slave_acting_master || store.duplication_enable {
        return Ok(());
    }
    if Properties::new(properties.as_bytes()).get(key::WAIT) == Some(b"false") {
        return Ok(());
    }
    let in_sync = broker.replication.in_sync(settings, broker.store.max_physical_offset());
    if needed(settings, in_sync) > in_sync {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "in-sync replicas not enough"));
    }
    Ok(())
}

impl Replication {
    /// Brokers that have the log up to an offset, but for `haMaxGapNotInSync` bytes, this one among them.
    fn in_sync(&self, settings: &BrokerSettings, end: i64) -> i64 {
        let slaves = self.master.slaves().count_within(i64::from(settings.store.ha_max_gap_not_in_sync), end);
        self.members.load(Ordering::Relaxed).min(slaves as i64 + 1)
    }
}

/// How many have to have a message, this broker among them, where `in_sync` could.
fn needed(settings: &BrokerSettings, in_sync: i64) -> i64 {
    let wanted = i64::from(settings.store.in_sync_replicas);
    if settings.store.enable_auto_in_sync_replicas {
        wanted.min(in_sync).max(i64::from(settings.store.min_in_sync_replicas))
    } else {
        wanted
    }
}

/// The key of 4.9.x, and its default in bytes.
const FALL_BEHIND: &str = "haSlaveFallbehindMax";
const FALL_BEHIND_DEFAULT: i64 = 256 << 20;
