//! The expressions of groups that filter by properties, and the file that keeps them (`config/consumerFilter.json`).
//!
//! Heartbeats bring expressions, each with a version that the client counts; a newer one replaces an older one. When the last
//! consumer of a group goes, its expressions are dead; they live again when it comes back, and are forgotten after a day
//! (`filterDataCleanTimeSpan`). After a start all are dead until somebody comes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_filter::bloom::BloomFilter;
use apogee_filter::{Expression, ParseError};
use apogee_remoting::json;
use apogee_remoting::protocol::filter::{BloomFilterData, ConsumerFilterData, ConsumerFilters, FilterDataMapByTopic};
use apogee_remoting::protocol::subscription::SubscriptionData;
use parking_lot::{Mutex, RwLock};

use super::{SQL92, is_tag_type};

/// All of them.
pub(crate) struct Filters {
    table: RwLock<Table>,
    /// Compiled expressions by their text.
    compiled: Mutex<HashMap<Box<str>, Arc<Expression>>>,
    shape: BloomFilter,
    file: StateFile,
}

struct Table {
    /// By topic and group. No topic is without a group.
    topics: BTreeMap<String, BTreeMap<String, Arc<GroupFilter>>>,
    is_saved: bool,
}

/// What a group wants of a topic.
#[derive(Clone, Debug)]
pub(crate) struct GroupFilter {
    /// In the form of the file.
    pub(crate) data: ConsumerFilterData,
    pub(crate) expression: Arc<Expression>,
    /// The group's bits in bit maps.
    pub(crate) positions: Vec<u32>,
}

impl Filters {
    /// The table that the file holds. If it was made for bit maps of another shape, all of it is forgotten, as in the
    /// reference.
    pub(crate) fn new(file: StateFile, saved: ConsumerFilters, shape: BloomFilter, now: i64) -> Self {
        let this = Self {
            table: RwLock::new(Table { topics: BTreeMap::new(), is_saved: true }),
            compiled: Mutex::default(),
            shape,
            file,
        };
        let saved = saved.filter_data_by_topic.into_values().flat_map(|topic| topic.group_filter_data.into_values());
        let filters: Vec<_> = saved.filter_map(|data| this.read(data, now)).collect();
        if filters.iter().any(|filter| filter.data.bloom_filter_data != this.bits(&filter.positions)) {
            tracing::warn!("bit maps of consume queues have another shape now: the filters of groups are forgotten");
            return this;
        }
        let mut table = this.table.write();
        for filter in filters {
            table.insert(filter);
        }
        drop(table);
        this
    }

    /// What a group wants of a topic.
    pub(crate) fn get(&self, topic: &str, group: &str) -> Option<Arc<GroupFilter>> {
        self.table.read().get(topic, group).cloned()
    }

    /// What all groups want of a topic.
    pub(super) fn of_topic(&self, topic: &str) -> Vec<Arc<GroupFilter>> {
        self.table.read().topics.get(topic).map(|groups| groups.values().cloned().collect()).unwrap_or_default()
    }

    /// Shape of the bit maps.
    pub(super) fn shape(&self) -> &BloomFilter {
        &self.shape
    }

    /// Compiles an expression, or finds it among those compiled before.
    pub(crate) fn compile(&self, text: &str) -> Result<Arc<Expression>, ParseError> {
        if let Some(expression) = self.compiled.lock().get(text) {
            return Ok(Arc::clone(expression));
        }
        let expression = Arc::new(Expression::parse(text)?);
        if text.len() <= LONGEST_KEPT {
            let mut compiled = self.compiled.lock();
            if compiled.len() >= MOST_KEPT {
                compiled.clear();
            }
            compiled.insert(text.into(), Arc::clone(&expression));
        }
        Ok(expression)
    }

    /// Takes up all that a heartbeat says of a group. What it no longer wants is dead.
    pub(crate) fn subscribe(&self, group: &str, subscriptions: &[SubscriptionData], now: i64) {
        let is_filtered = |subscription: &&SubscriptionData| !is_tag_type(&subscription.expression_type);
        for subscription in subscriptions.iter().filter(is_filtered) {
            self.register(group, subscription, now);
        }
        let is_wanted = |topic: &str| subscriptions.iter().any(|subscription| subscription.topic == *topic);
        self.bury(group, now, |topic| !is_wanted(topic));
    }

    /// The last consumer of a group is gone.
    pub(crate) fn unsubscribe(&self, group: &str, now: i64) {
        self.bury(group, now, |_| true);
    }

    fn register(&self, group: &str, subscription: &SubscriptionData, now: i64) {
        let SubscriptionData { topic, sub_string, expression_type, sub_version, .. } = subscription;
        if sub_string.is_empty() {
            return;
        }
        let table = &mut *self.table.write();
        let is_same =
            |data: &ConsumerFilterData| data.expression == *sub_string && data.expression_type == *expression_type;
        match table.get(topic, group) {
            Some(old) if *sub_version < old.data.client_version => return,
            Some(old) if *sub_version == old.data.client_version && !old.is_dead() => return,
            // One version is one expression, whatever the text.
            Some(old) if *sub_version == old.data.client_version || is_same(&old.data) => {
                let mut filter = GroupFilter::clone(old);
                filter.data.client_version = *sub_version;
                filter.data.dead_time = if old.is_dead() { 0 } else { old.data.dead_time };
                table.insert(filter);
            }
            _ => {
                // Of an expression that does not parse its client is told when it pulls.
                table.remove(topic, group);
                let built = self.build(ConsumerFilterData {
                    born_time: now,
                    client_version: *sub_version,
                    consumer_group: group.to_owned(),
                    expression: sub_string.clone(),
                    expression_type: expression_type.clone(),
                    topic: topic.clone(),
                    ..ConsumerFilterData::default()
                });
                if let Some(filter) = built {
                    table.insert(filter);
                }
            }
        }
        table.is_saved = false;
    }

    /// Marks the filters of a group as dead whose topic is among those.
    fn bury(&self, group: &str, now: i64, is_among: impl Fn(&str) -> bool) {
        let is_living = |groups: &BTreeMap<_, Arc<GroupFilter>>| groups.get(group).is_some_and(|old| !old.is_dead());
        // Nearly always there is nothing to do.
        if !self.table.read().topics.iter().any(|(topic, groups)| is_living(groups) && is_among(topic)) {
            return;
        }
        let table = &mut *self.table.write();
        for (_, groups) in table.topics.iter_mut().filter(|(topic, groups)| is_living(groups) && is_among(topic)) {
            if let Some(filter) = groups.get_mut(group) {
                Arc::make_mut(filter).data.dead_time = now;
                table.is_saved = false;
            }
        }
    }

    /// Writes the table down if it changed. What has been dead for `span` ms at `now` is forgotten.
    pub(crate) fn save(&self, span: i64, now: i64) -> Result<(), StateFileError> {
        let unsaved = {
            let table = &mut *self.table.write();
            table.topics.retain(|_, groups| {
                let before = groups.len();
                groups.retain(|_, filter| !filter.is_dead() || now - filter.data.dead_time < span);
                table.is_saved &= groups.len() == before;
                !groups.is_empty()
            });
            if table.is_saved {
                return Ok(());
            }
            table.is_saved = true;
            table.file()
        };
        self.file.write(json::to_vec_pretty(&unsaved)).inspect_err(|_| self.table.write().is_saved = false)
    }

    /// A filter of the file. Nobody of its group is there yet.
    fn read(&self, mut data: ConsumerFilterData, now: i64) -> Option<GroupFilter> {
        if data.dead_time == 0 {
            data.dead_time = data.born_time.max(now - DEAD_BEFORE_START);
        }
        let bits = data.bloom_filter_data.clone();
        let mut filter = self.build(data)?;
        filter.data.bloom_filter_data = bits;
        Some(filter)
    }

    /// A filter with its bits; `None` for an expression that is none.
    fn build(&self, mut data: ConsumerFilterData) -> Option<GroupFilter> {
        let compiled = (data.expression_type == SQL92).then(|| self.compile(&data.expression));
        let Some(Ok(expression)) = compiled else {
            let (group, topic, expression) = (&data.consumer_group, &data.topic, &data.expression);
            tracing::warn!(group, topic, expression, "a group's expression is none that is known");
            return None;
        };
        let positions = self.shape.positions(&format!("{}#{}", data.consumer_group, data.topic));
        data.bloom_filter_data = self.bits(&positions);
        Some(GroupFilter { data, expression, positions })
    }

    fn bits(&self, positions: &[u32]) -> BloomFilterData {
        BloomFilterData {
            bit_num: self.shape.bits() as i32,
            bit_pos: positions.iter().map(|position| *position as i32).collect(),
        }
    }
}

impl Table {
    fn get(&self, topic: &str, group: &str) -> Option<&Arc<GroupFilter>> {
        self.topics.get(topic)?.get(group)
    }

    fn insert(&mut self, filter: GroupFilter) {
        let (topic, group) = (filter.data.topic.clone(), filter.data.consumer_group.clone());
        self.topics.entry(topic).or_default().insert(group, Arc::new(filter));
    }

    fn remove(&mut self, topic: &str, group: &str) {
        let Some(groups) = self.topics.get_mut(topic) else { return };
        groups.remove(group);
        if groups.is_empty() {
            self.topics.remove(topic);
        }
    }

    /// In the form of the file.
    fn file(&self) -> ConsumerFilters {
        let topic = |topic: &String, groups: &BTreeMap<String, Arc<GroupFilter>>| FilterDataMapByTopic {
            group_filter_data: groups.iter().map(|(group, filter)| (group.clone(), filter.written())).collect(),
            topic: topic.clone(),
        };
        ConsumerFilters {
            filter_data_by_topic: self
                .topics
                .iter()
                .map(|(name, groups)| (name.clone(), topic(name, groups)))
                .collect(),
        }
    }
}

impl GroupFilter {
    /// In the form of the file.
    pub(crate) fn written(&self) -> ConsumerFilterData {
        ConsumerFilterData { dead: self.is_dead(), ..self.data.clone() }
    }

    fn is_dead(&self) -> bool {
        self.data.dead_time >= self.data.born_time
    }
}

/// Longer expressions are compiled whenever they come, bytes.
const LONGEST_KEPT: usize = 16 * 1024;
/// So many compiled expressions are kept, then all are forgotten.
const MOST_KEPT: usize = 1024;
/// A start counts as so long after the death of those that lived, ms, as in the reference.
const DEAD_BEFORE_START: i64 = 30_000;

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
