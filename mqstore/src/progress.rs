//! How far a long walk came, for people: only on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// A line on standard error that is written over again and again.
pub(crate) struct Progress {
    what: &'static str,
    from: i64,
    to: i64,
    started: Instant,
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// Over the physical offsets [from, to).
    pub(crate) fn new(what: &'static str, from: i64, to: i64) -> Self {
        let started = Instant::now();
        let next = stderr().is_terminal().then(|| started + EVERY);
        Self { what, from, to, started, next, shown: false }
    }

    /// The walk is at `at`.
    pub(crate) fn at(&mut self, at: i64) {
        let Some(next) = self.next.filter(|next| Instant::now() >= *next) else { return };
        self.next = Some(next + EVERY);
        self.shown = true;
        let (done, all) = ((at - self.from).max(0) as f64, (self.to - self.from).max(1) as f64);
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = elapsed / done.max(1.0) * (all - done).max(0.0);
        let filled = (done / all * BAR as f64) as usize;
        let _ = write!(
            stderr(),
            "\r{} [{:<BAR$}] {:3.0} % {:.0} MiB/s {left:.0} s left ",
            self.what,
            "#".repeat(filled.min(BAR)),
            done / all * 100.0,
            done / elapsed / f64::from(1 << 20),
        );
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // nobody is left to tell when it fails
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

const EVERY: Duration = Duration::from_millis(200);
const BAR: usize = 30;
