//! The topics of this broker.

use std::sync::Arc;

use apogee_config::BrokerSettings;
use apogee_config::state_file::StateFile;
use apogee_remoting::ResponseCode;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::topic::{TopicConfig, TopicConfigSerializeWrapper};
use apogee_store::light::is_light;
use apogee_store::{QueueKind, QueueKinds};

use super::deletion::{Deletion, Deletions, Other};
use super::{PERM_INHERIT, PERM_READ, PERM_WRITE, Topic, file, queue_kind, system};
use crate::answer::{NotDone, Refusal};
use crate::attributes;
use crate::clock::Clock;
use crate::registration::TopicChanges;
use crate::saved_table::{Entries, Entry, Locked, SaveError, SavedTable, Saving};

/// All topics. The name servers are told of every change. Clones are the same table.
#[derive(Clone)]
pub(crate) struct TopicTable {
    topics: Arc<SavedTable<Topic>>,
    deletions: Arc<Deletions>,
    /// Told of every change: the name servers have to learn of it.
    changes_to_tell: Arc<TopicChanges>,
    /// Whether every light queue counts as a topic (enableLmq). None of them is in the table.
    has_light: bool,
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
        let saved_topics = saved.topic_config_table.into_values();
        let topics = system::topics(settings).into_iter().chain(saved_topics);
        let named = topics.map(|config| (config.topic_name.clone(), Topic::from(config)));
        let changes = Arc::clone(&changes_to_tell);
        let encode = |version, topics| file::content(version, &topics);
        let topics = SavedTable::new(file, saved.data_version, named, clock, encode, move |topic| changes.note(topic));
        Self { topics, deletions: Arc::default(), changes_to_tell, has_light: settings.store.enable_lmq }
    }

    /// A topic.
    pub(crate) fn get(&self, topic: &str) -> Option<Arc<Topic>> {
        if self.has_light && is_light(topic) {
            return Some(Arc::new(Topic::passing(light(topic))));
        }
        self.topics.get(topic)
    }

    /// Whether the topic is there.
    pub(crate) fn contains(&self, topic: &str) -> bool {
        self.has_light && is_light(topic) || self.topics.contains(topic)
    }

    /// A topic that is on disk, or what to wait for before it is looked for again.
    pub(crate) fn find(&self, topic: &str) -> Option<Result<Arc<Topic>, Saving>> {
        let topics = self.topics.lock();
        let known = topics.get(topic)?;
        Some(topics.pending(|name| name == topic).then(known))
    }

    /// Creates a topic on the model of `model`, as an automatic creation by a send does: with at most
    /// `queues` queues, and only if the model may be inherited from. `None` if not. For more see [`Self::get_or_create`].
    pub(crate) fn create_like(
        &self,
        topic: &str,
        model: &str,
        queues: i32,
        sys_flag: i32,
    ) -> Option<Result<Arc<Topic>, Saving>> {
        let Some(model) = self.get(model).filter(|model| model.perm & PERM_INHERIT != 0) else {
            tracing::warn!(topic, model, "a topic is not created: its model does not exist or may not be inherited");
            return None;
        };
        let queues = queues.min(model.write_queue_nums).max(0);
        Some(self.get_or_create(TopicConfig {
            topic_name: topic.to_owned(),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: model.perm & !PERM_INHERIT,
            topic_sys_flag: sys_flag,
            topic_filter_type: model.topic_filter_type,
            ..TopicConfig::default()
        }))
    }

    /// The topic, created as given if it is not there yet.
    ///
    /// # Errors
    /// It is not on disk yet, or one of this name is being deleted: what to wait for before it is asked for again.
    pub(crate) fn get_or_create(&self, wanted: TopicConfig) -> Result<Arc<Topic>, Saving> {
        let (topic, saving) = self.make(wanted)?;
        saving.then(topic)
    }

    /// The same for who need not wait until it is on disk: the topic, and the change that it came with.
    ///
    /// # Errors
    /// One of this name is being deleted: what to wait for before it is asked for again.
    pub(crate) fn make(&self, wanted: TopicConfig) -> Result<(Arc<Topic>, Saving), Saving> {
        if let Some(known) = self.get(&wanted.topic_name).filter(|known| known.is_saved()) {
            return Ok((known, Saving::nothing()));
        }
        let topics = self.topics.lock();
        if let Some(known) = topics.get(&wanted.topic_name) {
            return Ok((known, topics.pending(|name| name == wanted.topic_name)));
        }
        if let Some(deletion) = self.deletions.of(&wanted.topic_name) {
            return Err(deletion);
        }
        let (name, config) = (wanted.topic_name.clone(), Arc::new(Topic::from(wanted)));
        let saving = topics.change([(name, Some(Arc::clone(&config)))]);
        Ok((config, saving))
    }

    /// The deletion that keeps one of these topics from being made, if any does.
    fn in_the_way<'a>(
        &self,
        topics: &Locked<'_, Topic>,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Option<Saving> {
        names.into_iter().filter(|name| topics.get(name).is_none()).find_map(|name| self.deletions.of(name))
    }

    /// Creates or replaces topics at an admin's wish, if any is to be other than it is. Attributes are changes (`+name=value`,
    /// `-name`) to those that are there. Light queues stay as they are.
    ///
    /// # Errors
    /// An attribute is not allowed, or a topic of such a name is being deleted.
    pub(crate) fn update(&self, mut configs: Vec<TopicConfig>) -> Result<Saving, NotDone> {
        configs.retain(|config| !(self.has_light && is_light(&config.topic_name)));
        if configs.is_empty() {
            return Ok(Saving::nothing());
        }
        let topics = self.topics.lock();
        if let Some(deletion) = self.in_the_way(&topics, configs.iter().map(|config| &config.topic_name)) {
            return Err(NotDone::Waits(deletion));
        }
        let is_same = |config: &TopicConfig| topics.get(&config.topic_name).is_some_and(|old| **old == *config);
        if configs.iter().all(is_same) {
            return Ok(topics.pending(|name| configs.iter().any(|config| config.topic_name == name)));
        }
        let mut altered = Vec::with_capacity(configs.len());
        for mut config in configs {
            let current = topics.get(&config.topic_name);
            let current = current.as_ref().map(|old| &old.attributes);
            config.attributes = attributes::alter(attributes::TOPIC, current, &config.attributes)
                .map_err(|remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark))?;
            altered.push((config.topic_name.clone(), Some(Arc::new(Topic::from(config)))));
        }
        Ok(topics.change(altered))
    }

    /// Marks topics as ordered, or as not ordered; those that are not there are passed over.
    pub(crate) fn set_order<'a>(&self, names: impl IntoIterator<Item = &'a str>, order: bool) -> Saving {
        let topics = self.topics.lock();
        let others = names.into_iter().filter_map(|name| topics.get(name)).filter(|config| config.order != order);
        let marked: Vec<_> = others
            .map(|config| {
                let marked = TopicConfig { order, ..TopicConfig::clone(&config) };
                (config.topic_name.clone(), Some(Arc::new(Topic::from(marked))))
            })
            .collect();
        if marked.is_empty() { Saving::nothing() } else { topics.change(marked) }
    }

    /// Begins to delete a topic: removes it from the table, if it is there. Nobody makes it anew until the deletion is over.
    ///
    /// # Errors
    /// Somebody else is deleting it.
    pub(crate) fn delete(&self, topic: &str) -> Result<(Deletion, Saving), Other> {
        let topics = self.topics.lock();
        let deletion = self.deletions.begin(topic)?;
        let saving = match topics.get(topic) {
            Some(_) => topics.change([(topic.to_owned(), None)]),
            None => topics.pending(|name| name == topic),
        };
        Ok((deletion, saving))
    }

    /// Begins to delete what is left of a topic that is not in the table. `None` where it is, or somebody is deleting it.
    pub(crate) fn delete_rest(&self, topic: &str) -> Option<Deletion> {
        let topics = self.topics.lock();
        if topics.get(topic).is_some() { None } else { self.deletions.begin(topic).ok() }
    }

    /// Becomes a copy of another broker's table.
    ///
    /// # Errors
    /// A topic that it is to have is being deleted: what to wait for before it is tried again.
    pub(crate) fn take_over(&self, theirs: &TopicConfigSerializeWrapper) -> Result<Saving, Saving> {
        let copies = theirs.topic_config_table.iter().map(|(name, config)| {
            (name.clone(), Topic::from(TopicConfig { topic_name: name.clone(), ..config.clone() }))
        });
        let copies = copies.collect();
        let topics = self.topics.lock();
        if let Some(deletion) = self.in_the_way(&topics, theirs.topic_config_table.keys()) {
            return Err(deletion);
        }
        Ok(topics.become_copy(theirs.data_version, copies))
    }

    /// Makes a new version of the table as it is, because what is told of every topic changed. For a thread that may wait.
    pub(crate) fn touch(&self) -> Result<(), SaveError> {
        self.topics.lock().change([]).wait()?;
        self.topics.snapshot().1.keys().for_each(|topic| self.changes_to_tell.note(topic));
        Ok(())
    }

    /// Ends when every change is on disk. For a thread that may wait.
    pub(crate) fn settle(&self) {
        self.topics.settle();
    }

    /// One topic with the version of all.
    pub(crate) fn snapshot_of(&self, topic: &TopicConfig) -> TopicConfigSerializeWrapper {
        let named = (topic.topic_name.clone(), topic.clone());
        TopicConfigSerializeWrapper { data_version: self.topics.version(), topic_config_table: [named].into() }
    }

    /// All topics and their version.
    pub(crate) fn snapshot(&self) -> TopicConfigSerializeWrapper {
        let (version, topics) = self.topics.snapshot();
        wrapped(version, topics)
    }
}

impl QueueKinds for TopicTable {
    fn queue_kind(&self, topic: &str) -> Option<QueueKind> {
        self.get(topic).map(|config| queue_kind(&config))
    }

    fn is_known(&self, topic: &str) -> bool {
        self.contains(topic)
    }

    fn version(&self) -> (i64, i64) {
        let version = self.topics.version();
        (version.counter, version.timestamp)
    }
}

/// What a light queue looks like as a topic.
fn light(topic: &str) -> TopicConfig {
    TopicConfig {
        topic_name: topic.to_owned(),
        read_queue_nums: 1,
        write_queue_nums: 1,
        perm: PERM_READ | PERM_WRITE,
        ..TopicConfig::default()
    }
}

/// In the form of the wire.
fn wrapped(data_version: DataVersion, topics: Entries<Topic>) -> TopicConfigSerializeWrapper {
    let named = topics.into_iter().map(|(name, topic)| (name.to_string(), TopicConfig::clone(&topic)));
    TopicConfigSerializeWrapper { data_version, topic_config_table: named.collect() }
}
