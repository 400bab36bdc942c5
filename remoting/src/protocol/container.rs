//! Brokers of a broker container: codes 902 and 903.

use crate::header;

header! {
    /// Header of the request ADD_BROKER (902).
    pub struct AddBrokerRequestHeader<'a> {
        /// Path of the configuration file.
        pub config_path: Option<&'a str> = "configPath",
    }
}

header! {
    /// Header of the request REMOVE_BROKER (903).
    pub struct RemoveBrokerRequestHeader<'a> {
        /// Broker name.
        pub broker_name: &'a str = "brokerName",
        /// Cluster.
        pub broker_cluster_name: Option<&'a str> = "brokerClusterName",
        /// Broker id; 0 is the master.
        pub broker_id: i64 = "brokerId",
    }
}
