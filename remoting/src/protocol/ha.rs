//! Master and slave: codes 906 to 908, 1007.

use super::body::body;
use crate::header;

header! {
    /// Header of the request EXCHANGE_BROKER_HA_INFO (906).
    pub struct ExchangeHAInfoRequestHeader<'a> {
        /// Address for replication of the master.
        pub master_ha_address: Option<&'a str> = "masterHaAddress",
        /// Physical offset that the master has flushed.
        pub master_flush_offset: Option<i64> = "masterFlushOffset",
        /// Address of the master, host:port.
        pub master_address: Option<&'a str> = "masterAddress",
    }
}

header! {
    /// Header of the response to EXCHANGE_BROKER_HA_INFO (906).
    pub struct ExchangeHAInfoResponseHeader<'a> {
        /// Address for replication of the master.
        pub master_ha_address: Option<&'a str> = "masterHaAddress",
        /// Physical offset that the master has flushed.
        pub master_flush_offset: Option<i64> = "masterFlushOffset",
        /// Address of the master, host:port.
        pub master_address: Option<&'a str> = "masterAddress",
    }
}

header! {
    /// Header of the request RESET_MASTER_FLUSH_OFFSET (908).
    pub struct ResetMasterFlushOffsetHeader {
        /// Physical offset that the master has flushed.
        pub master_flush_offset: i64 = "masterFlushOffset",
    }
}

body! {
    /// Body of the response to GET_BROKER_HA_STATUS (907).
    pub struct HARuntimeInfo {
        /// Replication of this slave.
        pub ha_client_runtime_info: HAClientRuntimeInfo,
        /// The slaves.
        pub ha_connection_info: Vec<HAConnectionRuntimeInfo>,
        /// Slaves in sync.
        pub in_sync_slave_nums: i32,
        /// Whether it is the master.
        pub master: bool,
        /// Physical offset behind the last byte of the master.
        pub master_commit_log_max_offset: i64,
    }
}

body! {
    /// A slave as its master sees it.
    pub struct HAConnectionRuntimeInfo {
        /// Address, host:port.
        pub addr: String,
        /// Bytes that the slave is behind.
        pub diff: i64,
        /// Whether it is in sync.
        pub in_sync: bool,
        /// Physical offset that the slave confirmed.
        pub slave_ack_offset: i64,
        /// Physical offset at which replication to it began.
        pub transfer_from_where: i64,
        /// Bytes replicated per second.
        pub transferred_byte_in_second: i64,
    }
}

body! {
    /// The replication of a slave.
    pub struct HAClientRuntimeInfo {
        /// Last read from the master, ms.
        pub last_read_timestamp: i64,
        /// Last report to the master, ms.
        pub last_write_timestamp: i64,
        /// Address of the master, host:port.
        pub master_addr: String,
        /// Physical offset that the master has flushed.
        pub master_flush_offset: i64,
        /// Physical offset behind the last byte of the slave.
        pub max_offset: i64,
        /// Bytes replicated per second.
        pub transferred_byte_in_second: i64,
    }
}

body! {
    /// What a slave asks of its master.
    pub struct BrokerSyncInfo {
        /// Address of the master, host:port.
        pub master_address: String,
        /// Physical offset that the master has flushed.
        pub master_flush_offset: i64,
        /// Address for replication of the master.
        pub master_ha_address: String,
    }
}

body! {
    /// Body of the response to GET_BROKER_EPOCH_CACHE (1007).
    pub struct EpochEntryCache {
        /// Broker id; 0 is the master.
        pub broker_id: i64,
        /// Broker name.
        pub broker_name: String,
        /// Cluster.
        pub cluster_name: String,
        /// Epochs.
        pub epoch_list: Vec<EpochEntry>,
        /// Physical offset behind the last byte of the broker.
        pub max_offset: i64,
    }
}

body! {
    /// Where an epoch lies in the commit log.
    pub struct EpochEntry {
        /// Physical offset behind the last byte.
        pub end_offset: i64,
        /// Epoch.
        pub epoch: i32,
        /// Physical offset of the first byte.
        pub start_offset: i64,
    }
}
