//! How a broker enters the tables.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::static_topic::TopicQueueMappingInfo;

use super::broker_set::{BrokerSet, MASTER_ID, Member};
use super::notice::MinBrokerChanged;
use super::queues::Queues;
use super::tables::Tables;

/// Silence after which a broker that named no timeout is gone: 120 s, in ms.
pub const DEFAULT_HEARTBEAT_TIMEOUT: i64 = 120_000;

/// What a broker says of itself and its topics.
#[derive(Debug)]
pub struct Registration<'a> {
    /// Cluster name.
    pub cluster: &'a str,
    /// Broker name, shared by a master and its slaves.
    pub broker: &'a str,
    /// Broker id, [`MASTER_ID`] for the master.
    pub id: i64,
    /// `host:port` for clients.
    pub address: &'a str,
    /// `host:port` for replication.
    pub ha_address: Option<&'a str>,
    /// Zone of the broker.
    pub zone: Option<&'a str>,
    /// Silence in ms after which it is gone; [`DEFAULT_HEARTBEAT_TIMEOUT`] when absent.
    pub timeout: Option<i64>,
    /// Whether a slave may act as master; absent from brokers before 5.0, whose slaves never provide topics.
    pub acting_master: Option<bool>,
    /// Version of the topic configuration.
    pub version: DataVersion,
    /// Topics with their queues.
    pub topics: Vec<(String, Queues)>,
    /// Queue mappings of static topics.
    pub mappings: Vec<TopicQueueMappingInfo>,
    /// Filter servers; `None` leaves what is known.
    pub filter_servers: Option<Vec<String>>,
    /// The connection it came over.
    pub connection: u64,
    /// Whether topics that are not listed are taken off the broker (`deleteTopicWithBrokerRegistration`).
    pub replaces_topics: bool,
}

/// What became of a registration.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The tables hold it now.
    Registered(Registered),
    /// Another broker holds the same name and id with a newer state version: passed over, answered as a success.
    Superseded,
    /// A first registration of a single topic. The reference refuses it, because brokers announce single
    /// changes that way, and the rest of their topics would be missing if that passed for the whole (trap 24).
    Partial,
}

/// The accepted case of [`Outcome`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// For a slave: address of its master.
    pub master_address: Option<Arc<str>>,
    /// For a slave: replication address of its master.
    pub ha_address: Option<Arc<str>>,
    /// The set's smallest broker id changed.
    pub notice: Option<MinBrokerChanged>,
}

impl Tables {
    /// Enters a broker, or renews what is known of it, at `now` (ms of the server's clock).
    /// A registration that brings nothing new leaves every route as it is.
    pub fn register_broker(&mut self, registration: &Registration<'_>, now: i64) -> Outcome {
        let known = self.brokers.get(registration.broker);
        if let Some(incumbent) = known.and_then(|set| set.members.get(&registration.id)) {
            if &*incumbent.address != registration.address
                && incumbent.version.state_version > registration.version.state_version
            {
                self.unregister(registration.broker, registration.address);
                return Outcome::Superseded;
            }
        } else if registration.topics.len() == 1 {
            return Outcome::Partial;
        }

        let arrival = self.enter_member(registration, now);
        self.enter_topics(registration, &arrival);
        self.enter_mappings(registration, &arrival);
        Outcome::Registered(self.registered(registration, &arrival))
    }

    /// Puts the member into its set.
    fn enter_member(&mut self, registration: &Registration<'_>, now: i64) -> Arrival {
        let broker = match self.brokers.get_key_value(registration.broker) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(registration.broker),
        };
        let cluster: Arc<str> = registration.cluster.into();
        let set = self.brokers.entry(Arc::clone(&broker)).or_insert_with(|| BrokerSet::new(Arc::clone(&cluster)));

        let previous_min = set.min_id().unwrap_or(MASTER_ID);
        // One process, one entry: a slave that became master leaves its old id.
        let earlier = set.id_of(registration.address).and_then(|id| set.members.remove(&id).map(|member| (id, member)));
        let replaced = set.members.remove(&registration.id);
        if set.members.is_empty() && set.cluster != cluster {
            set.cluster = Arc::clone(&cluster);
        }

        let same_id = earlier.as_ref().filter(|(id, _)| *id == registration.id).map(|(_, member)| member);
        let first = same_id.is_none() && replaced.is_none();
        let known_version =
            earlier.as_ref().map(|(_, member)| member).filter(|m| m.cluster == cluster).map(|m| &m.version);
        let version_changed = known_version != Some(&registration.version);
        let filter_servers = registration
            .filter_servers
            .clone()
            .unwrap_or_else(|| earlier.as_ref().map(|(_, member)| member.filter_servers.clone()).unwrap_or_default());

        let zone: Option<Arc<str>> = registration.zone.map(Arc::from);
        let acting_master = registration.acting_master.unwrap_or(false);
        let unchanged = same_id.is_some_and(|m| m.filter_servers == filter_servers && m.cluster == cluster)
            && set.zone == zone
            && set.acting_master == acting_master;
        (set.zone, set.acting_master) = (zone, acting_master);

        if first {
            tracing::info!(%broker, id = registration.id, address = registration.address, %cluster, "broker registered");
        }
        set.members.insert(
            registration.id,
            Member {
                cluster,
                address: registration.address.into(),
                ha_address: registration.ha_address.map(Arc::from),
                version: registration.version,
                last_seen: AtomicI64::new(now),
                timeout: registration.timeout.unwrap_or(DEFAULT_HEARTBEAT_TIMEOUT),
                connection: registration.connection,
                filter_servers,
            },
        );
        let prime = set.min_id() == Some(registration.id);
        if !unchanged {
            self.mark_all_stale(&broker);
        }
        Arrival { broker, brings_news: first || version_changed, prime, min_changed: registration.id < previous_min }
    }

    /// Takes over the topics of a master, or of the slave that stands in for a missing one.
    fn enter_topics(&mut self, registration: &Registration<'_>, arrival: &Arrival) {
        let stands_in = registration.id != MASTER_ID;
        if stands_in && !(arrival.prime && registration.acting_master.is_some()) {
            return;
        }
        if registration.replaces_topics && registration.mappings.is_empty() {
            self.remove_unlisted(registration, &arrival.broker);
        }
        // A slave in its master's place serves readers only.
        let read_only = stands_in && registration.acting_master == Some(true);
        for (topic, queues) in &registration.topics {
            // With an unchanged version only missing topics are added: permissions that an operator wiped stay so.
            if arrival.brings_news || !self.has_queues(topic, &arrival.broker) {
                let queues = if read_only { queues.read_only() } else { *queues };
                self.put_queues(topic, &arrival.broker, queues);
            }
        }
    }

    fn has_queues(&self, topic: &str, broker: &str) -> bool {
        self.topics.get(topic).is_some_and(|brokers| brokers.contains_key(broker))
    }

    fn remove_unlisted(&mut self, registration: &Registration<'_>, broker: &str) {
        let listed: std::collections::HashSet<&str> =
            registration.topics.iter().map(|(topic, _)| topic.as_str()).collect();
        let Some(set) = self.brokers.get(broker) else { return };
        let unlisted: Vec<_> = set.topics.iter().filter(|topic| !listed.contains(&***topic)).cloned().collect();
        for topic in unlisted {
            tracing::info!(%topic, broker, "topic is no longer registered by its broker: removed");
            self.remove_queues(&topic, broker);
        }
    }

    /// Takes over the mappings of static topics, under the same condition as the topics.
    fn enter_mappings(&mut self, registration: &Registration<'_>, arrival: &Arrival) {
        let stands_in = registration.id != MASTER_ID;
        if stands_in && !(arrival.prime && registration.acting_master.is_some()) {
            return;
        }
        for mapping in &registration.mappings {
            let topic: Arc<str> = mapping.topic.as_str().into();
            let brokers = self.mappings.entry(Arc::clone(&topic)).or_default();
            if brokers.get(mapping.bname.as_str()) != Some(mapping) {
                brokers.insert(mapping.bname.as_str().into(), mapping.clone());
                self.mark_stale(topic);
            }
        }
    }

    fn registered(&self, registration: &Registration<'_>, arrival: &Arrival) -> Registered {
        let Some(set) = self.brokers.get(&arrival.broker) else { return Registered::default() };
        let master = set
            .members
            .get(&MASTER_ID)
            .filter(|master| registration.id != MASTER_ID && &*master.cluster == registration.cluster);
        let ha_address = || registration.ha_address.map(Arc::from);
        Registered {
            master_address: master.map(|master| Arc::clone(&master.address)),
            ha_address: master.and_then(|master| master.ha_address.clone()),
            notice: arrival.min_changed.then(|| MinBrokerChanged::after_arrival(set, ha_address())).flatten(),
        }
    }
}

/// How a member came into its set.
struct Arrival {
    broker: Arc<str>,
    /// The id was not taken in this set, or the topic configuration is not the one last registered from this address.
    brings_news: bool,
    /// Smallest id of the set.
    prime: bool,
    /// Smaller than the smallest id before.
    min_changed: bool,
}
