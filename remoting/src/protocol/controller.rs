//! Controller: elections and replica state, codes 1001, 1002, 1004 to 1006, 1008, 1011.

use std::collections::BTreeMap;

use super::body::body;
use super::register::BrokerMemberGroup;
use crate::header;

header! {
    /// Header of the request CONTROLLER_ALTER_SYNC_STATE_SET (1001).
    pub struct AlterSyncStateSetRequestHeader<'a> {
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Broker id of the master.
        pub master_broker_id: Option<i64> = "masterBrokerId",
        /// Epoch of the master.
        pub master_epoch: Option<i32> = "masterEpoch",
        /// When it was called, ms.
        pub invoke_time: Option<i64> = "invokeTime",
    }
}

header! {
    /// Header of the response to CONTROLLER_ALTER_SYNC_STATE_SET (1001).
    pub struct AlterSyncStateSetResponseHeader {
        /// New sync state set epoch.
        #[default(0)]
        pub new_sync_state_set_epoch: i32 = "newSyncStateSetEpoch",
    }
}

header! {
    /// Header of the request CONTROLLER_ELECT_MASTER (1002).
    pub struct ElectMasterRequestHeader<'a> {
        /// Cluster.
        #[default("")]
        pub cluster_name: &'a str = "clusterName",
        /// Broker name.
        #[default("")]
        pub broker_name: &'a str = "brokerName",
        /// Broker id; 0 is the master.
        #[default(-1)]
        pub broker_id: i64 = "brokerId",
        /// Whether this very broker is to be elected.
        #[default(false)]
        pub designate_elect: bool = "designateElect",
        /// When it was called, ms.
        pub invoke_time: Option<i64> = "invokeTime",
    }
}

header! {
    /// Header of the response to CONTROLLER_ELECT_MASTER (1002).
    pub struct ElectMasterResponseHeader<'a> {
        /// Broker id of the master.
        pub master_broker_id: Option<i64> = "masterBrokerId",
        /// Address of the master, host:port.
        pub master_address: Option<&'a str> = "masterAddress",
        /// Epoch of the master.
        pub master_epoch: Option<i32> = "masterEpoch",
        /// Epoch of the set of replicas in sync.
        pub sync_state_set_epoch: Option<i32> = "syncStateSetEpoch",
    }
}

header! {
    /// Header of the response to CONTROLLER_GET_METADATA_INFO (1005).
    pub struct GetMetaDataResponseHeader<'a> {
        /// Name of the group of controllers.
        pub group: Option<&'a str> = "group",
        /// Id of the leading controller.
        pub controller_leader_id: Option<&'a str> = "controllerLeaderId",
        /// Address of the leading controller.
        pub controller_leader_address: Option<&'a str> = "controllerLeaderAddress",
        /// Whether the answering controller leads.
        #[default(false)]
        pub is_leader: bool = "isLeader",
        /// Controllers of the group.
        pub peers: Option<&'a str> = "peers",
    }
}

header! {
    /// Header of the request CONTROLLER_GET_REPLICA_INFO (1004).
    pub struct GetReplicaInfoRequestHeader<'a> {
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
    }
}

header! {
    /// Header of the response to CONTROLLER_GET_REPLICA_INFO (1004).
    pub struct GetReplicaInfoResponseHeader<'a> {
        /// Broker id of the master.
        pub master_broker_id: Option<i64> = "masterBrokerId",
        /// Address of the master, host:port.
        pub master_address: Option<&'a str> = "masterAddress",
        /// Epoch of the master.
        pub master_epoch: Option<i32> = "masterEpoch",
    }
}

header! {
    /// Header of the request NOTIFY_BROKER_ROLE_CHANGED (1008).
    pub struct NotifyBrokerRoleChangedRequestHeader<'a> {
        /// Address of the master, host:port.
        pub master_address: Option<&'a str> = "masterAddress",
        /// Epoch of the master.
        pub master_epoch: Option<i32> = "masterEpoch",
        /// Epoch of the set of replicas in sync.
        pub sync_state_set_epoch: Option<i32> = "syncStateSetEpoch",
        /// Broker id of the master.
        pub master_broker_id: Option<i64> = "masterBrokerId",
    }
}

header! {
    /// Header of the request CLEAN_BROKER_DATA (1011).
    pub struct CleanControllerBrokerDataRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
        /// Broker ids, separated by semicolons.
        pub broker_controller_ids_to_clean: Option<&'a str> = "brokerControllerIdsToClean",
        /// Whether living brokers are cleaned, too.
        #[default(false)]
        pub is_clean_living_broker: bool = "isCleanLivingBroker",
        /// When it was called, ms.
        pub invoke_time: Option<i64> = "invokeTime",
    }
}

body! {
    /// Broker ids of the replicas in sync: body of 1001, 1003, 1004, 1008.
    pub struct SyncStateSet {
        /// Broker ids of the replicas in sync.
        pub sync_state_set: Vec<i64>,
        /// Epoch of the set of replicas in sync.
        pub sync_state_set_epoch: i32,
    }
}

body! {
    /// A new master, as the controller tells it.
    pub struct RoleChangeNotifyEntry {
        /// The brokers of that name.
        pub broker_member_group: Option<BrokerMemberGroup>,
        /// Address of the master, host:port.
        pub master_address: String,
        /// Broker id of the master.
        pub master_broker_id: Option<i64>,
        /// Epoch of the master.
        pub master_epoch: i32,
        /// Broker ids of the replicas in sync.
        pub sync_state_set: Vec<i64>,
        /// Epoch of the set of replicas in sync.
        pub sync_state_set_epoch: i32,
    }
}

body! {
    /// Body of the response to CONTROLLER_ELECT_MASTER (1002).
    pub struct ElectMasterResponseBody {
        /// The brokers of that name.
        pub broker_member_group: Option<BrokerMemberGroup>,
        /// Broker ids of the replicas in sync.
        pub sync_state_set: Vec<i64>,
    }
}

body! {
    /// Body of the response to CONTROLLER_GET_SYNC_STATE_DATA (1006).
    pub struct BrokerReplicasInfo {
        /// Replicas by broker name.
        pub replicas_info_table: BTreeMap<String, ReplicasInfo>,
    }
}

body! {
    /// Replicas of a broker name.
    pub struct ReplicasInfo {
        /// Replicas in sync.
        pub in_sync_replicas: Vec<ReplicaIdentity>,
        /// Address of the master, host:port.
        pub master_address: String,
        /// Broker id of the master.
        pub master_broker_id: Option<i64>,
        /// Epoch of the master.
        pub master_epoch: Option<i32>,
        /// Replicas that are behind.
        pub not_in_sync_replicas: Vec<ReplicaIdentity>,
        /// Epoch of the set of replicas in sync.
        pub sync_state_set_epoch: Option<i32>,
    }
}

body! {
    /// A replica.
    pub struct ReplicaIdentity {
        /// Whether it lives.
        pub alive: Option<bool>,
        /// Address of the broker, host:port.
        pub broker_address: String,
        /// Broker id; 0 is the master.
        pub broker_id: Option<i64>,
        /// Broker name.
        pub broker_name: String,
    }
}
