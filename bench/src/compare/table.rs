//! Medians and ratios.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Kind;
use crate::report::{Report, median, ratio};

/// All measurements of one serialisation, in the order of the loads.
#[derive(Default)]
pub struct Results {
    loads: Vec<&'static str>,
    reports: BTreeMap<(usize, Kind), Vec<Report>>,
    first: BTreeMap<usize, f64>,
}

impl Results {
    /// Adds a measurement.
    pub fn add(&mut self, load: &'static str, kind: Kind, report: Report) {
        let at = self.loads.iter().position(|known| *known == load).unwrap_or_else(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.first.entry(at).or_insert(report.messages_per_second);
        self.reports.entry((at, kind)).or_default().push(report);
    }

    /// Messages per second of the very first measurement under `load`; 0 before there is one.
    pub fn first_rate(&self, load: &str) -> f64 {
        let at = self.loads.iter().position(|known| *known == load);
        at.and_then(|at| self.first.get(&at)).copied().unwrap_or(0.0)
    }

    /// A table of medians for each load, with the ratios of ours to the others.
    pub fn table(&self, kinds: &[Kind]) -> String {
        let mut out = String::new();
        for (at, load) in self.loads.iter().enumerate() {
            let measured: Vec<Kind> =
                kinds.iter().copied().filter(|kind| self.reports.contains_key(&(at, *kind))).collect();
            let others: Vec<Kind> = measured.iter().copied().filter(|kind| *kind != Kind::Ours).collect();
            let _ = write!(out, "\n{load}\n{:<28}", "");
            for kind in &measured {
                let _ = write!(out, "{kind:>14}");
            }
            for kind in &others {
                let _ = write!(out, "{:>16}", format!("ours/{kind}"));
            }
            out.push('\n');
            for (name, value) in MEASURES {
                let of = |kind| self.median(at, kind, *value);
                if measured.iter().all(|kind| of(*kind) == 0.0) {
                    continue;
                }
                let _ = write!(out, "  {name:<26}");
                for kind in &measured {
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

    fn median(&self, load: usize, kind: Kind, value: fn(&Report) -> f64) -> f64 {
        median(self.reports.get(&(load, kind)).into_iter().flatten().map(value))
    }
}

type Measure = (&'static str, fn(&Report) -> f64);

const MEASURES: &[Measure] = &[
    ("messages/s", |r| r.messages_per_second),
    ("MB/s", |r| r.megabytes_per_second),
    ("messages per CPU second", |r| r.server.map_or(0.0, |s| s.messages_per_cpu_second)),
    ("CPU µs a message", |r| r.server.map_or(0.0, |s| s.cpu_micros_per_message)),
    ("latency p50 µs", |r| r.latency.map_or(0.0, |l| l.p50)),
    ("latency p99 µs", |r| r.latency.map_or(0.0, |l| l.p99)),
    ("latency p99.9 µs", |r| r.latency.map_or(0.0, |l| l.p999)),
    ("anonymous memory MiB", |r| r.server.map_or(0.0, |s| s.memory.anonymous as f64 / f64::from(1 << 20))),
    ("failures", |r| r.failures.values().sum::<u64>() as f64),
];
