//! What happened in the last seconds and days.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use crate::Broker;
use crate::topic::is_system_topic;

/// What is sampled each second.
#[derive(Clone, Copy)]
pub(super) enum Count {
    /// Messages stored.
    Put,
    /// Pulls that found messages.
    Found,
    /// Pulls that found none.
    Missed,
    /// Messages pulled.
    Transferred,
}

/// The counters of the last ten minutes, second by second.
#[derive(Default)]
pub(super) struct Seconds(Mutex<VecDeque<(i64, [u64; 4])>>);

impl Seconds {
    fn sample(&self, now: i64, counts: [u64; 4]) {
        let mut samples = self.0.lock();
        samples.push_back((now, counts));
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    /// How many a second there were in the last 10, 60 and 600 s, as the reference writes them: empty where that is not yet
    /// known.
    pub(super) fn rates(&self, count: Count) -> String {
        let rate = |seconds| self.rate(count, seconds).map_or(String::new(), |rate| format!("{rate:?}"));
        [10, 60, 600].map(rate).join(" ")
    }

    /// The same of all pulls; 0 where it is not known yet.
    pub(super) fn rates_of_pulls(&self) -> String {
        let rate = |count, seconds| self.rate(count, seconds).unwrap_or(0.0);
        [10, 60, 600]
            .map(|seconds| format!("{:?}", rate(Count::Found, seconds) + rate(Count::Missed, seconds)))
            .join(" ")
    }

    fn rate(&self, count: Count, seconds: usize) -> Option<f64> {
        let samples = self.0.lock();
        let (from, first) = samples.get(samples.len().checked_sub(seconds + 1)?)?;
        let (to, last) = samples.back()?;
        let growth = last[count as usize] - first[count as usize];
        Some(if to > from { growth as f64 / (to - from) as f64 * 1000.0 } else { 0.0 })
    }
}

/// Messages of users, put and got, until the last two midnights.
#[derive(Default)]
pub(super) struct Mornings(Mutex<State>);

#[derive(Default)]
struct State {
    yesterday: [u64; 2],
    today: [u64; 2],
    /// The next midnight of this machine's time zone, ms since the epoch; 0 before it is known.
    next: i64,
}

impl Mornings {
    /// Until the midnight before the last one, and until the last one.
    pub(super) fn totals(&self) -> [[u64; 2]; 2] {
        let state = self.0.lock();
        [state.yesterday, state.today]
    }

    fn look(&self, now: i64, totals: impl FnOnce() -> [u64; 2]) {
        let mut state = self.0.lock();
        if now >= state.next {
            if state.next > 0 {
                state.yesterday = state.today;
                state.today = totals();
            }
            state.next = midnight_after(now);
        }
    }
}

/// To be called every second.
pub(crate) fn tick(broker: &Broker) {
    let (stats, now) = (&broker.stats, broker.now());
    let (stored, pulled) = (stats.all_stored.counts(), stats.all_pulled.counts());
    let missed = stats.missed.load(Ordering::Relaxed);
    stats.seconds.sample(now, [stored.messages, pulled.calls, missed, pulled.messages]);
    stats.mornings.look(now, || stats.messages_of_users(|topic| is_system_topic(&broker.settings(), topic)));
}

fn midnight_after(now: i64) -> i64 {
    let midnight = || -> Result<i64, jiff::Error> {
        let day = Timestamp::from_millisecond(now)?.to_zoned(TimeZone::system());
        Ok(day.tomorrow()?.start_of_day()?.timestamp().as_millisecond())
    };
    // A clock beyond all calendars.
    midnight().unwrap_or(i64::MAX)
}

const SAMPLES: usize = 601;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_known_after_their_time() {
        let seconds = Seconds::default();
        for second in 0..=60 {
            assert_eq!(seconds.rates(Count::Put).split(' ').next() == Some(""), second <= 10);
            seconds.sample(second * 1000, [second as u64 * 5, 2, 3, 0]);
        }
        assert_eq!(seconds.rates(Count::Put), "5.0 5.0 ");
        assert_eq!(seconds.rates(Count::Transferred), "0.0 0.0 ");
        assert_eq!(seconds.rates_of_pulls(), "0.0 0.0 0.0");
        for second in 61..2000 {
            seconds.sample(second * 1000, [second as u64 * 5, second as u64, 2 * second as u64, 0]);
        }
        assert_eq!((seconds.rates(Count::Put).as_str(), seconds.0.lock().len()), ("5.0 5.0 5.0", SAMPLES));
        assert_eq!(seconds.rates_of_pulls(), "3.0 3.0 3.0");
    }

    #[test]
    fn a_day_ends_at_midnight() {
        let (mornings, now) = (Mornings::default(), 1_700_000_000_000);
        let midnight = midnight_after(now);
        assert!(midnight > now && midnight <= now + 25 * 3_600_000);
        mornings.look(now, || unreachable!("the first day begins with nothing"));
        mornings.look(midnight - 1, || unreachable!("it is not over"));
        mornings.look(midnight, || [7, 3]);
        assert_eq!(mornings.totals(), [[0, 0], [7, 3]]);
        mornings.look(midnight_after(midnight), || [9, 3]);
        assert_eq!(mornings.totals(), [[7, 3], [9, 3]]);
    }
}
