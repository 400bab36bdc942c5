//! The consumer groups of this broker.

use std::collections::BTreeMap;
use std::sync::Arc;

use apogee_config::state_file::StateFile;
use apogee_config::{BrokerConfig, BrokerSettings};
use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::group::{SubscriptionGroupConfig, SubscriptionGroupWrapper};
use apogee_store::light::is_light;
use parking_lot::RwLock;

use crate::clock::Clock;
use crate::saved_table::{Entries, Entry, SaveError, SavedTable, Saving};
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

/// What is forbidden, as a bit mask by group and topic. Almost always empty.
type Forbidden = Arc<RwLock<BTreeMap<String, BTreeMap<String, i32>>>>;

/// All groups.
pub(crate) struct GroupTable {
    groups: Arc<SavedTable<SubscriptionGroupConfig>>,
    forbidden: Forbidden,
    /// Whether groups named like light queues are there (enableLmq). None of them is in the table.
    has_light: bool,
}

impl GroupTable {
    /// The table of a file, with the broker's own groups.
    pub(crate) fn new(
        file: StateFile,
        saved: SubscriptionGroupWrapper,
        settings: &BrokerSettings,
        clock: Clock,
    ) -> Self {
        let own = OWN_GROUPS.into_iter().map(named);
        let groups = own.chain(saved.subscription_group_table.into_values());
        let groups = groups.map(|group| (group.group_name.clone(), group));
        let forbidden = Arc::new(RwLock::new(saved.forbidden_table));
        let written = Arc::clone(&forbidden);
        let encode = move |version, groups| json::to_vec_pretty(&wrapped(version, groups, &written));
        let groups = SavedTable::new(file, saved.data_version, groups, clock, encode, |_| {});
        Self { groups, forbidden, has_light: settings.store.enable_lmq }
    }

    /// The configuration of a group.
    pub(crate) fn get(&self, group: &str) -> Option<Arc<SubscriptionGroupConfig>> {
        if self.has_light && is_light(group) {
            return Some(Arc::new(named(group)));
        }
        self.groups.get(group)
    }

    /// The configuration of a group, which is created with the defaults where that is allowed and the
    /// name is a good one. `None` if not.
    ///
    /// Nobody waits until it is on disk: one that is lost is created again on its next use, and a full disk is still read.
    pub(crate) fn find_or_create(&self, group: &str, settings: &BrokerConfig) -> Option<Arc<SubscriptionGroupConfig>> {
        self.find_or_create_told(group, settings).map(|(config, _)| config)
    }

    /// The same; also says whether it is new.
    pub(crate) fn find_or_create_told(
        &self,
        group: &str,
        settings: &BrokerConfig,
    ) -> Option<(Arc<SubscriptionGroupConfig>, bool)> {
        if let Some(config) = self.get(group) {
            return Some((config, false));
        }
        let is_own = settings.enable_create_sys_group && group.starts_with(SYSTEM_GROUP_PREFIX);
        if !(settings.auto_create_subscription_group || is_own) || names::check_group(group).is_err() {
            return None;
        }
        let groups = self.groups.lock();
        if let Some(config) = groups.get(group) {
            return Some((config, false));
        }
        // Where it cannot be written down, each pull makes it anew.
        if !groups.is_failing() {
            tracing::info!(group, "creating a consumer group on its first use");
        }
        let config = Arc::new(named(group));
        let is_new = groups.change([(group.to_owned(), Some(Arc::clone(&config)))]).later();
        Some((config, is_new))
    }

    /// Creates or replaces groups at an admin's wish; attributes are changes as with topics. Those of light queues stay
    /// as they are.
    ///
    /// # Errors
    /// The remark that says which attribute is not allowed.
    pub(crate) fn update(&self, mut configs: Vec<SubscriptionGroupConfig>) -> Result<Saving, String> {
        configs.retain(|config| !(self.has_light && is_light(&config.group_name)));
        if configs.is_empty() {
            return Ok(Saving::nothing());
        }
        let groups = self.groups.lock();
        let mut altered = Vec::with_capacity(configs.len());
        for mut config in configs {
            let current = groups.get(&config.group_name);
            let current = current.as_ref().map(|old| &old.attributes);
            config.attributes = attributes::alter(attributes::GROUP, current, &config.attributes)?;
            altered.push((config.group_name.clone(), Some(Arc::new(config))));
        }
        Ok(groups.change(altered))
    }

    /// Removes a group and what is forbidden to it, if it is there. For a thread that may wait.
    pub(crate) fn remove(&self, group: &str) -> Result<(), SaveError> {
        let groups = self.groups.lock();
        if groups.get(group).is_none() {
            return groups.pending(|name| name == group).wait();
        }
        let forbidden = self.forbidden.write().remove(group);
        groups.change([(group.to_owned(), None)]).wait().inspect_err(|_| self.set_forbidden(group, forbidden))
    }

    /// Ends when every change is on disk. For a thread that may wait.
    pub(crate) fn settle(&self) {
        self.groups.settle();
    }

    /// Becomes a copy of another broker's table.
    pub(crate) fn take_over(&self, theirs: SubscriptionGroupWrapper) -> Saving {
        let groups = self.groups.lock();
        *self.forbidden.write() = theirs.forbidden_table;
        groups.become_copy(theirs.data_version, theirs.subscription_group_table)
    }

    /// Whether a group may not read a topic.
    pub(crate) fn is_read_forbidden(&self, group: &str, topic: &str) -> bool {
        let forbidden = self.forbidden.read();
        forbidden.get(group).and_then(|topics| topics.get(topic)).is_some_and(|mask| mask & READ_FORBIDDEN != 0)
    }

    /// Forbids a group to read a topic, or allows it. For a thread that may wait.
    pub(crate) fn set_read_forbidden(&self, group: &str, topic: &str, forbid: bool) -> Result<(), SaveError> {
        let groups = self.groups.lock();
        let before = self.forbidden.read().get(group).cloned();
        let mut topics = before.clone().unwrap_or_default();
        let mask = topics.remove(topic).unwrap_or(0) & !READ_FORBIDDEN | if forbid { READ_FORBIDDEN } else { 0 };
        if mask != 0 {
            topics.insert(topic.to_owned(), mask);
        }
        self.set_forbidden(group, Some(topics));
        groups.change([]).wait().inspect_err(|_| self.set_forbidden(group, before))
    }

    fn set_forbidden(&self, group: &str, topics: Option<BTreeMap<String, i32>>) {
        let mut forbidden = self.forbidden.write();
        match topics.filter(|topics| !topics.is_empty()) {
            Some(topics) => forbidden.insert(group.to_owned(), topics),
            None => forbidden.remove(group),
        };
    }

    /// All groups, what is forbidden to them, and their version.
    pub(crate) fn snapshot(&self) -> SubscriptionGroupWrapper {
        let (version, groups) = self.groups.snapshot();
        wrapped(version, groups, &self.forbidden)
    }
}

/// Nobody waits for a group that comes to be by its use.
impl Entry for SubscriptionGroupConfig {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// In the form of the file and of the wire.
fn wrapped(
    data_version: DataVersion,
    groups: Entries<SubscriptionGroupConfig>,
    forbidden: &Forbidden,
) -> SubscriptionGroupWrapper {
    let named = groups.into_iter().map(|(name, config)| (name.to_string(), Arc::unwrap_or_clone(config)));
    SubscriptionGroupWrapper {
        data_version,
        forbidden_table: forbidden.read().clone(),
        subscription_group_table: named.collect(),
    }
}

fn named(group: impl Into<String>) -> SubscriptionGroupConfig {
    SubscriptionGroupConfig { group_name: group.into(), ..SubscriptionGroupConfig::default() }
}
