//! How long it takes to store messages.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Times from a message's arrival until its producer may be told that it is stored, minute by minute.
///
/// Nearly all are below a millisecond. Only the others are counted here; how many there were in all is known elsewhere.
pub(super) struct PutTimes {
    /// The longest ever, ms.
    longest: AtomicU64,
    minute: Counters,
    /// Messages, in calls, that were stored before the minute.
    before: AtomicU64,
    /// What the last minute that is over was like.
    last: Mutex<Option<Minute>>,
}

/// Of those that took a millisecond or more.
struct Counters {
    classes: [AtomicU64; CLASSES.len()],
    steps: [AtomicU64; STEPS],
}

struct Minute {
    classes: [u64; CLASSES.len()],
    steps: [u64; STEPS],
}

impl Default for PutTimes {
    fn default() -> Self {
        let minute =
            Counters { classes: [const { AtomicU64::new(0) }; _], steps: [const { AtomicU64::new(0) }; STEPS] };
        Self { longest: AtomicU64::new(0), minute, before: AtomicU64::new(0), last: Mutex::default() }
    }
}

impl PutTimes {
    pub(super) fn add(&self, took: Duration) {
        let millis = took.as_millis() as u64;
        if millis == 0 {
            return;
        }
        self.longest.fetch_max(millis, Ordering::Relaxed);
        let class = CLASSES.iter().position(|(_, end)| millis < *end).unwrap_or(CLASSES.len() - 1);
        self.minute.classes[class].fetch_add(1, Ordering::Relaxed);
        let step = ends().position(|end| millis <= end).unwrap_or(STEPS - 1);
        self.minute.steps[step].fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a minute; `puts` is how often something was stored until now.
    pub(super) fn next_minute(&self, puts: u64) {
        let all = puts - self.before.swap(puts, Ordering::Relaxed).min(puts);
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        let (mut classes, mut steps) =
            (self.minute.classes.each_ref().map(take), self.minute.steps.each_ref().map(take));
        let fast = all.saturating_sub(classes.iter().sum());
        classes[0] = fast;
        steps[0] += fast;
        *self.last.lock() = Some(Minute { classes, steps });
    }

    /// The longest time ever, ms.
    pub(super) fn longest(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    /// How often what time was taken in the last minute, as the reference writes it; `null` before the first is over.
    pub(super) fn distribution(&self) -> String {
        let last = self.last.lock();
        let Some(minute) = &*last else { return "null".to_owned() };
        let mut text = String::new();
        for ((name, _), count) in CLASSES.iter().zip(minute.classes) {
            // Writing into memory does not fail.
            let _ = write!(text, "[{name}]:{count} ");
        }
        text
    }

    /// The time within which such a part of the last minute's messages was stored, ms; between two known times in proportion.
    pub(super) fn percentile(&self, part: f64) -> f64 {
        let last = self.last.lock();
        let Some(minute) = &*last else { return 0.0 };
        let wanted = (minute.steps.iter().sum::<u64>() as f64 * part).floor();
        let (mut passed, mut start) = (0.0, 0.0);
        for (count, end) in minute.steps.iter().map(|count| *count as f64).zip(ends()) {
            if wanted <= passed + count {
                let share = if count > 0.0 { (wanted - passed) / count } else { 0.0 };
                return start + (end as f64 - start) * share;
            }
            (passed, start) = (passed + count, end as f64);
        }
        start
    }
}

/// Ends of the steps, inclusive, ms: first by one, then in ever larger strides. The last one has no end.
fn ends() -> impl Iterator<Item = u64> {
    let mut end = 0;
    let strides = STRIDES.iter().flat_map(|(stride, times)| std::iter::repeat_n(*stride, *times));
    strides.map(move |stride| {
        end += stride;
        end
    })
}

const STRIDES: [(u64, usize); 7] = [(1, 20), (2, 15), (5, 10), (10, 10), (50, 6), (100, 5), (1000, 9)];
const STEPS: usize = 76;
/// The reference's names and their ends, exclusive, ms.
const CLASSES: [(&str, u64); 13] = [
    ("<=0ms", 1),
    ("0~10ms", 10),
    ("10~50ms", 50),
    ("50~100ms", 100),
    ("100~200ms", 200),
    ("200~500ms", 500),
    ("500ms~1s", 1000),
    ("1~2s", 2000),
    ("2~3s", 3000),
    ("3~4s", 4000),
    ("4~5s", 5000),
    ("5~10s", 10_000),
    ("10s~", u64::MAX),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_shown() {
        let times = PutTimes::default();
        assert_eq!((times.distribution(), times.percentile(0.99)), ("null".to_owned(), 0.0));
        for millis in [0, 3, 50, 60_000] {
            times.add(Duration::from_millis(millis));
        }
        assert_eq!(times.distribution(), "null", "it is not over");
        times.next_minute(100);
        let shown = "[<=0ms]:97 [0~10ms]:1 [10~50ms]:0 [50~100ms]:1 [100~200ms]:0 [200~500ms]:0 [500ms~1s]:0 [1~2s]:0 \
                     [2~3s]:0 [3~4s]:0 [4~5s]:0 [5~10s]:0 [10s~]:1 ";
        assert_eq!((times.distribution().as_str(), times.longest()), (shown, 60_000));
        // 97 below 1 ms, then one each at 3, 50 and above 10,000.
        let percentiles = [0.5, 0.98, 0.99].map(|part| format!("{:.2}", times.percentile(part)));
        assert_eq!(percentiles, ["0.52", "3.00", "50.00"]);
        times.next_minute(100);
        assert!(times.distribution().starts_with("[<=0ms]:0 "), "{}", times.distribution());
        assert_eq!((times.percentile(0.99), times.longest()), (0.0, 60_000));
    }

    #[test]
    fn steps_end_where_the_reference_has_them() {
        let ends: Vec<u64> = ends().collect();
        assert_eq!((ends.len() + 1, ends.last()), (STEPS, Some(&10_000)));
        assert!([20, 50, 100, 200, 500, 1000].iter().all(|end| ends.contains(end)));
    }
}
