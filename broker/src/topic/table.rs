//! The topics of this broker.

use std::collections::BTreeMap;
use std::sync::Arc;

use apogee_config::BrokerSettings;
use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::topic::{TopicConfig, TopicConfigSerializeWrapper};
use dashmap::DashMap;
use parking_lot::Mutex;

use super::{PERM_INHERIT, system};
use crate::attributes;
use crate::clock::Clock;
use crate::registration::TopicChanges;

/// All topics. Reads take no lock that writers hold for long; a change that cannot be written down is taken back.
pub(crate) struct TopicTable {
    topics: DashMap<Arc<str>, Arc<TopicConfig>>,
    /// Held through every change, so that versions and files follow one another.
    changes: Mutex<DataVersion>,
    file: StateFile,
    clock: Clock,
    /// Told of every change: the name servers have to learn of it.
    changes_to_tell: Arc<TopicChanges>,
}

/// A change that could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TopicError {
    /// The attributes asked for are not allowed.
    #[error("{0}")]
    Attributes(String),
    /// The change could not be written down.
    #[error(transparent)]
    Save(#[from] StateFileError),
}

impl TopicTable {
    /// The table of a file, with the broker's own topics where the file says nothing of them.
    pub(crate) fn new(
        file: StateFile,
        saved: TopicConfigSerializeWrapper,
        settings: &BrokerSettings,
        clock: Clock,
        changes_to_tell: Arc<TopicChanges>,
    ) -> Self {
        let topics = DashMap::new();
        let saved_topics = saved.topic_config_table.into_values();
        for config in system::topics(settings).into_iter().chain(saved_topics) {
            topics.insert(Arc::from(config.topic_name.as_str()), Arc::new(config));
        }
        Self { topics, changes: Mutex::new(saved.data_version), file, clock, changes_to_tell }
    }

    /// The configuration of a topic.
    pub(crate) fn get(&self, topic: &str) -> Option<Arc<TopicConfig>> {
        self.topics.get(topic).map(|config| Arc::clone(&config))
    }

    /// Whether the topic is there.
    pub(crate) fn contains(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    /// Creates a topic on the model of `model`, as an automatic creation by a send does: with at most
    /// `queues` queues, and only if the model may be inherited from. `None` if not.
    pub(crate) fn create_like(
        &self,
        topic: &str,
        model: &str,
        queues: i32,
        sys_flag: i32,
    ) -> Result<Option<Arc<TopicConfig>>, TopicError> {
        let mut version = self.changes.lock();
        if let Some(config) = self.get(topic) {
            return Ok(Some(config));
        }
        let Some(model) = self.get(model).filter(|model| model.perm & PERM_INHERIT != 0) else {
            tracing::warn!(topic, model, "a topic is not created: its model does not exist or may not be inherited");
            return Ok(None);
        };
        let queues = queues.min(model.write_queue_nums).max(0);
        let config = TopicConfig {
            topic_name: topic.to_owned(),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: model.perm & !PERM_INHERIT,
            topic_sys_flag: sys_flag,
            topic_filter_type: model.topic_filter_type,
            ..TopicConfig::default()
        };
        self.put(&mut version, [config])?;
        Ok(self.get(topic))
    }

    /// The topic, created as given if it is not there yet; of one that is there only `order` is brought in line.
    pub(crate) fn get_or_create(&self, wanted: TopicConfig) -> Result<Arc<TopicConfig>, TopicError> {
        let is_right = |config: &Arc<TopicConfig>| config.order == wanted.order;
        if let Some(config) = self.get(&wanted.topic_name).filter(is_right) {
            return Ok(config);
        }
        let mut version = self.changes.lock();
        let config = match self.get(&wanted.topic_name) {
            Some(config) if is_right(&config) => return Ok(config),
            Some(config) => TopicConfig { order: wanted.order, ..TopicConfig::clone(&config) },
            None => wanted,
        };
        let config = Arc::new(config);
        self.put(&mut version, [TopicConfig::clone(&config)])?;
        Ok(config)
    }

    /// Creates or replaces topics at an admin's wish. Attributes are changes (`+name=value`, `-name`) to those that are there.
    pub(crate) fn update(&self, configs: Vec<TopicConfig>) -> Result<(), TopicError> {
        let mut version = self.changes.lock();
        let mut altered = Vec::with_capacity(configs.len());
        for mut config in configs {
            let current = self.get(&config.topic_name).map(|old| old.attributes.clone());
            config.attributes = attributes::alter(attributes::TOPIC, current.as_ref(), &config.attributes)
                .map_err(TopicError::Attributes)?;
            altered.push(config);
        }
        self.put(&mut version, altered)
    }

    /// Marks topics as ordered that the name server lists so.
    pub(crate) fn mark_ordered<'a>(&self, topics: impl Iterator<Item = &'a str>) -> Result<(), TopicError> {
        let mut version = self.changes.lock();
        let unmarked = topics.filter_map(|topic| self.get(topic)).filter(|config| !config.order);
        let marked: Vec<_> =
            unmarked.map(|config| TopicConfig { order: true, ..TopicConfig::clone(&config) }).collect();
        if marked.is_empty() { Ok(()) } else { self.put(&mut version, marked) }
    }

    /// Removes a topic; says whether it was there.
    pub(crate) fn remove(&self, topic: &str) -> Result<bool, TopicError> {
        let mut version = self.changes.lock();
        let Some((name, config)) = self.topics.remove(topic) else { return Ok(false) };
        if let Err(error) = self.save(&mut version) {
            self.topics.insert(name, config);
            return Err(error.into());
        }
        self.changes_to_tell.note(topic);
        Ok(true)
    }

    /// Makes a new version of the table as it is, because what is told of every topic changed.
    pub(crate) fn touch(&self) -> Result<(), TopicError> {
        self.save(&mut self.changes.lock())?;
        self.for_each(|config| self.changes_to_tell.note(&config.topic_name));
        Ok(())
    }

    /// All topics and their version.
    pub(crate) fn snapshot(&self) -> TopicConfigSerializeWrapper {
        self.snapshot_with(*self.changes.lock())
    }

    /// Calls `look` for every topic.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&TopicConfig)) {
        for config in &self.topics {
            look(&config);
        }
    }

    /// Puts topics in and writes all down; takes them back if that fails.
    fn put<I: IntoIterator<Item = TopicConfig>>(
        &self,
        version: &mut DataVersion,
        configs: I,
    ) -> Result<(), TopicError> {
        let mut replaced = Vec::new();
        for config in configs {
            let name: Arc<str> = Arc::from(config.topic_name.as_str());
            let old = self.topics.insert(Arc::clone(&name), Arc::new(config));
            replaced.push((name, old));
        }
        let names: Vec<_> = replaced.iter().map(|(name, _)| Arc::clone(name)).collect();
        self.save(version).map_err(|error| {
            for (name, old) in replaced.into_iter().rev() {
                match old {
                    Some(old) => drop(self.topics.insert(name, old)),
                    None => drop(self.topics.remove(&name)),
                }
            }
            TopicError::from(error)
        })?;
        for name in names {
            self.changes_to_tell.note(&name);
        }
        Ok(())
    }

    /// Writes all down under a new version, which stands only if that succeeds, and tells of the change.
    fn save(&self, version: &mut DataVersion) -> Result<(), StateFileError> {
        let mut next = *version;
        next.advance(0, self.clock.now());
        self.file.write(json::to_vec_pretty(&self.snapshot_with(next)))?;
        *version = next;
        Ok(())
    }

    fn snapshot_with(&self, data_version: DataVersion) -> TopicConfigSerializeWrapper {
        let topic_config_table: BTreeMap<_, _> =
            self.topics.iter().map(|config| (config.key().to_string(), TopicConfig::clone(&config))).collect();
        TopicConfigSerializeWrapper { data_version, topic_config_table }
    }
}
