//! Flushing consume queues by interval.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tracing::error;

use super::progress::Progress;
use super::walk::Dispatch;
use crate::queue::QueueTable;
use crate::stop::Stop;

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
    intervals: Arc<ArcSwap<FlushIntervals>>,
    /// Ends with what became of the last flush.
    thread: Option<JoinHandle<io::Result<()>>>,
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
        let intervals = Arc::new(ArcSwap::from_pointee(intervals));
        let present = Arc::clone(&intervals);
        let thread = thread::Builder::new().name("flush-queues".to_owned()).spawn(move || {
            let mut last_thorough = Instant::now();
            loop {
                let stopped = stopped.wait(present.load().interval);
                let intervals = **present.load();
                let thorough = stopped || last_thorough.elapsed() >= intervals.thorough;
                if thorough {
                    last_thorough = Instant::now();
                }
                // taken before the flush, which covers it
                let progress = dispatch.progress();
                // the same: one that is given up or put into its queue now is not on disk yet
                let holds = !queues.holding().is_empty();
                let flushed = queues.flush(if thorough { 0 } else { intervals.least_pages });
                match &flushed {
                    Ok(true) if !holds => synced(progress),
                    Ok(_) => {}
                    Err(error) => error!(%error, "consume queues are not flushed"),
                }
                if stopped {
                    let failed = || io::Error::other("consume queues could not be synced");
                    return flushed.and_then(|all| if all { Ok(()) } else { Err(failed()) });
                }
            }
        })?;
        Ok(Self { stop, intervals, thread: Some(thread) })
    }

    /// Takes over changed intervals, from the next flush on.
    pub fn change(&self, intervals: FlushIntervals) {
        self.intervals.store(Arc::new(intervals));
    }

    /// Flushes everything and ends the thread. Stop the dispatcher before.
    ///
    /// # Errors
    /// Not everything is on disk, for this flush or an earlier one failed.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.stop.say();
        // the panic itself was reported by the panic hook
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the flush of consume queues panicked")))
    }
}

impl Drop for QueueFlusher {
    fn drop(&mut self) {
        // the thread has said what failed
        let _ = self.end();
    }
}
