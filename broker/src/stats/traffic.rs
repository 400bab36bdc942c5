//! Counters that also tell how fast they grow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// How far a look back goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Minute,
    Hour,
    Day,
}

impl Span {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Time between two samples.
    pub(crate) fn period(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(10),
            Self::Hour => Duration::from_mins(10),
            Self::Day => Duration::from_hours(1),
        }
    }

    /// Samples that are kept: so many periods and one more.
    fn samples(self) -> usize {
        match self {
            Self::Minute | Self::Hour => 7,
            Self::Day => 25,
        }
    }
}

/// Messages that go one way.
#[derive(Default)]
pub(super) struct Traffic {
    messages: AtomicU64,
    bytes: AtomicU64,
    /// How often something was added.
    calls: AtomicU64,
    /// Nobody asks for these counters any more.
    gone: AtomicBool,
    /// The counters from time to time, by span.
    samples: [Mutex<VecDeque<(i64, Counts)>>; 3],
}

/// What is added: messages, their bytes, and the calls in which they came.
pub(crate) type Amount = (usize, usize, usize);

/// The counters at one moment, or what came between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) calls: u64,
}

impl Traffic {
    pub(super) fn count(&self, (messages, bytes, calls): Amount) {
        self.messages.fetch_add(messages as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.calls.fetch_add(calls as u64, Ordering::Relaxed);
    }

    /// Lets who keeps these counters look for others.
    pub(super) fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            messages: self.messages.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
        }
    }

    /// To be called every [`Span::period`], with the time in ms. What is new began with nothing one period ago.
    pub(super) fn sample(&self, span: Span, now: i64) {
        let mut samples = self.samples[span as usize].lock();
        if samples.is_empty() {
            samples.push_back((now - span.period().as_millis() as i64, Counts::default()));
        }
        samples.push_back((now, self.counts()));
        if samples.len() > span.samples() {
            samples.pop_front();
        }
    }

    /// What came between the first and the last sample, and the seconds between them; nothing without any.
    pub(super) fn growth(&self, span: Span) -> (Counts, f64) {
        let samples = self.samples[span as usize].lock();
        let (Some((from, first)), Some((to, last))) = (samples.front(), samples.back()) else {
            return (Counts::default(), 0.0);
        };
        let growth = Counts {
            messages: last.messages - first.messages,
            bytes: last.bytes - first.bytes,
            calls: last.calls - first.calls,
        };
        (growth, (to - from) as f64 / 1000.0)
    }

    /// Messages a second over the last minute.
    pub(super) fn per_second(&self) -> f64 {
        let (growth, seconds) = self.growth(Span::Minute);
        ratio(growth.messages, seconds)
    }
}

/// A rate or a mean; 0 where there is nothing to divide by.
pub(super) fn ratio(count: u64, divisor: f64) -> f64 {
    if divisor > 0.0 { count as f64 / divisor } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_counts() {
        let traffic = Traffic::default();
        assert_eq!(traffic.growth(Span::Minute), (Counts::default(), 0.0));
        for second in 0..20 {
            traffic.sample(Span::Minute, second * 10_000);
            traffic.count((if second < 10 { 1000 } else { 50 }, 1, 1));
        }
        let minute = Counts { messages: 300, bytes: 6, calls: 6 };
        assert_eq!((traffic.growth(Span::Minute), traffic.per_second()), ((minute, 60.0), 5.0));
        assert_eq!(traffic.growth(Span::Hour), (Counts::default(), 0.0));
        assert_eq!(traffic.counts().messages, 10_500);
    }

    #[test]
    fn a_day_has_24_hours() {
        let traffic = Traffic::default();
        for hour in 0..30 {
            traffic.count((1, 1, 1));
            traffic.sample(Span::Day, hour * 3_600_000);
        }
        assert_eq!(traffic.growth(Span::Day).0.messages, 24);
    }
}
