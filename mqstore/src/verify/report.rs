//! What was found.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::error::Error;
use crate::output::Output;

/// Names problems as they are found, so many of each kind, and counts all.
pub(super) struct Report {
    output: Output,
    show: u64,
    problems: BTreeMap<&'static str, u64>,
    pending: BTreeMap<&'static str, u64>,
}

impl Report {
    pub(super) fn new(output: Output, show: u64) -> Self {
        Self { output, show, problems: BTreeMap::new(), pending: BTreeMap::new() }
    }

    /// Something is wrong with the store.
    pub(super) fn problem(&mut self, kind: &'static str, text: impl Display) -> Result<(), Error> {
        let count = self.problems.entry(kind).or_default();
        *count += 1;
        if *count <= self.show {
            self.output.line(format_args!("{kind}: {text}"))?;
        } else if *count == self.show + 1 {
            self.output.line(format_args!("{kind}: more are counted only (--show)"))?;
        }
        Ok(())
    }

    /// Something that the next start of a broker puts right by itself.
    pub(super) fn pending(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.pending.entry(what).or_default() += count;
        }
    }

    /// Something to know.
    pub(super) fn line(&mut self, text: impl Display) -> Result<(), Error> {
        self.output.line(text)
    }

    /// Says what was found in all; whether that is nothing.
    pub(super) fn finish(mut self) -> Result<bool, Error> {
        for (what, count) in &self.pending {
            self.output.line(format_args!("to be done by the next start: {count} {what}"))?;
        }
        if self.problems.is_empty() {
            self.output.line("no problem found")?;
        } else {
            let counts: Vec<_> = self.problems.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            self.output.line(format_args!("PROBLEMS: {}", counts.join(", ")))?;
        }
        self.output.flush()?;
        Ok(self.problems.is_empty())
    }
}
