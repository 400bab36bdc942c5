//! Controller: how a broker gets its id, codes 1003, 1012, 1013.

use crate::header;

header! {
    /// Header of the request CONTROLLER_GET_NEXT_BROKER_ID (1012).
    pub struct GetNextBrokerIdRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
    }
}

header! {
    /// Header of the response to CONTROLLER_GET_NEXT_BROKER_ID (1012).
    pub struct GetNextBrokerIdResponseHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Next free broker id.
        pub next_broker_id: Option<i64> = "nextBrokerId",
    }
}

header! {
    /// Header of the request CONTROLLER_APPLY_BROKER_ID (1013).
    pub struct ApplyBrokerIdRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Broker id asked for.
        pub applied_broker_id: Option<i64> = "appliedBrokerId",
        /// Code that the broker chose to prove itself.
        pub register_check_code: Option<&'a str> = "registerCheckCode",
    }
}

header! {
    /// Header of the response to CONTROLLER_APPLY_BROKER_ID (1013).
    pub struct ApplyBrokerIdResponseHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
    }
}

header! {
    /// Header of the request CONTROLLER_REGISTER_BROKER (1003).
    pub struct RegisterBrokerToControllerRequestHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
        /// Broker id; 0 is the master.
        pub broker_id: Option<i64> = "brokerId",
        /// Address of the broker, host:port.
        pub broker_address: Option<&'a str> = "brokerAddress",
        /// When it was called, ms.
        #[default(0)]
        pub invoke_time: i64 = "invokeTime",
    }
}

header! {
    /// Header of the response to CONTROLLER_REGISTER_BROKER (1003).
    pub struct RegisterBrokerToControllerResponseHeader<'a> {
        /// Cluster.
        pub cluster_name: Option<&'a str> = "clusterName",
        /// Broker name.
        pub broker_name: Option<&'a str> = "brokerName",
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
