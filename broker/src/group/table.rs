//! The consumer groups of this broker.

use std::collections::BTreeMap;
use std::sync::Arc;

use apogee_config::BrokerConfig;
use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::group::{SubscriptionGroupConfig, SubscriptionGroupWrapper};
use dashmap::DashMap;
use parking_lot::{Mutex, RwLock};

use crate::clock::Clock;
use crate::{attributes, names};

/// Bit of the forbidden mask: the group may not read the topic (bit number 2).
const READ_FORBIDDEN: i32 = 4;

/// Groups that every broker has (constants, section 2).
const OWN_GROUPS: [&str; 8] = [
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_RMQ_SYS_TRANS",
];
const SYSTEM_GROUP_PREFIX: &str = "CID_RMQ_SYS_";

/// All groups. A change that cannot be written down is taken back.
pub(crate) struct GroupTable {
    groups: DashMap<Arc<str>, Arc<SubscriptionGroupConfig>>,
    /// What is forbidden, as a bit mask by group and topic. Almost always empty.
    forbidden: RwLock<BTreeMap<String, BTreeMap<String, i32>>>,
    /// Held through every change, so that versions and files follow one another.
    changes: Mutex<DataVersion>,
    file: StateFile,
    clock: Clock,
}

/// A change that could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroupError {
    /// The attributes asked for are not allowed.
    #[error("{0}")]
    Attributes(String),
    /// The change could not be written down.
    #[error(transparent)]
    Save(#[from] StateFileError),
}

impl GroupTable {
    /// The table of a file, with the broker's own groups.
    pub(crate) fn new(file: StateFile, saved: SubscriptionGroupWrapper, clock: Clock) -> Self {
        let own = OWN_GROUPS.into_iter().map(named);
        let groups = DashMap::new();
        for group in own.chain(saved.subscription_group_table.into_values()) {
            groups.insert(Arc::from(group.group_name.as_str()), Arc::new(group));
        }
        let forbidden = RwLock::new(saved.forbidden_table);
        Self { groups, forbidden, changes: Mutex::new(saved.data_version), file, clock }
    }

    /// The configuration of a group.
    pub(crate) fn get(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        self.groups.get(group).map(|config| Arc::clone(&config))
    }

    /// The configuration of a group, which is created with the defaults where that is allowed and the
    /// name is a good one. `None` if not.
    pub(crate) fn find_or_create(
        &self,
        group: &str,
        settings: &BrokerConfig,
    ) -> Result<Option<Arc<SubscriptionGroupConfig>>, GroupError> {
        if let Some(config) = self.get(group) {
            return Ok(Some(config));
        }
        let is_own = settings.enable_create_sys_group && group.starts_with(SYSTEM_GROUP_PREFIX);
        if !(settings.auto_create_subscription_group || is_own) || names::check_group(group).is_err() {
            return Ok(None);
        }
        let mut version = self.changes.lock();
        if let Some(config) = self.get(group) {
            return Ok(Some(config));
        }
        tracing::info!(group, "creating a consumer group on its first use");
        self.put(&mut version, vec![named(group)])?;
        Ok(self.get(group))
    }

    /// Creates or replaces groups at an admin's wish; attributes are changes as with topics.
    pub(crate) fn update(&self, configs: Vec<SubscriptionGroupConfig>) -> Result<(), GroupError> {
        let mut version = self.changes.lock();
        let mut altered = Vec::with_capacity(configs.len());
        for mut config in configs {
            let current = self.get(&config.group_name).map(|old| old.attributes.clone());
            config.attributes = attributes::alter(attributes::GROUP, current.as_ref(), &config.attributes)
                .map_err(GroupError::Attributes)?;
            altered.push(config);
        }
        self.put(&mut version, altered)
    }

    /// Removes a group and what is forbidden to it; says whether it was there.
    pub(crate) fn remove(&self, group: &str) -> Result<bool, GroupError> {
        let mut version = self.changes.lock();
        let Some((name, config)) = self.groups.remove(group) else { return Ok(false) };
        let forbidden = self.forbidden.write().remove(group);
        if let Err(error) = self.save(&mut version) {
            self.groups.insert(name, config);
            if let Some(forbidden) = forbidden {
                self.forbidden.write().insert(group.to_owned(), forbidden);
            }
            return Err(error.into());
        }
        Ok(true)
    }

    /// Whether a group may not read a topic.
    pub(crate) fn is_read_forbidden(&self, group: &str, topic: &str) -> bool {
        let forbidden = self.forbidden.read();
        forbidden.get(group).and_then(|topics| topics.get(topic)).is_some_and(|mask| mask & READ_FORBIDDEN != 0)
    }

    /// All groups, what is forbidden to them, and their version.
    pub(crate) fn snapshot(&self) -> SubscriptionGroupWrapper {
        self.snapshot_with(*self.changes.lock())
    }

    /// Puts groups in and writes all down; takes them back if that fails.
    fn put(&self, version: &mut DataVersion, configs: Vec<SubscriptionGroupConfig>) -> Result<(), GroupError> {
        let mut replaced = Vec::with_capacity(configs.len());
        for config in configs {
            let name: Arc<str> = Arc::from(config.group_name.as_str());
            let old = self.groups.insert(Arc::clone(&name), Arc::new(config));
            replaced.push((name, old));
        }
        self.save(version).map_err(|error| {
            for (name, old) in replaced.into_iter().rev() {
                match old {
                    Some(old) => drop(self.groups.insert(name, old)),
                    None => drop(self.groups.remove(&name)),
                }
            }
            error.into()
        })
    }

    /// Writes all down under a new version, which stands only if that succeeds.
    fn save(&self, version: &mut DataVersion) -> Result<(), StateFileError> {
        let mut next = *version;
        next.advance(0, self.clock.now());
        self.file.write(json::to_vec_pretty(&self.snapshot_with(next)))?;
        *version = next;
        Ok(())
    }

    fn snapshot_with(&self, data_version: DataVersion) -> SubscriptionGroupWrapper {
        SubscriptionGroupWrapper {
            data_version,
            forbidden_table: self.forbidden.read().clone(),
            subscription_group_table: self
                .groups
                .iter()
                .map(|group| (group.key().to_string(), SubscriptionGroupConfig::clone(&group)))
                .collect(),
        }
    }
}

fn named(group: impl Into<String>) -> SubscriptionGroupConfig {
    SubscriptionGroupConfig { group_name: group.into(), ..SubscriptionGroupConfig::default() }
}
