//! Messages per second of processor time as bars.

use super::scale::{Scale, short};
use super::svg::{Anchor, Svg};
use super::{Group, color, legend};
use crate::compare::results::PER_CPU_SECOND;
use crate::compare::servers::Kind;

/// A bar for each server under each load that is measured with one number of everything.
pub fn per_cpu_second(groups: &[Group]) -> Option<String> {
    let mut rows: Vec<(String, Vec<(Kind, f64)>)> = Vec::new();
    for group in groups {
        for load in group.results.loads().into_iter().filter(|(_, of)| of.is_none()) {
            let value = |kind| (kind, group.results.median(load, kind, PER_CPU_SECOND.1));
            let of = group.results.kinds(&[load]).into_iter().map(value);
            let values: Vec<_> = of.filter(|(_, value)| *value > 0.0).collect();
            if !values.is_empty() {
                rows.push((group.name(load.0), values));
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let height = TOP + rows.iter().map(|(_, values)| values.len() as f64 * BAR + GAP).sum::<f64>() + BOTTOM;
    let mut sheet = Svg::new(WIDTH, height);
    sheet.title((LEFT, 18.0), "Messages per second of the server's processor time");
    let all = || rows.iter().flat_map(|(_, values)| values.iter().copied());
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| all().any(|(other, _)| other == *kind)).collect();
    legend(&mut sheet, (LEFT, 40.0), &kinds);
    let scale = Scale::over(all().map(|(_, value)| value), LEFT, WIDTH - RIGHT);
    for (value, x) in scale.marks() {
        sheet.rule((x, TOP - 8.0), (x, height - BOTTOM));
        sheet.text((x, height - BOTTOM + 16.0), Anchor::Middle, &short(value));
    }
    let mut y = TOP;
    for (name, values) in &rows {
        sheet.text((LEFT - 8.0, y + values.len() as f64 * BAR / 2.0 + 4.0), Anchor::End, name);
        for (kind, value) in values {
            let end = scale.at(*value);
            sheet.bar((LEFT, y), (end - LEFT, BAR - 2.0), color(*kind));
            sheet.text((end + 5.0, y + BAR - 4.0), Anchor::Start, &short(*value));
            y += BAR;
        }
        y += GAP;
    }
    Some(sheet.finish())
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 400.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 26.0;
const BAR: f64 = 15.0;
const GAP: f64 = 9.0;
