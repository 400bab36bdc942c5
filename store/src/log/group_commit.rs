//! Group commit: many wait for a position, one works towards it, all whose position is reached wake together.
//!
//! A state machine without I/O. Positions only grow. A failure is final: what was reached stays reached, nothing
//! beyond it ever is.
//!
//! While reaching takes less than waking a thread that does it, one of those who wait does it for all: the *leader*. It lets
//! others have their turn first where there were any lately, so that what they want is reached with it. Where reaching is slow, or there is one processor
//! only, the worker does it, and nobody else is held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

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
pub(super) struct GroupCommit {
    reached: AtomicI64,
    /// Whether those who wait may lead.
    can_lead: bool,
    /// Reaching is quick, and those who wait do it. Changes under the lock.
    quick: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiters: Vec<Waiter>,
    tickets: u64,
    /// Who is to reach what the others want, while that is quick.
    leader: Option<u64>,
    /// How many waited when something was last reached.
    waited: usize,
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
pub(super) enum Task {
    /// Somebody waits for a position that is not reached.
    Reach,
    /// Nobody waits; somebody said that there is something to do.
    Nudged,
    /// Nobody waits; the time is over.
    TimedOut,
    /// Reach what there is, then end.
    Stop,
}

/// What one who waits has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing more: what it wants is reached, or never will be.
    Over(Result<(), NeverReached>),
    /// Wait.
    Wait,
    /// Lead as soon as all others had their turn.
    LeadLast,
    /// Reach what there is.
    Lead,
}

impl GroupCommit {
    pub(super) fn new(reached: i64, can_lead: bool) -> Self {
        Self {
            reached: AtomicI64::new(reached),
            can_lead,
            quick: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The position that is reached.
    pub(super) fn reached(&self) -> i64 {
        self.reached.load(Ordering::Acquire)
    }

    /// Whether those who wait reach it themselves, at once.
    pub(super) fn is_quick(&self) -> bool {
        self.quick.load(Ordering::Relaxed)
    }

    /// Gives the worker its next task, at once when somebody waits for more than is reached and the worker `can_reach` more,
    /// else when nudged, stopped or at the time.
    pub(super) fn next(&self, until: Instant, can_reach: impl Fn() -> i64) -> Task {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return Task::Stop;
            }
            if !self.is_quick() && self.is_wanted(&state, &can_reach) {
                return Task::Reach;
            }
            if std::mem::take(&mut state.nudged) {
                return Task::Nudged;
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                // a leader that did not get its turn for so long needs help
                return if self.is_wanted(&state, &can_reach) { Task::Reach } else { Task::TimedOut };
            }
        }
    }

    fn is_wanted(&self, state: &State, can_reach: &impl Fn() -> i64) -> bool {
        let reached = self.reached();
        state.ended.is_none() && state.wanted > reached && can_reach() > reached
    }

    /// A position was reached, in so much time: everyone who waited for it or less wakes, but for the leader with the ticket `by`
    /// that did it. There is something to reach up to `there`, which is asked for when nobody begins to wait: who waits for less
    /// gets a leader.
    pub(super) fn reach(&self, position: i64, took: Duration, there: impl Fn() -> i64, by: Option<u64>) {
        let mut ready = Vec::new();
        {
            let mut state = self.state.lock();
            if state.ended.is_some() {
                return;
            }
            self.reached.fetch_max(position, Ordering::AcqRel);
            state.waited = state.waiters.len();
            // in order: those who waited longest wake first
            let covered = state.waiters.extract_if(.., |waiter| waiter.position <= position);
            ready.extend(covered.filter(|waiter| Some(waiter.ticket) != by).map(|waiter| waiter.waker));
            self.quick.store(self.can_lead && took < QUICK, Ordering::Relaxed);
            state.leader = None;
            ready.extend(self.hand_on(&mut state, there()));
        }
        for waker in ready {
            waker.wake();
        }
    }

    /// Those who still wait get a leader, who is to be woken, or the worker.
    fn hand_on(&self, state: &mut State, there: i64) -> Option<Waker> {
        let first = state.waiters.iter().find(|waiter| waiter.position <= there)?;
        if self.is_quick() {
            state.leader = Some(first.ticket);
            return Some(first.waker.clone());
        }
        self.changed.notify_one();
        None
    }

    /// Nothing more will be reached: everyone who waits is told.
    pub(super) fn end(&self, why: NeverReached) {
        let waiters = {
            let mut state = self.state.lock();
            state.ended.get_or_insert(why);
            std::mem::take(&mut state.waiters)
        };
        for waiter in waiters {
            waiter.waker.wake();
        }
    }

    /// Whether nothing more will be reached.
    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().ended.is_some()
    }

    /// Lets the worker look whether there is something to do.
    pub(super) fn nudge(&self) {
        self.state.lock().nudged = true;
        self.changed.notify_one();
    }

    /// Lets the worker end.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_one();
    }

    /// What one has to do who wants a position: to be asked first without a ticket, then each time the waker is woken. There is
    /// something to reach up to `there`. Who gives up before it is over tells [`GroupCommit::give_up`].
    pub(super) fn turn(&self, position: i64, there: i64, ticket: &mut Option<u64>, waker: &Waker) -> Turn {
        if self.reached() >= position {
            return Turn::Over(Ok(()));
        }
        let mut state = self.state.lock();
        // again, now that nobody reaches anything meanwhile
        if self.reached() >= position {
            return Turn::Over(Ok(()));
        }
        if let Some(why) = &state.ended {
            return Turn::Over(Err(why.clone()));
        }
        if let Some(ticket) = *ticket {
            if let Some(waiter) = state.waiters.iter_mut().find(|waiter| waiter.ticket == ticket) {
                waiter.waker.clone_from(waker);
            }
            return if state.leader == Some(ticket) { Turn::Lead } else { Turn::Wait };
        }
        state.tickets += 1;
        let mine = state.tickets;
        *ticket = Some(mine);
        state.waiters.push(Waiter { ticket: mine, position, waker: waker.clone() });
        let is_further = position > state.wanted;
        state.wanted = state.wanted.max(position);
        if !self.is_quick() && is_further {
            drop(state);
            self.changed.notify_one();
        } else if self.is_quick() && state.leader.is_none() && position <= there {
            state.leader = Some(mine);
            return if state.waited > 1 { Turn::LeadLast } else { Turn::Lead };
        }
        Turn::Wait
    }

    /// Wakes the leader, if there is one: it could not lead while somebody else was at it.
    pub(super) fn remind(&self) {
        let state = self.state.lock();
        let leader = state.waiters.iter().find(|waiter| state.leader == Some(waiter.ticket));
        let leader = leader.map(|leader| leader.waker.clone());
        drop(state);
        if let Some(leader) = leader {
            leader.wake();
        }
    }

    /// Nobody waits any more with this ticket.
    pub(super) fn give_up(&self, ticket: u64, there: impl Fn() -> i64) {
        let leader = {
            let mut state = self.state.lock();
            state.waiters.retain(|waiter| waiter.ticket != ticket);
            if state.leader != Some(ticket) {
                return;
            }
            state.leader = None;
            self.hand_on(&mut state, there())
        };
        if let Some(leader) = leader {
            leader.wake();
        }
    }
}

/// Reaching is quick below this: not much more than it takes to wake a thread and to be woken by it.
const QUICK: Duration = Duration::from_millis(1);

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

    /// One who waits.
    #[derive(Default)]
    struct Wait(i64, Option<u64>);

    impl Wait {
        fn turn(&mut self, group: &GroupCommit, count: &Arc<Count>) -> Turn {
            group.turn(self.0, THERE, &mut self.1, &Waker::from(Arc::clone(count)))
        }
    }

    fn wait(position: i64) -> Wait {
        Wait(position, None)
    }

    const THERE: i64 = 40;
    const OVER: Turn = Turn::Over(Ok(()));

    #[test]
    fn those_who_are_covered_wake_together() {
        let (group, count) = (GroupCommit::new(10, true), Arc::new(Count::default()));
        assert_eq!(wait(10).turn(&group, &count), OVER);
        assert_eq!(group.next(Instant::now(), || THERE), Task::TimedOut);
        let mut waits = [20, 30, 40].map(wait);
        for wait in &mut waits {
            assert_eq!([(); 2].map(|()| wait.turn(&group, &count)), [Turn::Wait, Turn::Wait]);
        }
        assert_eq!(group.next(Instant::now(), || THERE), Task::Reach);
        group.reach(30, QUICK, || THERE, None);
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
        assert_eq!(waits.each_mut().map(|wait| wait.turn(&group, &count)), [OVER, OVER, Turn::Wait]);
        assert_eq!(group.next(Instant::now(), || THERE), Task::Reach);
        for wait in waits {
            group.give_up(wait.1.unwrap(), || THERE);
        }
        assert!(group.state.lock().waiters.is_empty());
    }

    #[test]
    fn where_it_is_quick_one_of_those_who_wait_leads() {
        let (group, count) = (GroupCommit::new(10, true), Arc::new(Count::default()));
        group.reach(15, Duration::ZERO, || THERE, None);
        let mut waits = [20, 30, 41, 40].map(wait);
        let turns = waits.each_mut().map(|wait| wait.turn(&group, &count));
        assert_eq!(turns, [Turn::Lead, Turn::Wait, Turn::Wait, Turn::Wait]);
        let turns = waits.each_mut().map(|wait| wait.turn(&group, &count));
        assert_eq!(turns, [Turn::Lead, Turn::Wait, Turn::Wait, Turn::Wait]);
        group.remind();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        // one that comes to nothing is replaced
        group.give_up(waits[0].1.unwrap(), || THERE);
        assert_eq!(waits[1].turn(&group, &count), Turn::Lead);
        group.reach(30, Duration::ZERO, || THERE, None);
        // of the others the one whose position is there
        assert_eq!([1, 2, 3].map(|n| waits[n].turn(&group, &count)), [OVER, Turn::Wait, Turn::Lead]);
        assert_eq!(count.0.load(Ordering::Relaxed), 4);
        group.reach(40, Duration::ZERO, || THERE, None);
        assert_eq!([2, 3].map(|n| waits[n].turn(&group, &count)), [Turn::Wait, OVER]);
        assert_eq!(group.state.lock().leader, None);
        group.remind();
        assert_eq!(count.0.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn the_leader_lets_a_crowd_go_first_and_is_not_woken_by_itself() {
        let (group, count) = (GroupCommit::new(10, true), Arc::new(Count::default()));
        let woken = || count.0.load(Ordering::Relaxed);
        group.reach(15, Duration::ZERO, || THERE, None);
        let mut alone = wait(20);
        assert_eq!(alone.turn(&group, &count), Turn::Lead);
        // what there is then is asked for while nobody can begin to wait
        let there = || {
            assert!(group.state.is_locked());
            THERE
        };
        group.reach(20, Duration::ZERO, there, alone.1);
        assert_eq!((alone.turn(&group, &count), woken()), (OVER, 0));
        let mut two = [25, 30].map(wait);
        assert_eq!(two.each_mut().map(|wait| wait.turn(&group, &count)), [Turn::Lead, Turn::Wait]);
        group.reach(30, Duration::ZERO, || THERE, two[0].1);
        assert_eq!((two.map(|mut wait| wait.turn(&group, &count)), woken()), ([OVER, OVER], 1));
        assert_eq!(wait(35).turn(&group, &count), Turn::LeadLast);
    }

    #[test]
    fn the_worker_steps_in_where_a_leader_does_not_come_or_it_is_slow() {
        let (group, count) = (GroupCommit::new(10, true), Arc::new(Count::default()));
        group.reach(15, Duration::ZERO, || THERE, None);
        let mut waits = [20, 30].map(wait);
        assert_eq!(waits.each_mut().map(|wait| wait.turn(&group, &count)), [Turn::Lead, Turn::Wait]);
        group.nudge();
        assert_eq!(group.next(Instant::now() + Duration::from_mins(1), || THERE), Task::Nudged);
        assert_eq!(group.next(Instant::now(), || THERE), Task::Reach);
        group.reach(20, QUICK, || THERE, None);
        assert_eq!(group.next(Instant::now() + Duration::from_mins(1), || THERE), Task::Reach);
        assert_eq!(waits[1].turn(&group, &count), Turn::Wait);
    }

    /// A worker that looks again and again for what is not there would keep a processor busy.
    #[test]
    fn what_is_not_there_yet_is_not_worked_for() {
        let (group, count) = (GroupCommit::new(10, true), Arc::new(Count::default()));
        let mut wait = wait(20);
        assert_eq!(wait.turn(&group, &count), Turn::Wait);
        for (there, task) in [(10, Task::TimedOut), (15, Task::Reach)] {
            assert_eq!(group.next(Instant::now(), || there), task);
        }
        group.reach(15, QUICK, || 15, None);
        assert_eq!(group.next(Instant::now(), || 15), Task::TimedOut);
        group.reach(20, QUICK, || 20, None);
        assert_eq!(wait.turn(&group, &count), OVER);
    }

    #[test]
    fn a_failure_is_final() {
        let (group, count) = (GroupCommit::new(0, true), Arc::new(Count::default()));
        let mut waiting = wait(5);
        assert_eq!(waiting.turn(&group, &count), Turn::Wait);
        let why = NeverReached::SyncFailed("input/output error".into());
        group.end(why.clone());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        group.reach(5, QUICK, || THERE, None);
        assert_eq!(waiting.turn(&group, &count), Turn::Over(Err(why.clone())));
        assert_eq!((group.reached(), wait(1).turn(&group, &count)), (0, Turn::Over(Err(why))));
        assert_eq!(group.next(Instant::now(), || THERE), Task::TimedOut);
    }

    #[test]
    fn the_worker_is_called_by_who_waits_nudges_or_stops() {
        let group = GroupCommit::new(0, true);
        let far = || Instant::now() + Duration::from_mins(1);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(wait(7).turn(&group, &Arc::default()), Turn::Wait));
            assert_eq!(group.next(far(), || THERE), Task::Reach);
        });
        group.reach(7, QUICK, || THERE, None);
        group.nudge();
        assert_eq!(group.next(far(), || THERE), Task::Nudged);
        group.stop();
        assert_eq!(group.next(far(), || THERE), Task::Stop);
    }
}
