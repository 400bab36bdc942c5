//! The broker's state: each part has one owner, and this holds them together.

use std::net::SocketAddr;
use std::sync::Arc;

use apogee_config::state_file::StateFile;
use apogee_remoting::client::{Client, NameServers};
use apogee_remoting::message::id::UniqueIds;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_store::Store;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::assignment::Routes;
use crate::client::{Consumers, Producers};
use crate::clock::Clock;
use crate::filter::{FilterServers, Filters};
use crate::group::GroupTable;
use crate::lock::QueueLocks;
use crate::offset::OffsetTable;
use crate::pull::HeldPulls;
use crate::readers::Readers;
use crate::registration::TopicChanges;
use crate::replication::Replication;
use crate::request_mode::RequestModes;
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::stats::Stats;
use crate::timer::Timer;
use crate::topic::TopicTable;
use crate::transaction::Transactions;

/// Everything that handlers and the broker's own tasks share.
pub(crate) struct Broker {
    pub(crate) settings: ArcSwap<Settings>,
    /// Version of the configuration; held through every change of it.
    pub(crate) settings_version: Mutex<DataVersion>,
    pub(crate) clock: Clock,
    pub(crate) store: Arc<Store>,
    pub(crate) topics: TopicTable,
    pub(crate) topic_changes: Arc<TopicChanges>,
    pub(crate) groups: GroupTable,
    pub(crate) offsets: OffsetTable,
    pub(crate) offsets_file: StateFile,
    pub(crate) producers: Producers,
    pub(crate) consumers: Consumers,
    pub(crate) filters: Arc<Filters>,
    pub(crate) filter_servers: FilterServers,
    pub(crate) locks: QueueLocks,
    pub(crate) held_pulls: Arc<HeldPulls>,
    pub(crate) readers: Readers,
    pub(crate) schedule: Schedule,
    pub(crate) transactions: Transactions,
    /// Queues of topics on all brokers, for clients that let this one share them out.
    pub(crate) routes: Routes,
    pub(crate) request_modes: RequestModes,
    pub(crate) replication: Replication,
    pub(crate) timer: Timer,
    pub(crate) stats: Stats,
    /// When this broker started, ms since the epoch.
    pub(crate) boot_time: i64,
    /// Connections to name servers and to other brokers.
    pub(crate) client: Arc<Client>,
    pub(crate) name_servers: NameServers,
    pub(crate) unique_ids: UniqueIds,
    /// `brokerIP1:listenPort`, by which clients find this broker.
    pub(crate) address: String,
    /// `brokerIP2:haListenPort`, by which slaves find it.
    pub(crate) ha_address: String,
    /// The same as `address`, as records hold it.
    pub(crate) store_host: SocketAddr,
}

impl Broker {
    /// The configuration as it is now.
    pub(crate) fn settings(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }

    /// Notes how far a group has consumed; says whether it is noted, see [`OffsetTable::commit`].
    pub(crate) fn commit_offset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) -> bool {
        let step = self.settings().broker.consumer_offset_update_version_step;
        self.offsets.commit(group, topic, queue_id, offset, step.max(1) as u64)
    }

    /// Now, ms since the epoch.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }
}
