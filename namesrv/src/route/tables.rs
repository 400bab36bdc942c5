//! The tables themselves, without locks.
//!
//! The reference keeps five maps that can contradict each other. Here they are two, and the others
//! follow from them:
//!
//! | table of the reference | here |
//! |---|---|
//! | topicQueueTable | [`Tables::topics`] |
//! | brokerAddrTable | [`Tables::brokers`] |
//! | brokerLiveTable, filterServerTable | fields of [`Member`](super::broker_set::Member): an address without a live broker cannot be |
//! | clusterAddrTable | the cluster names in [`Tables::brokers`] |
//! | topicQueueMappingInfoTable (static topics) | [`Tables::mappings`] |
//!
//! Invariants: a broker set has at least one member; a topic has queues on at least one set, and every
//! set it names is there; `BrokerSet::topics` is the exact inverse of `topics`; an address occurs once in a set.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::static_topic::TopicQueueMappingInfo;

use super::broker_set::BrokerSet;
use super::queues::Queues;

/// The route tables, owned by [`Routes`](super::Routes).
#[derive(Debug, Default)]
pub struct Tables {
    /// Queues by topic and broker name.
    pub(super) topics: HashMap<Arc<str>, BTreeMap<Arc<str>, Queues>>,
    /// Broker sets by name.
    pub(super) brokers: BTreeMap<Arc<str>, BrokerSet>,
    /// Static topics' queue mappings by topic and broker name.
    pub(super) mappings: HashMap<Arc<str>, BTreeMap<Arc<str>, TopicQueueMappingInfo>>,
    /// Topics whose route has changed since [`Tables::take_stale`].
    stale: HashSet<Arc<str>>,
}

impl Tables {
    /// Topics whose routes changed since the last call.
    pub(super) fn take_stale(&mut self) -> HashSet<Arc<str>> {
        std::mem::take(&mut self.stale)
    }

    /// Notes that the route of `topic` changed.
    pub(super) fn mark_stale(&mut self, topic: Arc<str>) {
        self.stale.insert(topic);
    }

    /// Notes that the routes of all topics on `broker` changed.
    pub(super) fn mark_all_stale(&mut self, broker: &str) {
        if let Some(set) = self.brokers.get(broker) {
            self.stale.extend(set.topics.iter().cloned());
        }
    }

    /// Sets the queues that `topic` has on `broker`, which must be there.
    pub(super) fn put_queues(&mut self, topic: &str, broker: &Arc<str>, queues: Queues) {
        let Some(set) = self.brokers.get_mut(&**broker) else { return };
        let topic = match self.topics.get_key_value(topic) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(topic),
        };
        let previous = self.topics.entry(Arc::clone(&topic)).or_default().insert(Arc::clone(broker), queues);
        if previous.is_none() {
            set.topics.insert(Arc::clone(&topic));
        }
        if previous != Some(queues) {
            self.mark_stale(topic);
        }
    }

    /// Changes the queues of every topic on `broker`; returns how many topics it has.
    pub(super) fn change_queues(&mut self, broker: &str, change: impl Fn(Queues) -> Queues) -> usize {
        let Some(set) = self.brokers.get(broker) else { return 0 };
        for topic in &set.topics {
            if let Some(queues) = self.topics.get_mut(topic).and_then(|brokers| brokers.get_mut(broker)) {
                let changed = change(*queues);
                if *queues != changed {
                    *queues = changed;
                    self.stale.insert(Arc::clone(topic));
                }
            }
        }
        set.topics.len()
    }

    /// Takes `topic` off `broker`, and the topic away with its last broker.
    pub(super) fn remove_queues(&mut self, topic: &str, broker: &str) {
        let Some((name, _)) = self.topics.get_key_value(topic) else { return };
        let name = Arc::clone(name);
        if let Some(brokers) = self.topics.get_mut(topic) {
            brokers.remove(broker);
            if brokers.is_empty() {
                self.topics.remove(topic);
            }
        }
        if let Some(set) = self.brokers.get_mut(broker) {
            set.topics.remove(topic);
        }
        self.remove_mapping(topic, broker);
        self.mark_stale(name);
    }

    /// Forgets the mapping of a static topic on `broker`.
    fn remove_mapping(&mut self, topic: &str, broker: &str) {
        if let Some(brokers) = self.mappings.get_mut(topic) {
            brokers.remove(broker);
            if brokers.is_empty() {
                self.mappings.remove(topic);
            }
        }
    }

    /// Takes away a broker set and everything that only it had.
    pub(super) fn remove_set(&mut self, broker: &str) {
        let Some(set) = self.brokers.remove(broker) else { return };
        for topic in set.topics {
            self.remove_queues(&topic, broker);
        }
        self.mappings.retain(|_, brokers| {
            brokers.remove(broker);
            !brokers.is_empty()
        });
    }

    /// The version that the broker at `address` registered last; `None` when it is not registered.
    pub fn version(&self, cluster: &str, broker: Option<&str>, address: &str) -> Option<DataVersion> {
        self.find(cluster, broker, address).map(|member| member.version)
    }

    /// Notes a sign of life of the broker at `address`; one that is not registered is passed over (trap 25).
    pub fn heartbeat(&self, cluster: &str, broker: Option<&str>, address: &str, now: i64) {
        if let Some(member) = self.find(cluster, broker, address) {
            member.seen(now);
        }
    }

    /// The member at `address`: looked up by broker name where the request names one that is there.
    fn find(&self, cluster: &str, broker: Option<&str>, address: &str) -> Option<&super::broker_set::Member> {
        let member = |set: &'_ BrokerSet| set.id_of(address);
        let named = broker.and_then(|name| self.brokers.get(name)).filter(|set| member(set).is_some());
        let set = named.or_else(|| self.brokers.values().find(|set| set.is_in(cluster) && member(set).is_some()))?;
        set.members.get(&member(set)?).filter(|member| &*member.cluster == cluster)
    }
}
