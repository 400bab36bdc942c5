//! The load generator: sends pre-encoded requests over pipelined connections and times their answers.

mod connection;
mod lane;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;

pub use lane::{Lane, Pace};
pub use template::{FIRST_OPAQUE, MessageShape, Template, Variation};

use crate::clock::{nanos, to_nanos};
use crate::report::{Latency, Meter, Report, Spent, histogram};
use crate::server_process::ServerProcess;

/// When a measurement begins and ends, shared by all threads that take part.
pub struct Course {
    /// End of the warm-up, in nanoseconds of [`nanos`].
    pub from: u64,
    until: AtomicU64,
    sent: AtomicU64,
    most: u64,
}

impl Course {
    /// A measurement of `duration` seconds after `warm_up` seconds; it ends early when more than `most_bytes` of
    /// requests were sent.
    pub fn new(warm_up: f64, duration: f64, most_bytes: u64) -> Arc<Self> {
        let from = nanos() + to_nanos(warm_up);
        let until = AtomicU64::new(from + to_nanos(duration));
        Arc::new(Self { from, until, sent: AtomicU64::new(0), most: most_bytes })
    }

    /// When it ends, in nanoseconds of [`nanos`].
    pub fn until(&self) -> u64 {
        self.until.load(Ordering::Relaxed)
    }

    /// Ends it now.
    pub fn end(&self) {
        self.until.fetch_min(nanos(), Ordering::Relaxed);
    }

    /// Counts bytes of requests.
    pub fn count_sent(&self, bytes: u64) {
        if self.sent.fetch_add(bytes, Ordering::Relaxed) + bytes > self.most {
            self.end();
        }
    }

    /// Blocks until the warm-up is over, then until the end, and measures the server in between.
    pub fn watch(&self, process: Option<ServerProcess>) -> Result<Watched> {
        self.sleep_until(|| self.from);
        let (meter, started) = (Meter::start(process)?, nanos());
        self.sleep_until(|| self.until());
        let ended = nanos();
        Ok(Watched { spent: meter.stop()?, seconds: ended.saturating_sub(started) as f64 / 1e9 })
    }

    fn sleep_until(&self, at: impl Fn() -> u64) {
        while let Some(left) = at().min(self.until()).checked_sub(nanos()).filter(|left| *left > 0) {
            thread::sleep(Duration::from_nanos(left).min(Duration::from_millis(5)));
        }
    }
}

/// What was measured during a [`Course`].
pub struct Watched {
    /// What the server used, where its process is known.
    spent: Option<Spent>,
    /// Seconds between the two looks at the server.
    seconds: f64,
}

impl Watched {
    /// A report of `messages` messages, `bytes` bytes in all, with these latencies.
    pub fn report(&self, load: String, messages: u64, bytes: u64, latency: &Histogram<u64>) -> Report {
        Report {
            latency: Latency::of(latency),
            server: self.spent.map(|spent| spent.on(messages)),
            ..Report::new(load, self.seconds, messages, bytes)
        }
    }
}

/// What the answers of one or several lanes were.
pub struct Outcome {
    /// Latency of each request in nanoseconds.
    pub latency: Histogram<u64>,
    /// Messages acknowledged.
    pub messages: u64,
    /// Messages that were not, by response code; -1 where no answer came.
    pub failures: BTreeMap<i32, u64>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { latency: histogram(), messages: 0, failures: BTreeMap::new() }
    }
}

impl Outcome {
    /// Adds what another lane's answers were.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        self.latency.add(&other.latency)?;
        self.messages += other.messages;
        for (code, count) in &other.failures {
            *self.failures.entry(*code).or_default() += count;
        }
        Ok(())
    }
}

/// Runs each lane on a thread of its own while `meanwhile` runs on this one.
pub fn run<T>(lanes: Vec<Lane>, meanwhile: impl FnOnce() -> Result<T>) -> Result<(Outcome, T)> {
    let lanes = lanes.into_iter().map(|lane| || lane.run()).collect();
    beside(lanes, Outcome::default(), Outcome::add, meanwhile)
}

/// Runs each piece of work on a thread of its own while `meanwhile` runs on this one, and adds what they give to a sum.
pub fn beside<S: Send, T>(
    work: Vec<impl FnOnce() -> Result<S> + Send>,
    mut sum: S,
    add: impl Fn(&mut S, &S) -> Result<()>,
    meanwhile: impl FnOnce() -> Result<T>,
) -> Result<(S, T)> {
    thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|work| scope.spawn(work)).collect();
        let value = meanwhile();
        for thread in threads {
            add(&mut sum, &thread.join().map_err(|_| anyhow!("a thread of the generator panicked"))??)?;
        }
        Ok((sum, value?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_process::Memory;

    #[test]
    fn a_report_is_of_the_messages_that_it_names() {
        let spent = Some(Spent { cpu_seconds: 0.5, memory: Memory::default() });
        let mut latency = histogram();
        latency.saturating_record(3000);
        let report = Watched { spent, seconds: 2.0 }.report("load".into(), 1000, 4_000_000, &latency);
        assert_eq!((report.messages, report.messages_per_second, report.megabytes_per_second), (1000, 500.0, 2.0));
        let server = report.server.unwrap();
        assert_eq!((server.messages_per_cpu_second, server.cpu_micros_per_message), (2000.0, 500.0));
        assert_eq!(format!("{:.0}", report.latency.unwrap().max), "3");
    }
}
