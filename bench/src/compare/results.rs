//! What was measured, and tables of medians and ratios.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Kind;
use crate::report::{Report, median, ratio};

/// One measurement of a comparison: one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// How headers were written: JSON or ROCKETMQ.
    pub headers: String,
    /// Bytes of each body.
    pub body: usize,
    /// Whose server it was.
    pub server: Kind,
    /// What it was measured under.
    pub load: String,
    /// Of how many, where a load is measured with several numbers of something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// What came of it.
    pub report: Report,
}

/// Measurements with the same headers and bodies.
#[derive(Default)]
pub struct Results(Vec<Measurement>);

/// A load, with how many of something there were.
pub type Load<'a> = (&'a str, Option<u64>);

impl Results {
    /// Adds a measurement.
    pub fn add(&mut self, measurement: Measurement) {
        self.0.push(measurement);
    }

    /// Messages per second of the very first measurement under `load`; 0 before there is one.
    pub fn first_rate(&self, load: &str) -> f64 {
        self.0.iter().find(|one| one.load == load).map_or(0.0, |one| one.report.messages_per_second)
    }

    /// The loads in the order in which they came.
    pub fn loads(&self) -> Vec<Load<'_>> {
        let mut loads = Vec::new();
        for load in self.0.iter().map(|one| (one.load.as_str(), one.of)) {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        loads
    }

    /// The loads that were measured with several numbers of something.
    pub fn growing(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self.loads().into_iter().filter(|(_, of)| of.is_some()).map(|(name, _)| name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The servers that were measured under one of `loads`, in the order in which tables have them.
    pub fn kinds(&self, loads: &[Load]) -> Vec<Kind> {
        let is_there = |kind: &Kind| self.0.iter().any(|one| one.server == *kind && loads.contains(&one.load()));
        Kind::ALL.into_iter().filter(is_there).collect()
    }

    /// The median of a value of one server under one load; 0 where it was not measured.
    pub fn median(&self, load: Load, kind: Kind, value: fn(&Report) -> f64) -> f64 {
        let of = self.0.iter().filter(|one| one.server == kind && one.load() == load);
        median(of.map(|one| value(&one.report)))
    }

    /// A table of medians for each load, with the ratios of ours to the others.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for load in self.loads() {
            let kinds = self.kinds(&[load]);
            let others: Vec<Kind> = kinds.iter().copied().filter(|kind| *kind != Kind::Ours).collect();
            let _ = write!(out, "\n{}\n{:<28}", title(load), "");
            for kind in &kinds {
                let _ = write!(out, "{kind:>14}");
            }
            for kind in &others {
                let _ = write!(out, "{:>16}", format!("ours/{kind}"));
            }
            out.push('\n');
            for (name, value) in MEASURES {
                let of = |kind| self.median(load, kind, *value);
                if kinds.iter().all(|kind| of(*kind) == 0.0) {
                    continue;
                }
                let _ = write!(out, "  {name:<26}");
                for kind in &kinds {
                    let _ = write!(out, "{:>14.1}", of(*kind));
                }
                for kind in &others {
                    let _ = write!(out, "{:>16.3}", ratio(of(Kind::Ours), of(*kind)));
                }
                out.push('\n');
            }
        }
        out
    }
}

impl Measurement {
    fn load(&self) -> Load<'_> {
        (&self.load, self.of)
    }
}

/// A load in words.
pub fn title((load, of): Load) -> String {
    of.map_or_else(|| load.to_owned(), |of| format!("{load}: {of}"))
}

/// A value of a report, with its name.
pub type Measure = (&'static str, fn(&Report) -> f64);

/// What tables show of a report; 0 where it is not known.
pub const MEASURES: &[Measure] = &[
    ("messages/s", |r| r.messages_per_second),
    ("MB/s", |r| r.megabytes_per_second),
    PER_CPU_SECOND,
    CPU_MICROS,
    ("latency p50 µs", |r| r.latency.map_or(0.0, |l| l.p50)),
    ("latency p99 µs", |r| r.latency.map_or(0.0, |l| l.p99)),
    ("latency p99.9 µs", |r| r.latency.map_or(0.0, |l| l.p999)),
    ANONYMOUS_MIB,
    ("failures", |r| r.failures.values().sum::<u64>() as f64),
];

/// Messages for each second of the server's processor time.
pub const PER_CPU_SECOND: Measure =
    ("messages per CPU second", |r| r.server.map_or(0.0, |s| s.messages_per_cpu_second));
/// The server's processor time for each message.
pub const CPU_MICROS: Measure = ("CPU µs a message", |r| r.server.map_or(0.0, |s| s.cpu_micros_per_message));
/// What the server keeps in memory for itself.
pub const ANONYMOUS_MIB: Measure =
    ("anonymous memory MiB", |r| r.server.map_or(0.0, |s| s.memory.anonymous as f64 / f64::from(1 << 20)));
