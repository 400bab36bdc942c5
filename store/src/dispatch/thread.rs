//! The dispatcher's thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::error;

use super::walk::Dispatch;

/// Wakes the dispatcher, or does its work where that is less. A wake while it is busy costs one load.
#[derive(Clone, Debug, Default)]
pub struct Waker(Arc<Parking>);

#[derive(Debug, Default)]
struct Parking {
    /// The dispatcher found nothing to do and sleeps or is about to.
    asleep: AtomicBool,
    stop: AtomicBool,
    thread: Mutex<Option<Thread>>,
    /// What the dispatcher dispatches, for those who help.
    dispatch: OnceLock<Weak<Dispatch>>,
    /// The last millisecond in which somebody helped, and with how many messages (the lowest byte).
    helped: AtomicI64,
}

impl Waker {
    /// There are `count` new messages in the log, up to a physical offset, stored at a time (ms). Call it after the log's new end is
    /// published.
    ///
    /// Where few come, and the dispatcher sleeps, who stored them dispatches them: to wake a thread takes much longer.
    pub fn wake_or_help(&self, count: usize, end: i64, now: i64) {
        // as in `wake`
        fence(Ordering::SeqCst);
        if self.0.asleep.load(Ordering::Relaxed) && !(self.0.may_help(count, now) && self.0.help(end)) {
            self.wake();
        }
    }

    /// There is something new in the log. Call it after the log's new end is published.
    pub fn wake(&self) {
        // Pairs with the fence in `park`: either the dispatcher sees the new end, or this sees it asleep.
        fence(Ordering::SeqCst);
        if self.0.asleep.load(Ordering::Relaxed)
            && self.0.asleep.swap(false, Ordering::AcqRel)
            && let Some(thread) = &*self.0.thread.lock()
        {
            thread.unpark();
        }
    }

    fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
        if let Some(thread) = &*self.0.thread.lock() {
            thread.unpark();
        }
    }

    fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Acquire)
    }

    /// Sleeps until woken, unless there is work.
    fn park(&self, work: impl FnOnce() -> bool) {
        self.0.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !work() && !self.stopped() {
            thread::park();
        }
        self.0.asleep.store(false, Ordering::Relaxed);
    }
}

impl Parking {
    /// Whether few messages came in this millisecond, with these: of many, the dispatcher takes several at a time.
    fn may_help(&self, count: usize, now: i64) -> bool {
        let helped = self.helped.load(Ordering::Relaxed);
        let before = if helped >> 8 == now { helped & 0xFF } else { 0 };
        let messages = before + count.min(MOST_HELP as usize + 1) as i64;
        if messages > MOST_HELP {
            return false;
        }
        // those that come at the same moment may not count
        self.helped.store(now << 8 | messages, Ordering::Relaxed);
        true
    }

    fn help(&self, end: i64) -> bool {
        self.dispatch.get().and_then(Weak::upgrade).is_some_and(|dispatch| dispatch.help(end))
    }
}

/// A running dispatcher; dropping it stops it after what is in the log.
#[derive(Debug)]
pub struct Dispatcher {
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Dispatcher {
    /// Starts the thread; `waker` is the one the log's appends use.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(dispatch: Arc<Dispatch>, waker: Waker) -> io::Result<Self> {
        let parking = waker.clone();
        // a second dispatcher of the same waker would be woken, and not helped
        let _ = waker.0.dispatch.set(Arc::downgrade(&dispatch));
        let thread = thread::Builder::new().name("dispatch".to_owned()).spawn(move || run(&dispatch, &parking))?;
        *waker.0.thread.lock() = Some(thread.thread().clone());
        // an append that came before the thread was known
        thread.thread().unpark();
        Ok(Self { waker, thread: Some(thread) })
    }

    /// Dispatches what is in the log and ends the thread.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.waker.stop();
            // its panic was reported by the panic hook
            let _ = thread.join();
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(dispatch: &Dispatch, waker: &Waker) {
    let mut failed_at = -1;
    // since it last slept or napped, and whether it napped
    let (mut records, mut has_napped) = (0_usize, false);
    loop {
        // before the step: what is in the log when the stop comes is still dispatched
        let stopped = waker.stopped();
        let end = dispatch.log_end();
        match dispatch.step() {
            Ok(0) if stopped => return,
            // Under load, appends would wake the thread for nearly every message. While nobody waits, it naps without
            // being woken and then takes all that came. Few are left to those who store them.
            Ok(0) if records > few(has_napped) && !dispatch.is_waited_for() => {
                (records, has_napped) = (0, true);
                thread::park_timeout(NAP);
            }
            Ok(0) => {
                (records, has_napped) = (0, false);
                // the end, not the position: a record of which a part is there is no work
                waker.park(|| dispatch.log_end() != end);
            }
            Ok(taken) => records = records.saturating_add(taken),
            Err(error) => {
                if failed_at != dispatch.position() {
                    failed_at = dispatch.position();
                    error!(
                        error = &error as &dyn std::error::Error,
                        "dispatching stopped: messages behind this place cannot be consumed"
                    );
                }
                if stopped {
                    return;
                }
                thread::park_timeout(RETRY);
            }
        }
    }
}

/// So many records are no reason to nap again: one where the thread was just woken for them.
fn few(has_napped: bool) -> usize {
    if has_napped { MOST_HELP as usize } else { 0 }
}

/// The reference's dispatcher sleeps as long between looks.
const NAP: Duration = Duration::from_millis(1);
const RETRY: Duration = Duration::from_secs(1);
/// Messages of one millisecond that are dispatched by those who stored them.
const MOST_HELP: i64 = 4;
