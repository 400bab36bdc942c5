//! Tables of medians in Markdown.

use std::fmt::Write;

use super::Group;
use crate::compare::results::{Load, MEASURES, title};
use crate::compare::servers::Kind;
use crate::report::{Report, ratio};

/// All loads of a group: a row for each value, with the ratios of ours to the others.
pub fn markdown(group: &Group) -> String {
    let results = &group.results;
    let mut out = format!("\n{} headers, {} bytes:\n", group.headers, group.body);
    let mut before = Vec::new();
    for load in results.loads().into_iter().filter(|(_, of)| of.is_none()) {
        let kinds = results.kinds(&[load]);
        if kinds != before {
            out.push_str(&head(&kinds));
            before.clone_from(&kinds);
        }
        for (name, value) in MEASURES {
            let values: Vec<f64> = kinds.iter().map(|kind| results.median(load, *kind, *value)).collect();
            if values.iter().any(|value| *value > 0.0) {
                out.push_str(&row(load, name, &kinds, &values));
            }
        }
    }
    for name in results.growing() {
        out.push_str(&growth(group, name));
    }
    out
}

/// A row for each number of what there is more and more of.
fn growth(group: &Group, name: &str) -> String {
    let results = &group.results;
    let of_it: Vec<Load> = results.loads().into_iter().filter(|(other, of)| *other == name && of.is_some()).collect();
    let value = |load, value: fn(&Report) -> f64| results.median(load, Kind::Ours, value);
    let measures = MEASURES.iter().filter(|(_, measure)| of_it.iter().any(|load| value(*load, *measure) > 0.0));
    let mut out = format!("\n| {name} |");
    for (measure, _) in measures.clone() {
        let _ = write!(out, " {measure} |");
    }
    let _ = write!(out, "\n|{}", "---|".repeat(measures.clone().count() + 1));
    for load in &of_it {
        let _ = write!(out, "\n| {} |", number(load.1.unwrap_or(0) as f64));
        for (_, measure) in measures.clone() {
            let _ = write!(out, " {} |", number(value(*load, *measure)));
        }
    }
    out + "\n"
}

fn head(kinds: &[Kind]) -> String {
    let mut out = "\n| |".to_owned();
    for kind in kinds {
        let _ = write!(out, " {kind} |");
    }
    for kind in others(kinds) {
        let _ = write!(out, " ours : {kind} |");
    }
    format!("{out}\n|{}\n", "---|".repeat(out.matches('|').count() - 1))
}

fn row(load: Load, name: &str, kinds: &[Kind], values: &[f64]) -> String {
    let of =
        |wanted: Kind| kinds.iter().zip(values).find(|(kind, _)| **kind == wanted).map_or(0.0, |(_, value)| *value);
    let mut out = format!("| {}, {name} |", title(load));
    for value in values {
        let _ = write!(out, " {} |", number(*value));
    }
    for kind in others(kinds) {
        let _ = write!(out, " {} |", two_digits(ratio(of(Kind::Ours), of(kind))));
    }
    out.push('\n');
    out
}

fn others(kinds: &[Kind]) -> impl Iterator<Item = Kind> {
    let others = kinds.iter().copied().filter(|kind| *kind != Kind::Ours);
    others.filter(|_| kinds.contains(&Kind::Ours))
}

/// Thousands apart; a decimal where there are few digits before it.
fn number(value: f64) -> String {
    if value == 0.0 {
        return String::new();
    }
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn two_digits(value: f64) -> String {
    match value {
        0.0 => String::new(),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([0.0, 3.46, 946.2, 284_698.0, 1_738_706.4].map(number), ["", "3.5", "946", "284,698", "1,738,706"]);
        assert_eq!([0.0, 0.014, 0.289, 9.6, 80.44].map(two_digits), ["", "0.014", "0.29", "9.60", "80.4"]);
    }
}
