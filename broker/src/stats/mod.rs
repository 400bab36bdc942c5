//! What the broker counts, and the requests that ask for it.

mod rate;
mod requests;
mod runtime;
mod time_span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apogee_store::NameMap;

pub(crate) use requests::{consume, topic};
pub(crate) use runtime::info as runtime_info;
pub(crate) use time_span::time_span;

use rate::Rate;

/// Counters of messages that came and went.
#[derive(Default)]
pub(crate) struct Stats {
    /// Messages stored, by topic.
    stored: NameMap<Rate>,
    /// Messages pulled, by group and topic (`topic@group`, as the reference names them).
    pulled: NameMap<NameMap<Rate>>,
    stored_messages: Rate,
    stored_bytes: AtomicU64,
    pulled_messages: Rate,
    pulled_bytes: AtomicU64,
}

impl Stats {
    /// Counts messages that were stored.
    pub(crate) fn stored(&self, topic: &str, messages: usize, bytes: usize) {
        self.stored_messages.add(messages);
        self.stored_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        add(&self.stored, topic, messages);
    }

    /// Counts messages that a group pulled.
    pub(crate) fn pulled(&self, group: &str, topic: &str, messages: usize, bytes: usize) {
        self.pulled_messages.add(messages);
        self.pulled_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        match self.pulled.get(group) {
            Some(topics) => add(&topics, topic, messages),
            None => add(&self.pulled.entry(Arc::from(group)).or_default(), topic, messages),
        }
    }

    /// Notes all counters at a time (ms), as rates need it. Call it every ten seconds.
    pub(crate) fn sample(&self, now: i64) {
        self.stored_messages.sample(now);
        self.pulled_messages.sample(now);
        self.stored.iter().for_each(|rate| rate.sample(now));
        self.pulled.iter().for_each(|topics| topics.iter().for_each(|rate| rate.sample(now)));
    }

    /// Messages a second that were stored in a topic, over the last minute.
    pub(crate) fn stored_per_second(&self, topic: &str) -> f64 {
        self.stored.get(topic).map_or(0.0, |rate| rate.per_second())
    }

    /// Messages a second that a group pulled of a topic, over the last minute.
    pub(crate) fn pulled_per_second(&self, group: &str, topic: &str) -> f64 {
        self.pulled.get(group).and_then(|topics| topics.get(topic).map(|rate| rate.per_second())).unwrap_or(0.0)
    }

    /// Forgets a topic.
    pub(crate) fn remove_topic(&self, topic: &str) {
        self.stored.remove(topic);
        self.pulled.iter().for_each(|topics| drop(topics.remove(topic)));
    }
}

fn add(rates: &NameMap<Rate>, name: &str, count: usize) {
    match rates.get(name) {
        Some(rate) => rate.add(count),
        None => rates.entry(Arc::from(name)).or_default().add(count),
    }
}
