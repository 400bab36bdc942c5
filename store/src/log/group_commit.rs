//! Group commit: many wait for a position, one works towards it, all whose position is reached wake together.
//!
//! A state machine without I/O. Positions only grow. A failure is final: what was reached stays reached, nothing
//! beyond it ever is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use thiserror::Error;

/// The position will never be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NeverReached {
    /// A sync failed: what is on disk is not known.
    #[error("the commit log could not be synced: {0}")]
    SyncFailed(Arc<str>),
    /// The store was shut down before.
    #[error("the store was shut down")]
    Shutdown,
}

/// A position, and those who wait for it.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    reached: AtomicI64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiters: Vec<Waiter>,
    tickets: u64,
    /// The furthest position anybody waited for.
    wanted: i64,
    nudged: bool,
    stopping: bool,
    ended: Option<NeverReached>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    position: i64,
    waker: Waker,
}

/// What the worker has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Somebody waits for a position that is not reached.
    Reach,
    /// Nobody waits; somebody said that there is something to do.
    Nudged,
    /// Nobody waits; the time is over.
    TimedOut,
    /// Reach what there is, then end.
    Stop,
}

impl GroupCommit {
    pub(crate) fn new(reached: i64) -> Self {
        Self { reached: AtomicI64::new(reached), state: Mutex::default(), changed: Condvar::new() }
    }

    /// The position that is reached.
    pub(crate) fn reached(&self) -> i64 {
        self.reached.load(Ordering::Acquire)
    }

    /// Waits for a position.
    pub(crate) fn wait(self: &Arc<Self>, position: i64) -> Wait {
        Wait { group: Arc::clone(self), position, ticket: None }
    }

    /// Gives the worker its next task, at once when somebody waits for more than is reached and the worker `can_reach` more,
    /// else when nudged, stopped or at the time.
    pub(crate) fn next(&self, until: Instant, can_reach: impl Fn() -> i64) -> Task {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return Task::Stop;
            }
            let reached = self.reached();
            if state.ended.is_none() && state.wanted > reached && can_reach() > reached {
                return Task::Reach;
            }
            if std::mem::take(&mut state.nudged) {
                return Task::Nudged;
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Task::TimedOut;
            }
        }
    }

    /// The worker reached a position: everyone who waited for it or less wakes.
    pub(crate) fn reach(&self, position: i64) {
        let mut ready = Vec::new();
        {
            let mut state = self.state.lock();
            if state.ended.is_some() {
                return;
            }
            self.reached.fetch_max(position, Ordering::AcqRel);
            // in order: those who waited longest wake first
            ready.extend(state.waiters.extract_if(.., |waiter| waiter.position <= position));
        }
        for waiter in ready {
            waiter.waker.wake();
        }
    }

    /// Nothing more will be reached: everyone who waits is told.
    pub(crate) fn end(&self, why: NeverReached) {
        let waiters = {
            let mut state = self.state.lock();
            state.ended.get_or_insert(why);
            std::mem::take(&mut state.waiters)
        };
        for waiter in waiters {
            waiter.waker.wake();
        }
    }

    /// Lets the worker look whether there is something to do.
    pub(crate) fn nudge(&self) {
        self.state.lock().nudged = true;
        self.changed.notify_one();
    }

    /// Lets the worker end.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_one();
    }

    fn poll(&self, position: i64, ticket: &mut Option<u64>, context: &Context<'_>) -> Poll<Result<(), NeverReached>> {
        if self.reached() >= position {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.state.lock();
        // again, now that nobody reaches anything meanwhile
        if self.reached() >= position {
            return Poll::Ready(Ok(()));
        }
        if let Some(why) = &state.ended {
            return Poll::Ready(Err(why.clone()));
        }
        if let Some(ticket) = ticket {
            if let Some(waiter) = state.waiters.iter_mut().find(|waiter| waiter.ticket == *ticket) {
                waiter.waker.clone_from(context.waker());
            }
            return Poll::Pending;
        }
        state.tickets += 1;
        *ticket = Some(state.tickets);
        let waiter = Waiter { ticket: state.tickets, position, waker: context.waker().clone() };
        state.waiters.push(waiter);
        if position > state.wanted {
            state.wanted = position;
            drop(state);
            self.changed.notify_one();
        }
        Poll::Pending
    }
}

/// Waits until a position is reached; dropping it gives the wait up.
#[derive(Debug)]
pub struct Wait {
    group: Arc<GroupCommit>,
    position: i64,
    ticket: Option<u64>,
}

impl Future for Wait {
    type Output = Result<(), NeverReached>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let polled = this.group.poll(this.position, &mut this.ticket, context);
        if polled.is_ready() {
            this.ticket = None;
        }
        polled
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.group.state.lock().waiters.retain(|waiter| waiter.ticket != ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;
    use std::time::Duration;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicI64);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(wait: &mut Wait, count: &Arc<Count>) -> Poll<Result<(), NeverReached>> {
        let waker = Waker::from(Arc::clone(count));
        Pin::new(wait).poll(&mut Context::from_waker(&waker))
    }

    #[test]
    fn those_who_are_covered_wake_together() {
        let group = Arc::new(GroupCommit::new(10));
        let count = Arc::new(Count::default());
        assert!(poll(&mut group.wait(10), &count).is_ready());
        assert_eq!(group.next(Instant::now(), || 40), Task::TimedOut);
        let mut waits: Vec<_> = [20, 30, 40].map(|position| group.wait(position)).into();
        for wait in &mut waits {
            assert!(poll(wait, &count).is_pending() && poll(wait, &count).is_pending());
        }
        assert_eq!(group.next(Instant::now(), || 40), Task::Reach);
        group.reach(30);
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
        let ready: Vec<_> = waits.iter_mut().map(|wait| poll(wait, &count).is_ready()).collect();
        assert_eq!(ready, [true, true, false]);
        assert_eq!(group.next(Instant::now(), || 40), Task::Reach);
        drop(waits);
        assert!(group.state.lock().waiters.is_empty());
    }

    /// A worker that looks again and again for what is not there would keep a processor busy.
    #[test]
    fn what_is_not_there_yet_is_not_worked_for() {
        let group = Arc::new(GroupCommit::new(10));
        let count = Arc::new(Count::default());
        let mut wait = group.wait(20);
        assert!(poll(&mut wait, &count).is_pending());
        for (there, task) in [(10, Task::TimedOut), (15, Task::Reach)] {
            assert_eq!(group.next(Instant::now(), || there), task);
        }
        group.reach(15);
        assert_eq!(group.next(Instant::now(), || 15), Task::TimedOut);
        group.reach(20);
        assert_eq!(poll(&mut wait, &count), Poll::Ready(Ok(())));
    }

    #[test]
    fn a_failure_is_final() {
        let group = Arc::new(GroupCommit::new(0));
        let count = Arc::new(Count::default());
        let mut wait = group.wait(5);
        assert!(poll(&mut wait, &count).is_pending());
        let why = NeverReached::SyncFailed("input/output error".into());
        group.end(why.clone());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        group.reach(5);
        assert_eq!(poll(&mut wait, &count), Poll::Ready(Err(why.clone())));
        assert_eq!((group.reached(), poll(&mut group.wait(1), &count)), (0, Poll::Ready(Err(why))));
        assert_eq!(group.next(Instant::now(), || 40), Task::TimedOut);
    }

    #[test]
    fn the_worker_is_called_by_who_waits_nudges_or_stops() {
        let group = Arc::new(GroupCommit::new(0));
        let far = || Instant::now() + Duration::from_mins(1);
        let waiter = {
            let group = Arc::clone(&group);
            std::thread::spawn(move || {
                let count = Arc::new(Count::default());
                let mut wait = group.wait(7);
                assert!(poll(&mut wait, &count).is_pending());
                wait
            })
        };
        assert_eq!(group.next(far(), || 40), Task::Reach);
        group.reach(7);
        group.nudge();
        assert_eq!(group.next(far(), || 40), Task::Nudged);
        group.stop();
        assert_eq!(group.next(far(), || 40), Task::Stop);
        drop(waiter.join());
    }
}
