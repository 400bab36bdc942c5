//! Looking after halves whose end did not come.

use std::io;

use apogee_config::BrokerSettings;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_store::queue::Unit;

use super::{HALF_TOPIC, QUEUE, ask, immunity};
use crate::saved_table::SaveError;
use crate::topic::{PERM_READ, PERM_WRITE};
use crate::{Broker, names};

/// Goes over the halves once, or until checks are stopped.
///
/// # Errors
/// A half cannot be read. Those before it are passed: their copies take their places.
pub(super) fn check(broker: &Broker) -> io::Result<()> {
    let transactions = &broker.transactions;
    let _checking = transactions.checking.lock();
    let min = broker.store.min_offset(HALF_TOPIC, QUEUE);
    let mut next = transactions.halves.lock().checked().max(min);
    let checked = pass_all(broker, &mut next);
    transactions.halves.lock().pass(next);
    checked
}

/// Passes halves from `next` on; it is the first that is not passed afterwards.
fn pass_all(broker: &Broker, next: &mut i64) -> io::Result<()> {
    let started = broker.now();
    loop {
        let units = broker.store.units(HALF_TOPIC, QUEUE, *next, AT_ONCE)?;
        if units.is_empty() {
            return Ok(());
        }
        for (offset, unit) in units {
            if broker.transactions.is_stopped() || !pass(broker, started, offset, unit)? {
                return Ok(());
            }
            *next = offset + 1;
        }
    }
}

/// Passes one half; `false` when it is not its time, nor that of those behind it.
fn pass(broker: &Broker, started: i64, offset: i64, unit: Unit) -> io::Result<bool> {
    if broker.transactions.halves.lock().is_ended(offset) {
        return Ok(true);
    }
    let Some(bytes) = broker.store.record_of(unit)? else {
        tracing::warn!(offset, "a half message is no longer in the log");
        return Ok(true);
    };
    let half = match Record::parse(&bytes) {
        Ok(half) => half,
        Err(error) => {
            tracing::error!(offset, %error, "a half message is damaged and passed over");
            return Ok(true);
        }
    };
    let verdict = Verdict::of(&half, &broker.settings(), started);
    if verdict == Verdict::Wait {
        return Ok(false);
    }
    if verdict == Verdict::GiveUp
        && let Err(error) = make_given_up_topic(broker)
    {
        tracing::error!(%error, "no topic for half messages that are given up");
        return Ok(false);
    }
    let mut halves = broker.transactions.halves.lock();
    if halves.is_ended(offset) {
        return Ok(true);
    }
    let mut properties = PropertiesBuf::from_text(half.draft().properties);
    let mut target = (HALF_TOPIC, QUEUE);
    let mut is_secret = false;
    match verdict {
        Verdict::GiveUp => target = (names::TRANS_CHECK_MAX_TIME_TOPIC, 0),
        Verdict::Ask { times } => drop(properties.set(key::TRANSACTION_CHECK_TIMES, times.to_string())),
        Verdict::Immune | Verdict::Wait => {
            is_secret = half.properties.get(key::TRAN_PREPARED_QUEUE_OFFSET).is_some();
            if !is_secret {
                properties.push(key::TRAN_PREPARED_QUEUE_OFFSET, offset.to_string());
            }
        }
    }
    let draft = Draft { topic: target.0, queue_id: target.1, properties: properties.as_bytes(), ..half.draft() };
    let moved = match broker.store.append(&draft) {
        Ok(appended) => appended,
        Err(error) => {
            tracing::warn!(offset, %error, "a half message is not checked yet");
            return Ok(false);
        }
    };
    broker.stats.stored(target.0, 1, moved.size);
    if verdict == Verdict::GiveUp {
        tracing::error!(offset, "a half message is given up: it was checked too often, or is too old");
        let topic = half.properties.get_str(key::REAL_TOPIC).unwrap_or_default();
        broker.transactions.metrics.add(topic, -1, broker.now());
        return Ok(true);
    }
    halves.moved(offset, moved.queue_offset, is_secret);
    drop(halves);
    if matches!(verdict, Verdict::Ask { .. }) {
        ask::ask(broker, &draft, &moved);
    }
    Ok(true)
}

/// What is to be done with a half that did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Too young, as are those behind it.
    Wait,
    /// Its producer wants to be left alone for longer than others.
    Immune,
    /// Its producer is asked, for this time.
    Ask { times: i32 },
    /// Nobody asks any more.
    GiveUp,
}

impl Verdict {
    fn of(half: &Record<'_>, settings: &BrokerSettings, started: i64) -> Self {
        if half.store_timestamp >= started {
            // Stored again by this very check: its producer has to have a chance to answer.
            return Self::Wait;
        }
        let times = half.properties.get_number(key::TRANSACTION_CHECK_TIMES).unwrap_or(0).max(0);
        let age = started - half.born_timestamp;
        let longest = i64::from(settings.store.file_reserved_time).saturating_mul(3_600_000);
        if times >= settings.broker.transaction_check_max || age > longest {
            return Self::GiveUp;
        }
        let timeout = settings.broker.transaction_time_out;
        match half.properties.get_str(key::CHECK_IMMUNITY_TIME_IN_SECONDS) {
            Some(asked) if age <= immunity(asked).unwrap_or(timeout) => Self::Immune,
            // One that was born in the future is asked about.
            None if (0..=timeout).contains(&age) => Self::Wait,
            _ => Self::Ask { times: times.saturating_add(1) },
        }
    }
}

/// Ends when halves that are given up have a topic.
fn make_given_up_topic(broker: &Broker) -> Result<(), SaveError> {
    while let Err(saving) = broker.topics.get_or_create(given_up_topic()) {
        saving.wait()?;
    }
    Ok(())
}

fn given_up_topic() -> TopicConfig {
    TopicConfig {
        topic_name: names::TRANS_CHECK_MAX_TIME_TOPIC.to_owned(),
        read_queue_nums: 1,
        write_queue_nums: 1,
        perm: PERM_READ | PERM_WRITE,
        ..TopicConfig::default()
    }
}

const AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const BORN: i64 = 1_000_000;

    fn verdict(properties: &[u8], age: i64) -> Verdict {
        let host = "127.0.0.1:1".parse().unwrap();
        let draft = Draft {
            topic: HALF_TOPIC,
            queue_id: 0,
            flag: 0,
            sys_flag: 0,
            born_timestamp: BORN,
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: b"",
            body_crc: None,
            properties,
        };
        let mut bytes = Vec::new();
        draft.encode(&mut bytes, false).unwrap();
        Verdict::of(&Record::parse(&bytes).unwrap(), &BrokerSettings::default(), BORN + age)
    }

    #[test]
    fn a_half_is_asked_about_when_its_time_has_run_out() {
        assert_eq!([0, 6000].map(|age| verdict(b"", age)), [Verdict::Wait; 2]);
        assert_eq!([6001, -1].map(|age| verdict(b"", age)), [Verdict::Ask { times: 1 }; 2]);
        let once = b"TRANSACTION_CHECK_TIMES\x011\x02";
        assert_eq!(verdict(once, 6001), Verdict::Ask { times: 2 });
    }

    #[test]
    fn a_half_is_given_up_after_the_last_time_or_with_its_file() {
        let last = b"TRANSACTION_CHECK_TIMES\x0115\x02";
        assert_eq!(verdict(last, 6001), Verdict::GiveUp);
        assert_eq!(verdict(b"", 72 * 3_600_000 + 1), Verdict::GiveUp);
    }

    #[test]
    fn a_half_may_be_left_alone_for_longer_or_shorter() {
        let seconds = |seconds: &str| format!("CHECK_IMMUNITY_TIME_IN_SECONDS\x01{seconds}\x02").into_bytes();
        assert_eq!(verdict(&seconds("10"), 10_000), Verdict::Immune);
        assert_eq!(verdict(&seconds("1"), 1001), Verdict::Ask { times: 1 });
        assert_eq!(verdict(&seconds("-1"), 6000), Verdict::Immune);
    }
}
