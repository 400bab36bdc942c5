//! News for the members of a broker set: who has the smallest id now.

use std::sync::Arc;

use super::broker_set::BrokerSet;

/// The smallest broker id of a set changed (pushed as code 905, NOTIFY_MIN_BROKER_ID_CHANGE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinBrokerChanged {
    /// Addresses of the brokers to tell.
    pub recipients: Vec<Arc<str>>,
    /// The new smallest id.
    pub min_id: i64,
    /// Address of the broker with that id.
    pub min_address: Arc<str>,
    /// The broker that left, when that was the reason.
    pub offline_address: Option<Arc<str>>,
    /// Replication address of the broker that came, when that was the reason.
    pub ha_address: Option<Arc<str>>,
}

impl MinBrokerChanged {
    /// A broker with a smaller id than all others came: the others are told, or itself when it is alone.
    pub fn after_arrival(set: &BrokerSet, ha_address: Option<Arc<str>>) -> Option<Self> {
        let (min_id, first) = set.members.first_key_value()?;
        let alone = set.members.len() == 1;
        let told = set.members.iter().filter(|(id, _)| alone || *id != min_id);
        Some(Self {
            recipients: told.map(|(_, member)| Arc::clone(&member.address)).collect(),
            min_id: *min_id,
            min_address: Arc::clone(&first.address),
            offline_address: None,
            ha_address,
        })
    }

    /// The broker with the smallest id left: everybody who remains is told.
    pub fn after_loss(set: &BrokerSet, offline: Arc<str>) -> Option<Self> {
        let (min_id, first) = set.members.first_key_value()?;
        Some(Self {
            recipients: set.members.values().map(|member| Arc::clone(&member.address)).collect(),
            min_id: *min_id,
            min_address: Arc::clone(&first.address),
            offline_address: Some(offline),
            ha_address: None,
        })
    }
}
