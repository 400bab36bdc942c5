//! Telling how far a long part of the start has come, and how long it will still take.

use std::time::{Duration, Instant};

use tracing::info;

/// The way from one place to another, told of from time to time.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    from: i64,
    to: i64,
    began: Instant,
    every: Duration,
    /// Never, where the time is too long to be told.
    next: Option<Instant>,
}

/// Where the way has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    percent: i64,
    /// What is left of the way, if it goes on as it went so far.
    left: Duration,
}

impl Progress {
    /// Of something that goes from a place to another, told of after each such time.
    pub(crate) fn new(what: &'static str, from: i64, to: i64, every: Duration) -> Self {
        let began = Instant::now();
        Self { what, from, to, began, every, next: began.checked_add(every) }
    }

    /// It has come to a place.
    pub(crate) fn at(&mut self, at: i64) {
        // a look at the clock costs less than what was done meanwhile
        if let Some(Report { percent, left }) = self.report(at, Instant::now()) {
            info!(at, end = self.to, percent, seconds_left = left.as_secs_f64().ceil(), "{}", self.what);
        }
    }

    fn report(&mut self, at: i64, now: Instant) -> Option<Report> {
        if self.next.is_none_or(|next| now < next) {
            return None;
        }
        self.next = now.checked_add(self.every);
        let (way, gone) = ((self.to - self.from).max(1), (at - self.from).max(0));
        let took = now - self.began;
        let left = took.mul_f64((way - gone).max(0) as f64 / gone.max(1) as f64);
        Some(Report { percent: (gone as f64 / way as f64 * 100.0) as i64, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_it_takes_long_and_how_long_it_will_take() {
        let second = Duration::from_secs(1);
        let mut progress = Progress::new("a test", 1000, 2000, second);
        let began = progress.began;
        assert_eq!(progress.report(1100, began + second / 2), None);
        let quarter = Report { percent: 25, left: second * 3 };
        assert_eq!(progress.report(1250, began + second), Some(quarter));
        assert_eq!(progress.report(1300, began + second), None);
        assert_eq!(progress.report(1800, began + second * 4), Some(Report { percent: 80, left: second }));
        assert_eq!(progress.report(2000, began + second * 5).map(|report| report.left), Some(Duration::ZERO));
    }

    #[test]
    fn any_place_can_be_told() {
        for (from, to, at) in [(0, 0, 0), (5, 5, 9), (0, 10, -1), (0, i64::MAX, 1), (0, 10, 20)] {
            let mut progress = Progress::new("a test", from, to, Duration::ZERO);
            assert!(progress.report(at, Instant::now()).is_some());
        }
    }
}
