//! Masters and slaves: what this broker is to others of its name.
//!
//! The log goes over connections of its own (`apogee_replication`). What stands in the tables of a master, its slaves ask for by
//! requests ([`copy`]).

mod acting;
mod attach;
mod comeback;
mod copy;
mod membership;
mod quorum;
mod requests;
mod status;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use apogee_config::{BrokerRole, BrokerSettings, MessageStoreConfig};
use apogee_remoting::protocol::register::RegisterBrokerResponseHeader;
use apogee_replication::master::Master;
use apogee_replication::slave::Replica;
use apogee_replication::{CurrentOptions, Options};
use apogee_store::Store;
use tokio::sync::watch;

pub(crate) use acting::{NotTaken, send_elsewhere};
pub(crate) use attach::follow;
pub(crate) use comeback::before_registration;
pub(crate) use copy::copy_for_ever;
pub(crate) use membership::keep_membership;
pub(crate) use quorum::{Quorum, check_members};
pub(crate) use requests::{exchange_addresses, notice_min_broker_id, reset_master_flushed};
pub(crate) use status::get_status;

/// Broker id of a master.
pub(crate) const MASTER_ID: i64 = 0;

/// This broker's part in replication.
pub(crate) struct Replication {
    options: CurrentOptions,
    /// Serves the slaves of this broker; a slave may have some, too.
    pub(crate) master: Master,
    /// Follows a master, if this is a slave.
    pub(crate) replica: Option<Replica>,
    /// Address of the master's broker port.
    master_address: watch::Sender<Option<String>>,
    /// Whether the address for replication is that of `haMasterAddress`, whatever name servers say.
    is_fixed: bool,
    /// Smallest id of the living brokers of this name.
    min_broker_id: AtomicI64,
    /// Brokers of this name that live, this one among them.
    members: AtomicI64,
    /// Whether this broker does what only one of its name may do.
    acting: watch::Sender<bool>,
    /// Messages that others took while this slave acted, and attempts.
    sent_elsewhere: AtomicUsize,
    /// End of the log at the start, which slaves may ask for.
    initial_max_offset: i64,
}

impl Replication {
    /// The part that the configuration says.
    pub(crate) fn new(settings: &BrokerSettings, store: &Arc<Store>) -> Self {
        let options = CurrentOptions::from(Options::from_config(&settings.store));
        let fixed = settings.store.ha_master_address.as_deref().filter(|address| address.len() >= SHORTEST_ADDRESS);
        let is_fixed = fixed.is_some();
        let is_slave = settings.store.broker_role == BrokerRole::Slave;
        let replica = is_slave.then(|| {
            store.set_refused(Some("this is a slave"));
            let replica = Replica::new(Arc::clone(store), options.clone());
            replica.set_master(fixed);
            replica
        });
        Self {
            master: Master::new(Arc::clone(store), options.clone()),
            options,
            replica,
            master_address: watch::Sender::new(None),
            is_fixed,
            min_broker_id: AtomicI64::new(MASTER_ID),
            members: AtomicI64::new(i64::from(settings.store.total_replicas)),
            acting: watch::Sender::new(!is_slave && !comeback::may_be_replaced(settings)),
            sent_elsewhere: AtomicUsize::new(0),
            initial_max_offset: store.max_physical_offset(),
        }
    }

    /// Takes over a changed configuration.
    pub(crate) fn change(&self, config: &MessageStoreConfig) {
        self.options.set(Options::from_config(config));
    }

    /// Takes what a name server says of the master of this broker.
    pub(crate) fn registered(&self, answer: &RegisterBrokerResponseHeader<'_>) {
        // One that does not know the master says nothing.
        let (Some(ha_address), Some(address)) = (answer.ha_server_addr, answer.master_addr) else { return };
        self.set_master(ha_address, Some(address));
    }

    /// Follows a master, whose broker port may not be known.
    fn set_master(&self, ha_address: &str, address: Option<&str>) {
        let Some(replica) = &self.replica else { return };
        if !self.is_fixed {
            replica.set_master(Some(ha_address));
        }
        self.master_address.send_replace(address.map(str::to_owned));
    }

    /// Follows nobody until a master is named again.
    fn forget_master(&self) {
        if let Some(replica) = self.replica.as_ref().filter(|_| !self.is_fixed) {
            replica.set_master(None);
        }
        self.master_address.send_replace(None);
    }

    /// Address of the master's broker port, once a name server told it.
    fn master_address(&self) -> Option<String> {
        self.master_address.borrow().clone()
    }

    /// Whether this is a slave whose master lives, so that its consumers had better read from there.
    pub(crate) fn has_living_master(&self) -> bool {
        let is_heard = |replica: &Replica| replica.status().since_read().is_some();
        self.replica.as_ref().is_some_and(is_heard) && self.min_broker_id.load(Ordering::Relaxed) == MASTER_ID
    }
}

/// A shorter value of `haMasterAddress` is none, as in the reference.
const SHORTEST_ADDRESS: usize = 6;
