//! What the broker counts, and the requests that ask for it.

mod consume;
mod kept;
mod put_times;
mod recent;
mod runtime;
mod time_span;
mod topic;
mod traffic;
mod view;

use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_store::NameMap;
use apogee_store::light::{LIGHT_PREFIX, is_light};

pub(crate) use consume::{consume, consume_all};
pub(crate) use kept::KeptTraffic;
pub(crate) use recent::tick;
pub(crate) use runtime::info as runtime_info;
pub(crate) use time_span::time_span;
pub(crate) use topic::topic;
pub(crate) use traffic::{Amount, Span};
pub(crate) use view::view;

use crate::Broker;
use crate::names::SCHEDULE_TOPIC;
use put_times::PutTimes;
use recent::{Mornings, Seconds};
use traffic::Traffic;

/// Counters of messages that came and went.
#[derive(Default)]
pub(crate) struct Stats {
    /// Whether all light queues, of which there may be very many, are counted as one, and so are their groups.
    light_as_one: bool,
    /// What was stored, by topic.
    stored: NameMap<Arc<Traffic>>,
    /// What was pulled, by group and topic.
    pulled: NameMap<NameMap<Traffic>>,
    /// What was given back, by group and topic.
    given_back: NameMap<NameMap<Traffic>>,
    all_stored: Traffic,
    all_pulled: Traffic,
    /// Messages of topics and groups that are gone, put and got.
    of_removed: [AtomicU64; 2],
    /// Pulls that found nothing.
    missed: AtomicU64,
    /// Puts that the store refused.
    refused: AtomicU64,
    /// The longest read for a pull, ms.
    longest_read: AtomicU64,
    put_times: PutTimes,
    seconds: Seconds,
    mornings: Mornings,
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
        self.stored_amount(None, topic, (messages, bytes, 1));
    }

    /// The same for one who may keep the topic's counters.
    pub(crate) fn stored_amount(&self, kept: Option<&KeptTraffic>, topic: &str, amount: Amount) {
        self.all_stored.count(amount);
        match kept {
            Some(kept) => kept.count(amount, || self.traffic_of(topic)),
            None => self.traffic_of(topic).count(amount),
        }
    }

    fn traffic_of(&self, topic: &str) -> Arc<Traffic> {
        let topic = self.counted(topic);
        let known = self.stored.get(topic).map(|traffic| Arc::clone(&traffic));
        known.unwrap_or_else(|| Arc::clone(&self.stored.entry(Arc::from(topic)).or_default()))
    }

    /// Counts messages that were stored one by one.
    pub(crate) fn stored_each(&self, topic: &str, messages: usize, bytes: usize) {
        self.stored_amount(None, topic, (messages, bytes, messages));
    }

    /// Counts messages that a group pulled.
    pub(crate) fn pulled(&self, group: &str, topic: &str, messages: usize, bytes: usize) {
        let amount = (messages, bytes, 1);
        self.all_pulled.count(amount);
        add_of_group(&self.pulled, self.counted(group), self.counted(topic), amount);
    }

    /// Counts delayed messages that were delivered: as pulled one by one by a group that the reference has for that.
    pub(crate) fn delivered(&self, messages: usize, bytes: usize) {
        add_of_group(&self.pulled, SCHEDULE_CONSUMER, SCHEDULE_TOPIC, (messages, bytes, messages));
    }

    /// Counts a put that the store refused.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes how long a producer waited until its message was stored.
    pub(crate) fn put_took(&self, took: Duration) {
        self.put_times.add(took);
    }

    /// Ends a minute of what was noted. To be called every minute.
    pub(crate) fn next_minute(&self) {
        self.put_times.next_minute(self.all_stored.counts().calls);
    }

    /// Notes how long a pull read, and whether it found anything.
    pub(crate) fn read_took(&self, took: Duration, has_found: bool) {
        if !has_found {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        let millis = took.as_millis() as u64;
        if millis > 0 {
            self.longest_read.fetch_max(millis, Ordering::Relaxed);
        }
    }

    /// Counts a message that a group gave back; `topic` is where it came from at first.
    pub(crate) fn given_back(&self, group: &str, topic: &str) {
        add_of_group(&self.given_back, self.counted(group), self.counted(topic), (1, 0, 1));
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
        let [put, got] = self.of_removed.each_ref().map(|count| count.load(Ordering::Relaxed));
        let got = got + self.pulled.iter().map(|topics| messages_of(&topics, &is_system)).sum::<u64>();
        [put + messages_of(&self.stored, &is_system), got]
    }

    /// Forgets a group.
    pub(crate) fn remove_group(&self, group: &str) {
        if let Some((_, topics)) = self.pulled.remove(group) {
            // Messages of system topics are few, and nobody asks for the totals to the last one.
            let got = topics.iter().map(|topic| topic.counts().messages).sum();
            self.of_removed[1].fetch_add(got, Ordering::Relaxed);
        }
        self.given_back.remove(group);
    }

    /// Forgets a topic.
    pub(crate) fn remove_topic(&self, topic: &str) {
        let put = self.stored.remove(topic).map_or(0, |(_, traffic)| {
            traffic.set_gone();
            traffic.counts().messages
        });
        let got = |topics: &NameMap<Traffic>| topics.remove(topic).map_or(0, |(_, traffic)| traffic.counts().messages);
        let got = self.pulled.iter().map(|topics| got(&topics)).sum();
        self.given_back.iter().for_each(|topics| drop(topics.remove(topic)));
        for (count, removed) in self.of_removed.iter().zip([put, got]) {
            count.fetch_add(removed, Ordering::Relaxed);
        }
    }
}

fn messages_of<T: Borrow<Traffic>>(topics: &NameMap<T>, is_system: impl Fn(&str) -> bool) -> u64 {
    topics.iter().filter(|topic| !is_system(topic.key())).map(|topic| topic.value().borrow().counts().messages).sum()
}

fn add_of_group(by_group: &NameMap<NameMap<Traffic>>, group: &str, topic: &str, amount: Amount) {
    match by_group.get(group) {
        Some(topics) => add(&topics, topic, amount),
        None => add(&by_group.entry(Arc::from(group)).or_default(), topic, amount),
    }
}

fn add(traffic: &NameMap<Traffic>, name: &str, amount: Amount) {
    match traffic.get(name) {
        Some(traffic) => traffic.count(amount),
        None => traffic.entry(Arc::from(name)).or_default().count(amount),
    }
}

const SCHEDULE_CONSUMER: &str = "SCHEDULE_CONSUMER";

fn queue(broker: &Broker, topic: &str, queue_id: i32) -> MessageQueue {
    MessageQueue { broker_name: broker.settings().broker.broker_name.clone(), queue_id, topic: topic.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_do_not_shrink_when_topics_and_groups_go() {
        let stats = Stats::new(false);
        for topic in ["T", "U", "SYSTEM"] {
            stats.stored(topic, 4, 100);
            stats.pulled("G", topic, 2, 50);
            stats.pulled("H", topic, 1, 50);
        }
        let totals = || stats.messages_of_users(|topic| topic == "SYSTEM");
        assert_eq!(totals(), [8, 6]);
        stats.remove_topic("T");
        stats.remove_topic("T");
        assert_eq!(totals(), [8, 6]);
        stats.pulled("G", "U", 5, 50);
        assert_eq!(totals(), [8, 11]);
    }

    #[test]
    fn who_keeps_counters_finds_those_of_a_topic_made_anew() {
        let (stats, kept) = (Stats::new(false), KeptTraffic::default());
        for made in 0..3 {
            stats.stored_amount(Some(&kept), "T", (4, 100, 1));
            stats.stored_amount(Some(&kept), "T", (4, 100, 1));
            stats.stored("T", 2, 100);
            assert_eq!(stats.stored.get("T").map(|traffic| traffic.counts().messages), Some(10));
            assert_eq!(stats.messages_of_users(|_| false)[0], 10 * (made + 1));
            // and looks for them once
            kept.count((0, 0, 0), || panic!("they are kept"));
            stats.remove_topic("T");
        }
    }

    #[test]
    fn only_what_took_long_is_remembered() {
        let stats = Stats::new(false);
        for (micros, has_found) in [(999, true), (7000, false), (2000, true)] {
            stats.read_took(Duration::from_micros(micros), has_found);
            stats.put_took(Duration::from_micros(micros));
        }
        assert_eq!((stats.longest_read.into_inner(), stats.missed.into_inner(), stats.put_times.longest()), (7, 1, 7));
    }
}
