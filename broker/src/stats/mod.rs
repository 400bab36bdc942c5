//! What the broker counts, and the requests that ask for it.

mod consume;
mod runtime;
mod time_span;
mod topic;
mod traffic;
mod view;

use std::sync::Arc;

use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_store::NameMap;
use apogee_store::light::{LIGHT_PREFIX, is_light};

pub(crate) use consume::{consume, consume_all};
pub(crate) use runtime::info as runtime_info;
pub(crate) use time_span::time_span;
pub(crate) use topic::topic;
pub(crate) use traffic::Span;
pub(crate) use view::view;

use crate::Broker;
use traffic::Traffic;

/// Counters of messages that came and went.
#[derive(Default)]
pub(crate) struct Stats {
    /// Whether all light queues, of which there may be very many, are counted as one, and so are their groups.
    light_as_one: bool,
    /// What was stored, by topic.
    stored: NameMap<Traffic>,
    /// What was pulled, by group and topic.
    pulled: NameMap<NameMap<Traffic>>,
    /// What was given back, by group and topic.
    given_back: NameMap<NameMap<Traffic>>,
    all_stored: Traffic,
    all_pulled: Traffic,
}

impl Stats {
    pub(crate) fn new(light_as_one: bool) -> Self {
        Self { light_as_one, ..Self::default() }
    }

    /// Under which name a topic or a group is counted.
    fn counted<'a>(&self, name: &'a str) -> &'a str {
        if self.light_as_one && is_light(name) { LIGHT_PREFIX } else { name }
    }

    /// Counts messages that were stored.
    pub(crate) fn stored(&self, topic: &str, messages: usize, bytes: usize) {
        self.all_stored.add(messages, bytes);
        add(&self.stored, self.counted(topic), messages, bytes);
    }

    /// Counts messages that a group pulled.
    pub(crate) fn pulled(&self, group: &str, topic: &str, messages: usize, bytes: usize) {
        self.all_pulled.add(messages, bytes);
        add_of_group(&self.pulled, self.counted(group), self.counted(topic), messages, bytes);
    }

    /// Counts a message that a group gave back; `topic` is where it came from at first.
    pub(crate) fn given_back(&self, group: &str, topic: &str) {
        add_of_group(&self.given_back, self.counted(group), self.counted(topic), 1, 0);
    }

    /// Notes all counters at a time (ms), as rates need it. Call it every [`Span::period`].
    pub(crate) fn sample(&self, span: Span, now: i64) {
        self.all_stored.sample(span, now);
        self.all_pulled.sample(span, now);
        self.stored.iter().for_each(|traffic| traffic.sample(span, now));
        for by_group in [&self.pulled, &self.given_back] {
            by_group.iter().for_each(|topics| topics.iter().for_each(|traffic| traffic.sample(span, now)));
        }
    }

    /// Messages a second that were stored in a topic, over the last minute.
    pub(crate) fn stored_per_second(&self, topic: &str) -> f64 {
        self.stored.get(self.counted(topic)).map_or(0.0, |traffic| traffic.per_second())
    }

    /// Messages a second that a group pulled of a topic, over the last minute.
    pub(crate) fn pulled_per_second(&self, group: &str, topic: &str) -> f64 {
        let topics = self.pulled.get(self.counted(group));
        topics.and_then(|topics| topics.get(self.counted(topic)).map(|traffic| traffic.per_second())).unwrap_or(0.0)
    }

    /// How many messages came and went that are not of a system topic.
    pub(crate) fn messages_of_users(&self, is_system: impl Fn(&str) -> bool) -> [u64; 2] {
        let sum = |topics: &NameMap<Traffic>| -> u64 {
            topics.iter().filter(|topic| !is_system(topic.key())).map(|topic| topic.counts().messages).sum()
        };
        [sum(&self.stored), self.pulled.iter().map(|topics| sum(&topics)).sum()]
    }

    /// Forgets a group.
    pub(crate) fn remove_group(&self, group: &str) {
        self.pulled.remove(group);
        self.given_back.remove(group);
    }

    /// Forgets a topic.
    pub(crate) fn remove_topic(&self, topic: &str) {
        self.stored.remove(topic);
        for by_group in [&self.pulled, &self.given_back] {
            by_group.iter().for_each(|topics| drop(topics.remove(topic)));
        }
    }
}

fn add_of_group(by_group: &NameMap<NameMap<Traffic>>, group: &str, topic: &str, messages: usize, bytes: usize) {
    match by_group.get(group) {
        Some(topics) => add(&topics, topic, messages, bytes),
        None => add(&by_group.entry(Arc::from(group)).or_default(), topic, messages, bytes),
    }
}

fn add(traffic: &NameMap<Traffic>, name: &str, messages: usize, bytes: usize) {
    match traffic.get(name) {
        Some(traffic) => traffic.add(messages, bytes),
        None => traffic.entry(Arc::from(name)).or_default().add(messages, bytes),
    }
}

fn queue(broker: &Broker, topic: &str, queue_id: i32) -> MessageQueue {
    MessageQueue { broker_name: broker.settings().broker.broker_name.clone(), queue_id, topic: topic.to_owned() }
}
