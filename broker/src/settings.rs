//! The configuration at one moment.

use std::ops::Deref;

use apogee_config::BrokerSettings;
use apogee_remoting::message::properties::{Properties, PropertiesBuf, key};

/// The configuration, and what each message would have to put together from it.
pub(crate) struct Settings {
    settings: BrokerSettings,
    /// As text.
    own_properties: Vec<u8>,
}

impl Settings {
    /// Properties that the broker gives to each message that is sent alone (trap 13).
    pub(crate) fn own_properties(&self) -> Properties<'_> {
        Properties::new(&self.own_properties)
    }
}

impl From<BrokerSettings> for Settings {
    fn from(settings: BrokerSettings) -> Self {
        let mut own = PropertiesBuf::default();
        own.push(key::MSG_REGION, &settings.broker.region_id)
            .push(key::TRACE_ON, if settings.broker.trace_on { "true" } else { "false" })
            .push(key::CLUSTER, &settings.broker.broker_cluster_name);
        Self { settings, own_properties: own.into_bytes() }
    }
}

impl Deref for Settings {
    type Target = BrokerSettings;

    fn deref(&self) -> &BrokerSettings {
        &self.settings
    }
}
