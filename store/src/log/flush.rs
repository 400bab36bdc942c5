//! Bringing the log to disk: the thread that does it, and waiting for it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use tokio::runtime::Handle;
use tracing::error;

use super::CommitLog;
use super::group_commit::{NeverReached, Task, Turn};

impl CommitLog {
    pub(super) fn start_flushing(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let log = Arc::clone(self);
        thread::Builder::new().name("log-flush".to_owned()).spawn(move || log.run_flushing())
    }

    fn run_flushing(&self) {
        let mut last_thorough = Instant::now();
        let mut next = Instant::now() + self.changeable.load().flush_interval;
        loop {
            let task = self.flushed.next(next, || self.end());
            let changeable = **self.changeable.load();
            let least = match task {
                Task::Reach | Task::Stop => 0,
                Task::Nudged | Task::TimedOut if last_thorough.elapsed() >= changeable.flush_thorough => 0,
                Task::Nudged | Task::TimedOut => changeable.flush_least_pages,
            };
            if least == 0 {
                last_thorough = Instant::now();
            }
            next = next_visit(next, task, Instant::now(), changeable.flush_interval);
            self.flush_or_break_down(self.lock_syncing(), least, None);
            if task == Task::Stop {
                self.flushed.end(NeverReached::Shutdown);
                return;
            }
        }
    }

    /// Waits for who syncs now. A leader that does for long holds up a thread of its runtime, and perhaps the one that looks for
    /// events: another one that gets something to do does so afterwards.
    fn lock_syncing(&self) -> MutexGuard<'_, ()> {
        loop {
            if let Some(syncing) = self.syncing.try_lock_for(LONG) {
                return syncing;
            }
            if let Some(runtime) = self.runtime.get() {
                drop(runtime.spawn(async {}));
            }
        }
    }

    /// Syncs everything there is, if it is at least so many pages. A log that cannot be synced takes nothing any more, and whoever
    /// waits is told. `by` is the ticket of a leader that does it.
    fn flush_or_break_down(&self, syncing: MutexGuard<'_, ()>, least_pages: usize, by: Option<u64>) {
        // after a failure nothing is tried again: a second sync may succeed without having written
        if !self.flushed.has_ended()
            && let Err(error) = self.flush(least_pages, by)
        {
            let why: Arc<str> = error.to_string().into();
            error!(%error, flushed = self.flushed(), written = self.written(),
                "the commit log cannot be synced: no message is taken until the broker is restarted");
            self.gate.break_down(Arc::clone(&why));
            self.flushed.end(NeverReached::SyncFailed(why));
        }
        drop(syncing);
        self.flushed.remind();
    }

    /// The same, for who holds `syncing`.
    pub(super) fn flush(&self, least_pages: usize, by: Option<u64>) -> io::Result<()> {
        self.write_staged().map_err(io::Error::other)?;
        // the time first: it is then not later than the position's
        let timestamp = self.last_timestamp.load(Ordering::Acquire);
        let (from, to) = (self.flushed.reached(), self.written());
        let pages = to / PAGE - from / PAGE;
        if from >= to || pages < least_pages as i64 {
            return Ok(());
        }
        let begun = Instant::now();
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
        self.flushed.reach(to, begun.elapsed(), || self.end(), by);
        Ok(())
    }
}

/// Waits until everything before a position is on disk; dropping it gives the wait up.
#[derive(Debug)]
pub struct Wait {
    log: Arc<CommitLog>,
    position: i64,
    ticket: Option<u64>,
    /// How often it still steps back for others.
    yields: u8,
}

impl Wait {
    pub(super) fn new(log: &Arc<CommitLog>, position: i64) -> Self {
        Self { log: Arc::clone(log), position, ticket: None, yields: 0 }
    }

    fn turn(&mut self, waker: &Waker) -> Turn {
        self.log.flushed.turn(self.position, self.log.end(), &mut self.ticket, waker)
    }
}

impl Future for Wait {
    type Output = Result<(), NeverReached>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut turn = self.turn(context.waker());
        if turn == Turn::LeadLast {
            self.yields = YIELDS;
        }
        if self.yields > 0 && matches!(turn, Turn::Lead | Turn::LeadLast) {
            self.yields -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if turn == Turn::Lead {
            // Whoever is at it reminds the leader afterwards.
            let Some(syncing) = self.log.syncing.try_lock() else { return Poll::Pending };
            if self.log.runtime.get().is_none()
                && let Ok(runtime) = Handle::try_current()
            {
                let _ = self.log.runtime.set(runtime);
            }
            // Blocks, but for less time than it takes to have another thread do it.
            self.log.flush_or_break_down(syncing, 0, self.ticket);
            turn = self.turn(context.waker());
        }
        match turn {
            Turn::Over(result) => {
                self.ticket = None;
                Poll::Ready(result)
            }
            Turn::Wait | Turn::Lead | Turn::LeadLast => Poll::Pending,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.log.flushed.give_up(ticket, || self.log.end());
            // so that it can be told that its message is stored, if not yet durable; a failure has been logged
            if self.log.written() < self.position {
                let _ = self.log.write_staged();
            }
        }
    }
}

/// When the thread looks again though nobody asks it to, after a task that it got `now`. A time that is over does not stay: the
/// thread would sync beside all leaders.
fn next_visit(next: Instant, task: Task, now: Instant, interval: Duration) -> Instant {
    if task == Task::Reach && next > now { next } else { now + interval }
}

const PAGE: i64 = 4096;
/// A sync that takes longer holds up others.
const LONG: Duration = Duration::from_millis(100);
/// Among the requests of a connection, the second one lets all other connections have their turn.
const YIELDS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_looks_again_after_an_interval_whatever_it_did() {
        let (begun, interval) = (Instant::now(), Duration::from_millis(500));
        let next = begun + interval;
        let early = begun + Duration::from_millis(1);
        assert_eq!(next_visit(next, Task::Reach, early, interval), next);
        assert_eq!(next_visit(next, Task::Nudged, early, interval), early + interval);
        for task in [Task::Reach, Task::TimedOut] {
            assert_eq!(next_visit(next, task, next, interval), next + interval, "{task:?}");
        }
    }
}
