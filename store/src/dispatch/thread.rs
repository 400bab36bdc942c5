//! The dispatcher's thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::error;

use super::walk::Dispatch;

/// Wakes the dispatcher. A wake while it is busy costs one load.
#[derive(Clone, Debug, Default)]
pub struct Waker(Arc<Parking>);

#[derive(Debug, Default)]
struct Parking {
    /// The dispatcher found nothing to do and sleeps or is about to.
    asleep: AtomicBool,
    stop: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Waker {
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
    let mut has_worked = false;
    loop {
        // before the step: what is in the log when the stop comes is still dispatched
        let stopped = waker.stopped();
        let end = dispatch.log_end();
        match dispatch.step() {
            Ok(true) => has_worked = true,
            Ok(false) if stopped => return,
            // Under load, appends would wake the thread for nearly every message. While nobody waits, it naps without
            // being woken and then takes all that came.
            Ok(false) if has_worked && !dispatch.is_waited_for() => {
                has_worked = false;
                thread::park_timeout(NAP);
            }
            // the end, not the position: a record of which a part is there is no work
            Ok(false) => waker.park(|| dispatch.log_end() != end),
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

/// The reference's dispatcher sleeps as long between looks.
const NAP: Duration = Duration::from_millis(1);
const RETRY: Duration = Duration::from_secs(1);
