//! Latencies by percentile, and what grows with the number of something.

use super::scale::{Scale, short};
use super::svg::{Anchor, Svg};
use super::{Group, color, legend};
use crate::compare::results::{ANONYMOUS_MIB, CPU_MICROS, Measure};
use crate::compare::servers::Kind;
use crate::report::{Latency, Report};

/// A panel for each load that comes at a rate, or one at a time.
pub fn latencies(groups: &[Group]) -> Option<String> {
    let mut panels = Vec::new();
    for group in groups {
        for load in group.results.loads().into_iter().filter(|(name, of)| of.is_none() && is_paced(name)) {
            let curve = |kind| {
                let value = |(_, value): &Percentile| group.results.median(load, kind, *value);
                Curve { kind, points: PERCENTILES.iter().map(value).enumerate().map(place).collect() }
            };
            let curves = group.results.kinds(&[load]).into_iter().map(curve).collect();
            let marks = PERCENTILES.iter().enumerate().map(|(at, (name, _))| (at as f64, (*name).to_owned())).collect();
            panels.push(Panel { title: format!("{}, µs", group.name(load.0)), curves, marks, is_even: true });
        }
    }
    draw("Latency by percentile", &panels)
}

/// Processor time of a message and memory, for each load that is measured with several numbers of something.
pub fn growth(groups: &[Group]) -> Option<String> {
    let mut panels = Vec::new();
    for group in groups {
        let loads = group.results.loads();
        for name in group.results.growing() {
            let numbers = || loads.iter().filter(|(other, _)| *other == name).filter_map(|(_, of)| *of);
            // What sends need in memory is what was there before.
            let measures = if name.starts_with("sends") { &GROWING[..1] } else { GROWING };
            for (what, value) in measures {
                let at = |of: u64| (of as f64, group.results.median((name, Some(of)), Kind::Ours, *value));
                let points: Vec<_> = numbers().map(at).collect();
                if points.iter().all(|(_, value)| *value > 0.0) {
                    let curves = vec![Curve { kind: Kind::Ours, points }];
                    let marks = numbers().map(|of| (of as f64, short(of as f64))).collect();
                    panels.push(Panel { title: format!("{name}: {what}"), curves, marks, is_even: false });
                }
            }
        }
    }
    draw("What grows, and how", &panels)
}

/// A small drawing with axes of its own.
struct Panel {
    title: String,
    curves: Vec<Curve>,
    /// Values and names along the lower edge.
    marks: Vec<(f64, String)>,
    /// Whether these are at the same distance, else powers of ten are.
    is_even: bool,
}

struct Curve {
    kind: Kind,
    points: Vec<(f64, f64)>,
}

fn draw(title: &str, panels: &[Panel]) -> Option<String> {
    if panels.is_empty() {
        return None;
    }
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (COLUMNS as f64 * PANEL.0, rows as f64 * PANEL.1 + TOP);
    let mut sheet = Svg::new(width, height);
    sheet.title((16.0, 20.0), title);
    let is_there = |kind: &Kind| panels.iter().flat_map(|panel| &panel.curves).any(|curve| curve.kind == *kind);
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(is_there).collect();
    legend(&mut sheet, (200.0, 20.0), &kinds);
    for (at, panel) in panels.iter().enumerate() {
        let corner = ((at % COLUMNS) as f64 * PANEL.0, (at / COLUMNS) as f64 * PANEL.1 + TOP);
        panel.draw(&mut sheet, corner);
    }
    Some(sheet.finish())
}

impl Panel {
    fn draw(&self, sheet: &mut Svg, (left, top): (f64, f64)) {
        let (from, to) = (left + 62.0, left + PANEL.0 - 40.0);
        let (upper, lower) = (top + 26.0, top + PANEL.1 - 34.0);
        sheet.title((left + 16.0, top + 14.0), &self.title);
        let values = self.curves.iter().flat_map(|curve| curve.points.iter().map(|(_, value)| *value));
        let scale = Scale::over(values, lower, upper);
        for (value, y) in scale.marks() {
            sheet.rule((from, y), (to, y));
            sheet.text((from - 6.0, y + 4.0), Anchor::End, &short(value));
        }
        let logarithmic = Scale::between(self.marks.iter().map(|(value, _)| *value), from, to);
        let step = (to - from) / (self.marks.len().max(2) - 1) as f64;
        let place = |value: f64| if self.is_even { from + value * step } else { logarithmic.at(value) };
        for (value, name) in &self.marks {
            sheet.text((place(*value), lower + 17.0), Anchor::Middle, name);
        }
        for curve in &self.curves {
            let known = curve.points.iter().filter(|(_, value)| *value > 0.0);
            let points: Vec<_> = known.map(|(x, y)| (place(*x), scale.at(*y))).collect();
            sheet.curve(&points, color(curve.kind));
        }
    }
}

fn is_paced(load: &str) -> bool {
    ["open loop", "/s", "one in flight", "lateness"].iter().any(|word| load.contains(word))
}

fn place((at, value): (usize, f64)) -> (f64, f64) {
    (at as f64, value)
}

type Percentile = (&'static str, fn(&Report) -> f64);

const PERCENTILES: &[Percentile] = &[
    ("p50", |report| of(report, |latency| latency.p50)),
    ("p90", |report| of(report, |latency| latency.p90)),
    ("p99", |report| of(report, |latency| latency.p99)),
    ("p99.9", |report| of(report, |latency| latency.p999)),
    ("max", |report| of(report, |latency| latency.max)),
];

fn of(report: &Report, value: fn(Latency) -> f64) -> f64 {
    report.latency.map_or(0.0, value)
}

const GROWING: &[Measure] = &[("CPU µs each", CPU_MICROS.1), ANONYMOUS_MIB, ("start, ms", |report| start(report))];

/// A start has one latency.
fn start(report: &Report) -> f64 {
    if report.messages == 1 { of(report, |latency| latency.max) / 1e3 } else { 0.0 }
}

const COLUMNS: usize = 2;
const PANEL: (f64, f64) = (480.0, 210.0);
const TOP: f64 = 34.0;
