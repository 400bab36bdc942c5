//! What admin requests do to topics.

use std::sync::Arc;

use super::queues::Queues;
use super::tables::Tables;

impl Tables {
    /// Announces a topic on the named brokers until their next full registration. Nothing happens when one of
    /// them is unknown; returns whether it was done.
    pub fn register_topic(&mut self, topic: &str, queues: &[(String, Queues)]) -> bool {
        if queues.is_empty() || queues.iter().any(|(broker, _)| !self.brokers.contains_key(broker.as_str())) {
            return false;
        }
        for (broker, queues) in queues {
            self.put_queues(topic, &Arc::from(broker.as_str()), *queues);
        }
        true
    }

    /// Forgets a topic on all brokers.
    pub fn delete_topic(&mut self, topic: &str) {
        self.delete_topic_where(topic, |_| true);
    }

    /// Forgets a topic on the brokers of one cluster.
    pub fn delete_topic_in(&mut self, topic: &str, cluster: &str) {
        self.delete_topic_where(topic, |set| set.is_in(cluster));
    }

    fn delete_topic_where(&mut self, topic: &str, fits: impl Fn(&super::broker_set::BrokerSet) -> bool) {
        let brokers: Vec<_> = self.topics.get(topic).into_iter().flat_map(|brokers| brokers.keys()).cloned().collect();
        for broker in brokers {
            if self.brokers.get(&broker).is_some_and(&fits) {
                tracing::info!(topic, %broker, "topic deleted");
                self.remove_queues(topic, &broker);
            }
        }
    }

    /// Closes all topics on `broker` for writing; returns their number.
    pub fn wipe_write_permission(&mut self, broker: &str) -> usize {
        self.change_queues(broker, Queues::read_only)
    }

    /// Opens all topics on `broker` for reading and writing; returns their number.
    pub fn add_write_permission(&mut self, broker: &str) -> usize {
        self.change_queues(broker, Queues::read_write)
    }
}
