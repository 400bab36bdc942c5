//! The thread that brings the log to disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tracing::error;

use super::CommitLog;
use super::group_commit::{NeverReached, Task};

impl CommitLog {
    pub(super) fn start_flushing(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let log = Arc::clone(self);
        thread::Builder::new().name("log-flush".to_owned()).spawn(move || log.run_flushing())
    }

    fn run_flushing(&self) {
        let mut last_thorough = Instant::now();
        let mut next = Instant::now() + self.changeable.load().flush_interval;
        loop {
            let task = self.flushed.next(next, || self.written());
            let changeable = **self.changeable.load();
            let least = match task {
                Task::Reach | Task::Stop => 0,
                Task::Nudged | Task::TimedOut if last_thorough.elapsed() >= changeable.flush_thorough => 0,
                Task::Nudged | Task::TimedOut => changeable.flush_least_pages,
            };
            if least == 0 {
                last_thorough = Instant::now();
            }
            if task != Task::Reach {
                next = Instant::now() + changeable.flush_interval;
            }
            // after a failure nothing is tried again: a second sync may succeed without having written
            if !self.gate.is_broken()
                && let Err(error) = self.flush(least)
            {
                let why: Arc<str> = error.to_string().into();
                error!(%error, flushed = self.flushed(), written = self.written(),
                    "the commit log cannot be synced: no message is taken until the broker is restarted");
                self.gate.break_down(Arc::clone(&why));
                self.flushed.end(NeverReached::SyncFailed(why));
            }
            if task == Task::Stop {
                self.flushed.end(NeverReached::Shutdown);
                return;
            }
        }
    }

    /// Syncs everything written, if it is at least so many pages.
    pub(super) fn flush(&self, least_pages: usize) -> io::Result<()> {
        // the time first: it is then not later than the position's
        let timestamp = self.last_timestamp.load(Ordering::Acquire);
        let (from, to) = (self.flushed.reached(), self.written());
        let pages = to / PAGE - from / PAGE;
        if from >= to || pages < least_pages as i64 {
            return Ok(());
        }
        let mut at = from;
        while at < to {
            // a file that was deleted meanwhile needs no sync
            let Some(segment) = self.segments.find(at) else {
                at = self.segments.min_offset().max(self.segments.next_start(at));
                continue;
            };
            let end = to.min(segment.end());
            segment.sync((at - segment.start()) as usize, (end - segment.start()) as usize)?;
            at = end;
        }
        self.flushed_timestamp.store(timestamp, Ordering::Release);
        self.flushed.reach(to);
        Ok(())
    }
}

const PAGE: i64 = 4096;
