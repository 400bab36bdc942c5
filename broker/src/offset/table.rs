//! Where each group is with each queue.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::offset::ConsumerOffsetSerializeWrapper;
use apogee_store::NameMap;
use apogee_store::light::{LIGHT_QUEUE_ID, is_light};
use parking_lot::{Mutex, MutexGuard};

use super::resets::Resets;
use crate::clock::Clock;

/// Separates topic and group in the keys of the file and of the wire form.
const SEPARATOR: char = '@';

/// Consumed and pulled offsets of all groups.
pub(crate) struct OffsetTable {
    groups: NameMap<HashMap<Box<str>, TopicOffsets>>,
    /// Whether groups named like light queues have one offset for each topic, whatever the queue (enableLmq). They are
    /// kept in a table of their own in the file, and in none of the lists of groups and topics, as in the reference.
    has_light: bool,
    resets: Resets,
    /// Of a slave: group, topic and queue of what clients committed here, which its master may not know.
    committed_here: Mutex<Places>,
    version: Mutex<DataVersion>,
    clock: Clock,
    /// Number of commits; every `version_step`-th of them makes a new version.
    commits: AtomicU64,
    /// Number of changes of any kind.
    changes: AtomicU64,
    /// Number of the last change that was saved.
    saved: Mutex<u64>,
}

/// A group's offsets in the queues of one topic.
#[derive(Clone, Default)]
struct TopicOffsets {
    /// Offset behind the last message consumed, by queue.
    consumed: BTreeMap<i32, i64>,
    /// Offset behind the last message pulled, by queue.
    pulled: BTreeMap<i32, i64>,
}

/// Groups, topics and queues.
type Places = BTreeSet<(String, String, i32)>;

/// A group that came further with a queue than another broker knows.
pub(crate) struct Ahead {
    pub(crate) group: String,
    pub(crate) topic: String,
    pub(crate) queue_id: i32,
    pub(crate) offset: i64,
}

impl OffsetTable {
    /// The table that a file or another broker described.
    pub(crate) fn new(mut saved: ConsumerOffsetSerializeWrapper, has_light: bool, clock: Clock) -> Self {
        let table = Self {
            groups: NameMap::default(),
            has_light,
            resets: Resets::default(),
            committed_here: Mutex::new(places(saved.committed_here.take().unwrap_or_default())),
            version: Mutex::new(saved.data_version),
            clock,
            commits: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            saved: Mutex::new(0),
        };
        table.put_all(saved);
        *table.saved.lock() = table.changes.load(Ordering::Acquire);
        table
    }

    /// Takes over what another broker knows; what it does not know stays. So does what clients committed here and came further
    /// with: the answer lists it once, for the other one to be told.
    pub(crate) fn take_over(&self, mut theirs: ConsumerOffsetSerializeWrapper) -> Vec<Ahead> {
        // Held to the end: what is committed meanwhile is not overwritten.
        let mut committed_here = self.committed_here.lock();
        let mut ahead = Vec::new();
        for (group, topic, queue_id) in std::mem::take(&mut *committed_here) {
            // The topic or the group may be gone since.
            let Some(offset) = self.consumed(&group, &topic, queue_id) else { continue };
            let key = format!("{topic}{SEPARATOR}{group}");
            let known = if self.is_light(&group) {
                theirs.lmq_offset_table.as_mut().and_then(|offsets| offsets.get_mut(&key))
            } else {
                theirs.offset_table.get_mut(&key).map(|offsets| offsets.entry(queue_id).or_insert(-1))
            };
            if known.as_deref().is_none_or(|known| offset > *known) {
                if let Some(known) = known {
                    *known = offset;
                }
                ahead.push(Ahead { group, topic, queue_id, offset });
            }
        }
        *self.version.lock() = theirs.data_version;
        self.put_all(theirs);
        ahead
    }

    /// Remembers that a client commits this here and not with the master. [`Self::take_over`] waits while the answer is held:
    /// the commit is to come meanwhile.
    #[must_use = "a copy of the master's offsets may come before the commit"]
    pub(crate) fn note_committed_here(&self, group: &str, topic: &str, queue_id: i32) -> MutexGuard<'_, Places> {
        let place = (group.to_owned(), topic.to_owned(), self.queue_of(group, queue_id));
        let mut committed_here = self.committed_here.lock();
        committed_here.insert(place);
        self.changes.fetch_add(1, Ordering::Release);
        committed_here
    }

    /// Whether clients committed anything here since the last [`Self::take_over`].
    pub(crate) fn has_committed_here(&self) -> bool {
        !self.committed_here.lock().is_empty()
    }

    /// Takes over where another broker is further.
    pub(crate) fn take_further(&self, theirs: ConsumerOffsetSerializeWrapper) {
        {
            let mut version = self.version.lock();
            if version.order(&theirs.data_version).is_lt() {
                *version = theirs.data_version;
            }
        }
        let light = theirs.lmq_offset_table.into_iter().flatten();
        let light = light.map(|(key, offset)| (key, [(LIGHT_QUEUE_ID, offset)].into()));
        for (key, offsets) in theirs.offset_table.into_iter().chain(light) {
            self.restore(&key, |topic| {
                for (queue_id, offset) in offsets {
                    let own = topic.consumed.entry(queue_id).or_insert(offset);
                    *own = offset.max(*own);
                }
            });
        }
    }

    fn put_all(&self, saved: ConsumerOffsetSerializeWrapper) {
        for (key, offsets) in saved.offset_table {
            self.restore(&key, |topic| topic.consumed = offsets);
        }
        for (key, offset) in saved.lmq_offset_table.into_iter().flatten() {
            self.restore(&key, |topic| topic.consumed = [(LIGHT_QUEUE_ID, offset)].into());
        }
        for (key, offsets) in saved.pull_offset_table.into_iter().flatten() {
            self.restore(&key, |topic| topic.pulled = offsets);
        }
    }

    /// The offset behind the last consumed message; that of a reset which the group has not heard of yet.
    pub(crate) fn consumed(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        let queue_id = self.queue_of(group, queue_id);
        if let Some(reset) = self.resets.get(group, topic, queue_id) {
            return Some(reset);
        }
        self.groups.get(group)?.get(topic)?.consumed.get(&queue_id).copied()
    }

    /// The consumed offsets of a group in all queues of a topic that it has consumed of.
    pub(crate) fn consumed_of(&self, group: &str, topic: &str) -> BTreeMap<i32, i64> {
        let topics = self.groups.get(group);
        topics.and_then(|topics| topics.get(topic).map(|offsets| offsets.consumed.clone())).unwrap_or_default()
    }

    /// The consumed offsets of all groups in a topic's queues.
    pub(crate) fn consumed_by_all(&self, topic: &str) -> Vec<(Arc<str>, BTreeMap<i32, i64>)> {
        let of_topic = |topics: &HashMap<Box<str>, TopicOffsets>| {
            topics.get(topic).map(|offsets| offsets.consumed.clone()).filter(|consumed| !consumed.is_empty())
        };
        let listed = self.groups.iter().filter(|group| !self.is_light(group.key()));
        listed.filter_map(|group| Some((Arc::clone(group.key()), of_topic(&group)?))).collect()
    }

    /// The offset behind the last pulled message; where nothing was pulled yet, the consumed one.
    pub(crate) fn pulled(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        let pulled = self.groups.get(group).and_then(|topics| topics.get(topic)?.pulled.get(&queue_id).copied());
        pulled.or_else(|| self.consumed(group, topic, queue_id))
    }

    /// Notes how far a group has consumed. Going back is allowed: that is how a reset by a client looks. Says whether it
    /// is noted: while a reset waits for the group's next pull, what its consumers commit is from before the reset.
    pub(crate) fn commit(&self, group: &str, topic: &str, queue_id: i32, offset: i64, version_step: u64) -> bool {
        let queue_id = self.queue_of(group, queue_id);
        if self.resets.get(group, topic, queue_id).is_some() {
            return false;
        }
        self.with(group, topic, |offsets| offsets.consumed.insert(queue_id, offset));
        if self.is_light(group) {
            return true;
        }
        let commits = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
        if commits.is_multiple_of(version_step.max(1)) {
            self.version.lock().advance(0, self.clock.now());
        }
        true
    }

    /// Sets where a group goes on with a queue. Its next pull learns of it, by [`Self::take_reset`].
    pub(crate) fn reset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        let queue_id = self.queue_of(group, queue_id);
        self.resets.set(group, topic, queue_id, offset);
        self.with(group, topic, |offsets| offsets.consumed.insert(queue_id, offset));
    }

    /// The offset of a reset that the group has not heard of yet. It is given out once.
    pub(crate) fn take_reset(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        self.resets.take(group, topic, self.queue_of(group, queue_id))
    }

    /// Lets a group go on in a topic where another one is.
    pub(crate) fn copy(&self, from: &str, to: &str, topic: &str) {
        let consumed = self.consumed_of(from, topic);
        if !consumed.is_empty() && !self.is_light(from) && !self.is_light(to) {
            self.with(to, topic, |offsets| offsets.consumed = consumed);
        }
    }

    /// Notes how far a group has pulled.
    pub(crate) fn note_pulled(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.with(group, topic, |offsets| offsets.pulled.insert(queue_id, offset));
    }

    /// Topics of which a group has consumed.
    pub(crate) fn topics_of(&self, group: &str) -> Vec<String> {
        let names = |topics: &HashMap<Box<str>, TopicOffsets>| {
            topics
                .iter()
                .filter(|(_, offsets)| !offsets.consumed.is_empty())
                .map(|(topic, _)| topic.to_string())
                .collect()
        };
        let topics = self.groups.get(group).filter(|_| !self.is_light(group));
        topics.map(|topics| names(&topics)).unwrap_or_default()
    }

    /// Forgets a group.
    pub(crate) fn remove_group(&self, group: &str) {
        self.resets.remove_group(group);
        if self.groups.remove(group).is_some() {
            self.changes.fetch_add(1, Ordering::Release);
            self.version.lock().advance(0, self.clock.now());
        }
    }

    /// Forgets a topic in all groups.
    pub(crate) fn remove_topic(&self, topic: &str) {
        self.resets.remove_topic(topic);
        for mut group in self.groups.iter_mut() {
            group.remove(topic);
        }
        self.groups.retain(|_, topics| !topics.is_empty());
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Hands everything to `save` if anything changed since the last time that this succeeded.
    pub(crate) fn save_if_changed<E>(
        &self,
        save: impl FnOnce(&ConsumerOffsetSerializeWrapper) -> Result<(), E>,
    ) -> Result<(), E> {
        // Taken before the snapshot: a change in between is saved once more next time.
        let changes = self.changes.load(Ordering::Acquire);
        let mut saved = self.saved.lock();
        if *saved != changes {
            let committed_here = by_key(&self.committed_here.lock());
            save(&ConsumerOffsetSerializeWrapper { committed_here, ..self.snapshot() })?;
            *saved = changes;
        }
        Ok(())
    }

    /// All of it in the form of the wire; in the file there is what clients committed here, too.
    pub(crate) fn snapshot(&self) -> ConsumerOffsetSerializeWrapper {
        let mut saved = ConsumerOffsetSerializeWrapper {
            data_version: *self.version.lock(),
            ..ConsumerOffsetSerializeWrapper::default()
        };
        let group_topics = saved.group_topic_map.get_or_insert_default();
        let pulled = saved.pull_offset_table.get_or_insert_default();
        let mut light = BTreeMap::new();
        for group in &self.groups {
            let is_light = self.is_light(group.key());
            for (topic, offsets) in group.value() {
                let key = || format!("{topic}{SEPARATOR}{}", group.key());
                if is_light {
                    light.extend(offsets.consumed.get(&LIGHT_QUEUE_ID).map(|offset| (key(), *offset)));
                } else if !offsets.consumed.is_empty() {
                    saved.offset_table.insert(key(), offsets.consumed.clone());
                    group_topics.entry(group.key().to_string()).or_default().insert(topic.to_string());
                }
                if !offsets.pulled.is_empty() {
                    pulled.insert(key(), offsets.pulled.clone());
                }
            }
        }
        saved.lmq_offset_table = self.has_light.then_some(light);
        saved
    }

    fn is_light(&self, group: &str) -> bool {
        self.has_light && is_light(group)
    }

    /// The queue that a group's offset is kept under.
    fn queue_of(&self, group: &str, queue_id: i32) -> i32 {
        if self.is_light(group) { LIGHT_QUEUE_ID } else { queue_id }
    }

    fn restore(&self, key: &str, set: impl FnOnce(&mut TopicOffsets)) {
        if let Some((topic, group)) = key.split_once(SEPARATOR) {
            self.with(group, topic, set);
        } else {
            tracing::warn!(key, "an entry of the consumer offsets names no topic@group and is left out");
        }
    }

    fn with<T>(&self, group: &str, topic: &str, act: impl FnOnce(&mut TopicOffsets) -> T) -> T {
        let mut topics = match self.groups.get_mut(group) {
            Some(topics) => topics,
            None => self.groups.entry(Arc::from(group)).or_default(),
        };
        let result = match topics.get_mut(topic) {
            Some(offsets) => act(offsets),
            None => act(topics.entry(topic.into()).or_default()),
        };
        self.changes.fetch_add(1, Ordering::Release);
        result
    }
}

fn places(by_key: BTreeMap<String, BTreeSet<i32>>) -> Places {
    let split = |(key, queues): (String, BTreeSet<i32>)| {
        let (topic, group) = key.split_once(SEPARATOR)?;
        let place = |queue_id| (group.to_owned(), topic.to_owned(), queue_id);
        Some(queues.into_iter().map(place).collect::<Vec<_>>())
    };
    by_key.into_iter().filter_map(split).flatten().collect()
}

/// `None` for no places, so that the file is that of the reference.
fn by_key(places: &Places) -> Option<BTreeMap<String, BTreeSet<i32>>> {
    let mut by_key = BTreeMap::<_, BTreeSet<i32>>::new();
    for (group, topic, queue_id) in places {
        by_key.entry(format!("{topic}{SEPARATOR}{group}")).or_default().insert(*queue_id);
    }
    Some(by_key).filter(|by_key| !by_key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(plain: i64, light: i64) -> ConsumerOffsetSerializeWrapper {
        ConsumerOffsetSerializeWrapper {
            offset_table: [("T@g".to_owned(), [(1, plain)].into())].into(),
            lmq_offset_table: Some([("%LMQ%a@%LMQ%g".to_owned(), light)].into()),
            ..ConsumerOffsetSerializeWrapper::default()
        }
    }

    #[test]
    fn what_another_broker_has_further_is_taken_over() {
        for (theirs, expected) in [(saved(6, 8), [6, 8]), (saved(4, 8), [5, 8]), (saved(6, 6), [6, 7])] {
            let table = OffsetTable::new(saved(5, 7), true, Clock);
            table.take_further(theirs);
            let own = [table.consumed("g", "T", 1), table.consumed("%LMQ%g", "%LMQ%a", 3)];
            assert_eq!(own, expected.map(Some));
        }
    }

    #[test]
    fn what_clients_committed_here_stays_where_it_is_further() {
        let file = std::cell::RefCell::<ConsumerOffsetSerializeWrapper>::default();
        let save = |saved: &ConsumerOffsetSerializeWrapper| {
            file.replace(saved.clone());
            Ok::<_, ()>(())
        };
        let table = OffsetTable::new(saved(5, 7), true, Clock);
        let own = || [table.consumed("g", "T", 1), table.consumed("g", "T", 2), table.consumed("%LMQ%g", "%LMQ%a", 3)];
        let take_over = |theirs| -> Vec<i64> { table.take_over(theirs).iter().map(|ahead| ahead.offset).collect() };
        let commit = |group, topic, queue_id, offset| {
            let _noted = table.note_committed_here(group, topic, queue_id);
            table.commit(group, topic, queue_id, offset, 1);
        };
        commit("g", "T", 1, 6);
        commit("%LMQ%g", "%LMQ%a", 3, 8);
        assert_eq!((take_over(saved(5, 9)), own()), (vec![6], [Some(6), None, Some(9)]));
        assert_eq!((take_over(saved(4, 4)), own()), (vec![], [Some(4), None, Some(4)]), "told once");
        // What the other broker does not know stays, too.
        commit("g", "T", 2, 1);
        commit("%LMQ%g", "%LMQ%a", 3, 5);
        assert_eq!(take_over(ConsumerOffsetSerializeWrapper::default()), [5, 1]);
        assert_eq!(own(), [Some(4), Some(1), Some(5)]);
        // It stays so over a restart.
        commit("g", "T", 2, 7);
        table.save_if_changed(save).unwrap();
        let again = OffsetTable::new(file.take(), true, Clock);
        let ahead = again.take_over(ConsumerOffsetSerializeWrapper::default());
        assert_eq!(ahead.iter().map(|ahead| (ahead.queue_id, ahead.offset)).collect::<Vec<_>>(), [(2, 7)]);
        again.save_if_changed(save).unwrap();
        assert_eq!((file.take().committed_here, table.snapshot().committed_here), (None, None));
        // A topic that is gone leaves nothing behind.
        commit("g", "T", 2, 2);
        table.remove_topic("T");
        assert_eq!(take_over(ConsumerOffsetSerializeWrapper::default()), [0; 0]);
        assert_eq!(own(), [None, None, Some(5)]);
    }
}
