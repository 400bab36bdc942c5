//! A counter that also tells how fast it grows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Samples that are kept: with one every ten seconds, a minute between the first and the last.
const SAMPLES: usize = 7;

#[derive(Default)]
pub(super) struct Rate {
    count: AtomicU64,
    /// Time (ms) and count.
    samples: Mutex<VecDeque<(i64, u64)>>,
}

impl Rate {
    pub(super) fn add(&self, count: usize) {
        self.count.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn sample(&self, now: i64) {
        let mut samples = self.samples.lock();
        samples.push_back((now, self.total()));
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    /// Growth a second between the samples kept; 0 with fewer than two.
    pub(super) fn per_second(&self) -> f64 {
        let samples = self.samples.lock();
        match (samples.front(), samples.back()) {
            (Some((from, first)), Some((to, last))) if to > from => (last - first) as f64 * 1000.0 / (to - from) as f64,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_counts() {
        let rate = Rate::default();
        assert!(rate.per_second().abs() < 1e-9);
        for second in 0..20 {
            rate.sample(second * 10_000);
            rate.add(if second < 10 { 1000 } else { 50 });
        }
        assert!((rate.per_second() - 5.0).abs() < 1e-9, "{}", rate.per_second());
        assert_eq!(rate.total(), 10_500);
    }
}
