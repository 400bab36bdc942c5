//! Medians and ratios.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Kind;
use crate::report::{Report, ratio};

/// All measurements of one serialisation, in the order of the loads.
#[derive(Default)]
pub struct Results {
    loads: Vec<&'static str>,
    reports: BTreeMap<(usize, Kind), Vec<Report>>,
    first_rate: f64,
}

impl Results {
    /// Adds a measurement.
    pub fn add(&mut self, load: &'static str, kind: Kind, report: Report) {
        if self.reports.is_empty() {
            self.first_rate = report.messages_per_second;
        }
        let at = self.loads.iter().position(|known| *known == load).unwrap_or_else(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.reports.entry((at, kind)).or_default().push(report);
    }

    /// Messages per second of the very first measurement of all.
    pub fn first_rate(&self) -> f64 {
        self.first_rate
    }

    /// A table of medians for each load, with the ratios of ours to the others.
    pub fn table(&self, kinds: &[Kind]) -> String {
        let mut out = String::new();
        for (at, load) in self.loads.iter().enumerate() {
            let _ = write!(out, "\n{load}\n{:<28}", "");
            for kind in kinds {
                let _ = write!(out, "{kind:>14}");
            }
            let _ = writeln!(out, "{:>16}{:>12}", "ours/reference", "ours/echo");
            for (name, value) in MEASURES {
                let of = |kind| self.median(at, kind, *value);
                let _ = write!(out, "  {name:<26}");
                for kind in kinds {
                    let _ = write!(out, "{:>14.1}", of(*kind));
                }
                let ours = of(Kind::Ours);
                let (reference, echo) = (ratio(ours, of(Kind::Reference)), ratio(ours, of(Kind::Echo)));
                let _ = writeln!(out, "{reference:>16.3}{echo:>12.3}");
            }
        }
        out
    }

    fn median(&self, load: usize, kind: Kind, value: fn(&Report) -> f64) -> f64 {
        let mut values: Vec<f64> = self.reports.get(&(load, kind)).into_iter().flatten().map(value).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => 0.0,
            n if n % 2 == 1 => values[middle],
            _ => f64::midpoint(values[middle - 1], values[middle]),
        }
    }
}

type Measure = (&'static str, fn(&Report) -> f64);

const MEASURES: &[Measure] = &[
    ("messages/s", |r| r.messages_per_second),
    ("messages per CPU second", |r| r.server.map_or(0.0, |s| s.messages_per_cpu_second)),
    ("CPU µs a message", |r| r.server.map_or(0.0, |s| s.cpu_micros_per_message)),
    ("latency p50 µs", |r| r.latency.map_or(0.0, |l| l.p50)),
    ("latency p99 µs", |r| r.latency.map_or(0.0, |l| l.p99)),
    ("latency p99.9 µs", |r| r.latency.map_or(0.0, |l| l.p999)),
    ("anonymous memory MiB", |r| r.server.map_or(0.0, |s| s.memory.anonymous as f64 / f64::from(1 << 20))),
    ("failures", |r| r.failures.values().sum::<u64>() as f64),
];
