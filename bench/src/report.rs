//! What a measurement says, for people and for programs.

use std::collections::BTreeMap;

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::server_process::{Memory, ServerProcess};

/// One measurement. Rates are per second of the measured time, sizes are of message bodies unless said otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The load in a few words.
    pub load: String,
    /// Measured time in seconds, without the warm-up.
    pub seconds: f64,
    /// Messages acknowledged or received.
    pub messages: u64,
    /// The same per second.
    pub messages_per_second: f64,
    /// Megabytes (10^6) per second.
    pub megabytes_per_second: f64,
    /// Answers that were no success, by response code.
    pub failures: BTreeMap<i32, u64>,
    /// Latencies.
    pub latency: Option<Latency>,
    /// What the server used, where its process is known.
    pub server: Option<Usage>,
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// What a server process used during the measured time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Messages per second of processor time.
    pub messages_per_cpu_second: f64,
    /// Processor time for each message in microseconds.
    pub cpu_micros_per_message: f64,
    /// Resident memory at the end.
    pub memory: Memory,
}

/// The same before it is known for how many messages it was.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Processor time, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory at the end.
    pub memory: Memory,
}

impl Spent {
    /// As the use for `messages` messages.
    pub fn on(self, messages: u64) -> Usage {
        let Self { cpu_seconds, memory } = self;
        let messages = messages as f64;
        Usage {
            cpu_seconds,
            messages_per_cpu_second: ratio(messages, cpu_seconds),
            cpu_micros_per_message: ratio(cpu_seconds * 1e6, messages),
            memory,
        }
    }
}

/// Latencies in nanoseconds up to ten minutes, to three digits.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("the bounds are constant and valid")
}

impl Latency {
    /// The percentiles of `histogram`; none when it is empty.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        let max = histogram.max() as f64 / 1e3;
        (!histogram.is_empty()).then(|| Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max })
    }
}

/// The processor time of a server before a measurement.
pub struct Meter(Option<(ServerProcess, f64)>);

impl Meter {
    /// Starts to measure the process, if there is one to be measured.
    pub fn start(process: Option<ServerProcess>) -> Result<Self> {
        process.map(|process| Ok((process, process.cpu_seconds()?))).transpose().map(Self)
    }

    /// What was used since the start.
    pub fn stop(&self) -> Result<Option<Spent>> {
        let Some((process, before)) = self.0 else { return Ok(None) };
        Ok(Some(Spent { cpu_seconds: process.cpu_seconds()? - before, memory: process.memory()? }))
    }
}

impl Report {
    /// A report of `messages` messages with `bytes` of body in `seconds`.
    pub fn new(load: String, seconds: f64, messages: u64, bytes: u64) -> Self {
        Self {
            load,
            seconds,
            messages,
            messages_per_second: ratio(messages as f64, seconds),
            megabytes_per_second: ratio(bytes as f64 / 1e6, seconds),
            ..Self::default()
        }
    }

    /// Prints one line of JSON, or a table.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
        } else {
            print!("{}", self.table());
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut lines = vec![
            self.load.clone(),
            row("messages", format!("{} in {:.1} s", self.messages, self.seconds)),
            row("messages/s", format!("{:.0}", self.messages_per_second)),
            row("MB/s", format!("{:.1}", self.megabytes_per_second)),
        ];
        if let Some(latency) = self.latency {
            let Latency { p50, p90, p99, p999, max } = latency;
            let text = format!("p50 {p50:.1}  p90 {p90:.1}  p99 {p99:.1}  p99.9 {p999:.1}  max {max:.1}");
            lines.push(row("latency µs", text));
        }
        for (code, count) in &self.failures {
            lines.push(row("failures", format!("{count} with code {code}")));
        }
        if let Some(usage) = self.server {
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let memory = usage.memory;
            lines.push(row(
                "server CPU",
                format!(
                    "{:.2} s, {:.0} messages per CPU second, {:.2} µs a message",
                    usage.cpu_seconds, usage.messages_per_cpu_second, usage.cpu_micros_per_message
                ),
            ));
            lines.push(row(
                "server memory",
                format!(
                    "{:.1} MiB resident: {:.1} anonymous, {:.1} of files",
                    mib(memory.resident),
                    mib(memory.anonymous),
                    mib(memory.file)
                ),
            ));
        }
        lines.join("\n") + "\n"
    }
}

fn row(name: &str, value: impl std::fmt::Display) -> String {
    format!("  {name:<14} {value}")
}

/// `a / b`; 0 where there is nothing to divide by.
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// The middle one of values, or half-way between the middle two; 0 of none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match (values.get(values.len().saturating_sub(1) / 2), values.get(values.len() / 2)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => 0.0,
    }
}
