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
pub use template::{MessageShape, Template};

use crate::clock::{nanos, to_nanos};
use crate::report::{self, Latency, Meter, Report};
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

    fn count_sent(&self, bytes: u64) {
        if self.sent.fetch_add(bytes, Ordering::Relaxed) + bytes > self.most {
            self.end();
        }
    }

    /// Blocks until the warm-up is over, then until the end, and measures the server in between. What it used
    /// comes as a function of the number of messages, with the seconds that were measured.
    pub fn watch(&self, process: Option<ServerProcess>) -> Result<Watched> {
        self.sleep_until(|| self.from);
        let (meter, started) = (Meter::start(process)?, nanos());
        self.sleep_until(|| self.until());
        let ended = nanos();
        Ok(Watched { usage: meter.stop(1)?, seconds: ended.saturating_sub(started) as f64 / 1e9 })
    }

    fn sleep_until(&self, at: impl Fn() -> u64) {
        while let Some(left) = at().min(self.until()).checked_sub(nanos()).filter(|left| *left > 0) {
            thread::sleep(Duration::from_nanos(left).min(Duration::from_millis(5)));
        }
    }
}

/// What was measured of the server during a [`Course`].
pub struct Watched {
    usage: Option<report::Usage>,
    /// Seconds between the two looks at the server.
    pub seconds: f64,
}

impl Watched {
    /// The server's use, per message.
    pub fn usage(&self, messages: u64) -> Option<report::Usage> {
        self.usage.map(|usage| report::Usage {
            messages_per_cpu_second: report::ratio(messages as f64, usage.cpu_seconds),
            cpu_micros_per_message: report::ratio(usage.cpu_seconds * 1e6, messages as f64),
            ..usage
        })
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
        Self { latency: report::histogram(), messages: 0, failures: BTreeMap::new() }
    }
}

impl Outcome {
    fn add(&mut self, other: &Self) -> Result<()> {
        self.latency.add(&other.latency)?;
        self.messages += other.messages;
        for (code, count) in &other.failures {
            *self.failures.entry(*code).or_default() += count;
        }
        Ok(())
    }

    /// A report of this outcome, for bodies of `body` bytes.
    pub fn report(&self, load: String, watched: &Watched, body: usize) -> Report {
        Report {
            failures: self.failures.clone(),
            latency: Latency::of(&self.latency),
            server: watched.usage(self.messages),
            ..Report::new(load, watched.seconds, self.messages, self.messages * body as u64)
        }
    }
}

/// Runs each lane on a thread of its own while `meanwhile` runs on this one.
pub fn run<T>(lanes: Vec<Lane>, meanwhile: impl FnOnce() -> Result<T>) -> Result<(Outcome, T)> {
    thread::scope(|scope| {
        let lanes: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(|| lane.run())).collect();
        let value = meanwhile();
        let mut outcome = Outcome::default();
        for lane in lanes {
            outcome.add(&lane.join().map_err(|_| anyhow!("a thread of the generator panicked"))??)?;
        }
        Ok((outcome, value?))
    })
}
