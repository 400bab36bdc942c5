//! What admin tools and brokers ask about the whole: clusters, members, lists of topics.

use std::collections::{BTreeMap, BTreeSet};

use apogee_remoting::protocol::register::BrokerMemberGroup;
use apogee_remoting::protocol::route::ClusterInfo;
use apogee_remoting::protocol::topic::TopicList;

use super::queues::Queues;
use super::tables::Tables;

impl Tables {
    /// All broker sets and clusters.
    pub fn cluster_info(&self) -> ClusterInfo {
        ClusterInfo {
            broker_addr_table: self.brokers.iter().map(|(name, set)| (name.to_string(), set.data(name))).collect(),
            cluster_addr_table: self.clusters(),
        }
    }

    /// Addresses of a broker set by id; none when it is unknown.
    pub fn member_group(&self, cluster: &str, broker: &str) -> BrokerMemberGroup {
        let members = self.brokers.get(broker).into_iter().flat_map(|set| &set.members);
        BrokerMemberGroup {
            cluster: cluster.to_owned(),
            broker_name: broker.to_owned(),
            broker_addrs: members.map(|(id, member)| (*id, member.address.to_string())).collect(),
        }
    }

    /// Every topic.
    pub fn all_topics(&self) -> TopicList {
        topic_list(self.topics.keys())
    }

    /// Topics on the brokers of `cluster`.
    pub fn topics_of_cluster(&self, cluster: &str) -> TopicList {
        topic_list(self.brokers.values().filter(|set| set.is_in(cluster)).flat_map(|set| &set.topics))
    }

    /// Names of clusters and brokers, which every broker has a topic for, and the address of one broker
    /// that can be asked for the rest.
    pub fn system_topics(&self) -> TopicList {
        let mut list = topic_list(self.brokers.keys());
        list.topic_list.extend(self.clusters().into_keys());
        if let Some(member) = self.brokers.values().find_map(|set| set.members.values().next()) {
            list.broker_addr = member.address.to_string();
        }
        list
    }

    /// Topics whose first broker has queues that fit.
    pub fn topics_where(&self, fits: impl Fn(Queues) -> bool) -> TopicList {
        let first = |brokers: &BTreeMap<_, Queues>| brokers.values().next().copied();
        topic_list(self.topics.iter().filter(|(_, brokers)| first(brokers).is_some_and(&fits)).map(|(topic, _)| topic))
    }

    /// Broker names by cluster.
    fn clusters(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut clusters = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, set) in &self.brokers {
            for cluster in set.members.values().map(|member| &member.cluster).chain([&set.cluster]) {
                clusters.entry(cluster.to_string()).or_default().insert(name.to_string());
            }
        }
        clusters
    }
}

fn topic_list<'a>(topics: impl Iterator<Item = &'a std::sync::Arc<str>>) -> TopicList {
    TopicList { topic_list: topics.map(ToString::to_string).collect(), broker_addr: String::new() }
}
