//! Keeping the checkpoint: which record is on disk with all before it, in the log and in the queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::error;

use crate::checkpoint::Checkpoint;
use crate::dispatch::Progress;
use crate::log::CommitLog;
use crate::queue::{KnownEnds, QueueTable};

/// Brings together what the flushes of queues and log reached.
pub(super) struct Synced {
    log: Arc<CommitLog>,
    queues: Arc<QueueTable>,
    checkpoint: Arc<Checkpoint>,
    known_ends: Arc<Mutex<KnownEnds>>,
    /// When the ends of queues were last written down.
    written: Mutex<Option<Instant>>,
    /// Synced in the queues, not yet in the log.
    ahead: Mutex<Option<Progress>>,
}

impl Synced {
    pub(super) fn new(
        log: Arc<CommitLog>,
        queues: Arc<QueueTable>,
        checkpoint: Arc<Checkpoint>,
        known_ends: Arc<Mutex<KnownEnds>>,
    ) -> Self {
        Self { log, queues, checkpoint, known_ends, written: Mutex::default(), ahead: Mutex::default() }
    }

    /// The queues are on disk up to a place.
    pub(super) fn queues_reached(&self, progress: Progress) {
        // the time first: it is then not later than the position's
        let log_timestamp = self.log.flushed_timestamp();
        let flushed = self.log.flushed();
        let mut ahead = self.ahead.lock();
        let reached = [Some(progress), *ahead].into_iter().flatten().find(|progress| progress.position <= flushed);
        *ahead = match (reached, *ahead) {
            (Some(reached), _) if reached == progress => None,
            // the older one: a log that is always a little behind still reaches it
            (None, Some(older)) => Some(older),
            _ => Some(progress),
        };
        drop(ahead);
        let updated = self.checkpoint.update(|positions| {
            positions.log_timestamp = positions.log_timestamp.max(log_timestamp);
            if progress.store_timestamp > 0 {
                positions.queue_timestamp = progress.store_timestamp;
                positions.dispatched_record = progress.last_record;
            }
            if let Some(reached) = reached.filter(|reached| reached.store_timestamp > 0) {
                positions.synced_record = Some(reached.last_record);
            }
        });
        if let Err(error) = updated {
            error!(%error, path = %self.checkpoint.path().display(), "the checkpoint is not written");
        }
        self.known_ends.lock().reached(progress, reached);
        self.write_ends();
    }

    /// Writes down how far the queues are on disk, from time to time.
    fn write_ends(&self) {
        let mut written = self.written.lock();
        if written.is_some_and(|written| written.elapsed() < ENDS) {
            return;
        }
        *written = Some(Instant::now());
        self.known_ends.lock().note(&self.queues);
    }
}

/// Time between two writes of the ends of queues.
const ENDS: Duration = Duration::from_secs(10);
