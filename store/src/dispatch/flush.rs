//! Flushing consume queues by interval.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing::error;

use super::progress::Progress;
use super::walk::Dispatch;
use crate::queue::QueueTable;

/// When queues are flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushIntervals {
    /// flushIntervalConsumeQueue.
    pub interval: Duration,
    /// flushConsumeQueueLeastPages: pages of 4 KiB a queue must have for the flush between thorough ones.
    pub least_pages: u64,
    /// flushConsumeQueueThoroughInterval: every so often everything is synced.
    pub thorough: Duration,
}

impl Default for FlushIntervals {
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), least_pages: 2, thorough: Duration::from_mins(1) }
    }
}

/// The thread that flushes queues; stopping it flushes everything once more.
pub struct QueueFlusher {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl QueueFlusher {
    /// Starts the thread. `synced` is told when everything up to a place is synced: the checkpoint's to keep.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(
        queues: Arc<QueueTable>,
        dispatch: Arc<Dispatch>,
        intervals: FlushIntervals,
        synced: impl Fn(Progress) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("flush-queues".to_owned()).spawn(move || {
            let mut last_thorough = Instant::now();
            loop {
                let stopped = stopped.wait(intervals.interval);
                let thorough = stopped || last_thorough.elapsed() >= intervals.thorough;
                if thorough {
                    last_thorough = Instant::now();
                }
                // taken before the flush, which covers it
                let progress = dispatch.progress();
                match queues.flush(if thorough { 0 } else { intervals.least_pages }) {
                    Ok(true) => synced(progress),
                    Ok(false) => {}
                    Err(error) => error!(%error, "consume queues are not flushed"),
                }
                if stopped {
                    return;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Flushes everything and ends the thread. Stop the dispatcher before.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            *self.stop.stopped.lock() = true;
            self.stop.changed.notify_all();
            // its panic was reported by the panic hook
            let _ = thread.join();
        }
    }
}

impl Drop for QueueFlusher {
    fn drop(&mut self) {
        self.end();
    }
}

impl Stop {
    /// Waits for the interval or the stop; says which.
    fn wait(&self, interval: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped {
            self.changed.wait_for(&mut stopped, interval);
        }
        *stopped
    }
}
