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
    /// When the ends of queues were last written down, and up to where the log was dispatched then.
    written: Mutex<Option<(Instant, i64)>>,
    /// Longest time between two writes of them.
    every: Duration,
    /// Synced in the queues, not yet in the log.
    ahead: Mutex<Option<Progress>>,
}

impl Synced {
    /// `thorough`: how often queues are brought to disk, however little there is (flushConsumeQueueThoroughInterval).
    pub(super) fn new(
        log: Arc<CommitLog>,
        queues: Arc<QueueTable>,
        checkpoint: Arc<Checkpoint>,
        known_ends: Arc<Mutex<KnownEnds>>,
        thorough: Duration,
    ) -> Self {
        let every = thorough.min(ENDS);
        Self { log, queues, checkpoint, known_ends, written: Mutex::default(), every, ahead: Mutex::default() }
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
        self.known_ends.lock().reached(progress, reached);
        // first: what a queue loses of records that a start does not look at again shows there alone
        let is_noted = self.write_ends(progress.position);
        let updated = self.checkpoint.update(|positions| {
            positions.log_timestamp = positions.log_timestamp.max(log_timestamp);
            if progress.store_timestamp > 0 {
                positions.queue_timestamp = progress.store_timestamp;
                positions.dispatched_record = progress.last_record;
            }
            if let Some(reached) = reached.filter(|reached| is_noted && reached.store_timestamp > 0) {
                positions.synced_record = Some(reached.last_record);
            }
        });
        if let Err(error) = updated {
            error!(%error, path = %self.checkpoint.path().display(), "the checkpoint is not written");
        }
    }

    /// Writes down how far the queues are on disk, from time to time; says whether it did.
    fn write_ends(&self, position: i64) -> bool {
        let mut written = self.written.lock();
        if written.is_some_and(|(when, at)| when.elapsed() < self.every && position - at < STRETCH) {
            return false;
        }
        *written = Some((Instant::now(), position));
        self.known_ends.lock().note(&self.queues)
    }
}

/// Longest time between two writes of the ends of queues, and of the record from which on a start looks at the log again, where
/// queues are not brought to disk more often.
const ENDS: Duration = Duration::from_secs(10);
/// Bytes of the log after which they are written sooner: a start after a kill looks at not much more.
const STRETCH: i64 = 256 << 20;
