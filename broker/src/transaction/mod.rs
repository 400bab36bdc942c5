//! Transactions: a message that becomes visible only when its producer commits it.
//!
//! The first half waits in queue 0 of [`HALF_TOPIC`]. Its end, commit or rollback (37), is noted in queue 0 of
//! [`OP_HALF_TOPIC`]: messages with the tag `d` whose body lists queue offsets of halves, each followed by a comma. From time to
//! time a check goes over the halves: those that ended are passed, the producers of others are asked (39), and such a half is
//! stored again behind the others, for the queue as a whole moves on. How far both queues are done with is kept as the offsets of the
//! group [`GROUP`] (constants, sections 1, 2 and 4).

mod ask;
mod check;
mod end;
mod escape;
mod halves;
mod load;
mod metrics;
mod notes;
mod offset_set;
mod resume;
mod task;

use std::sync::atomic::{AtomicBool, Ordering};

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_store::Store;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use end::end;
pub(crate) use metrics::Metrics;
pub(crate) use resume::resume_check;
pub(crate) use task::{check_for_ever, save_metrics, stop, write_notes_for_ever};

use crate::names::{HALF_TOPIC, OP_HALF_TOPIC};
use crate::offset::OffsetTable;
use halves::Halves;

/// Group that reads both topics.
const GROUP: &str = "CID_RMQ_SYS_TRANS";
/// The one queue of both topics.
const QUEUE: i32 = 0;

/// All transactions of this broker.
pub(crate) struct Transactions {
    /// Held while a half ends or moves, so that it does only one of them, and once.
    halves: Mutex<Halves>,
    /// There are ends that are not noted yet.
    unwritten: Notify,
    /// Held by the one who checks.
    checking: Mutex<()>,
    stopped: AtomicBool,
    pub(crate) metrics: Metrics,
}

impl Transactions {
    /// The transactions that a store holds.
    ///
    /// # Errors
    /// A file of the store cannot be read.
    pub(crate) fn open(store: &Store, offsets: &OffsetTable, metrics: Metrics) -> std::io::Result<Self> {
        let halves = load::load(store, offsets)?;
        Ok(Self {
            halves: Mutex::new(halves),
            unwritten: Notify::new(),
            checking: Mutex::default(),
            stopped: AtomicBool::new(false),
            metrics,
        })
    }

    /// Passes the halves that a slave handed over while it acted for this broker, as the offsets that were taken back from it
    /// say: others look after them now.
    pub(crate) fn pass_handed_over(&self, offsets: &OffsetTable) {
        let mut halves = self.halves.lock();
        if let Some(passed) = offsets.consumed(GROUP, HALF_TOPIC, QUEUE).filter(|passed| *passed > halves.checked()) {
            halves.pass(passed);
        }
    }

    /// Ends checks; when this returns, none is under way.
    fn stop_checks(&self) {
        self.stopped.store(true, Ordering::Release);
        drop(self.checking.lock());
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// Gives a message that is for this queue, with this unique key, the properties of a first half, which belongs in queue
/// [`HALF_QUEUE`] of [`HALF_TOPIC`]. `has_own`: some of them [are replaced](is_replaced).
pub(crate) fn prepare(properties: &mut PropertiesBuf, has_own: bool, unique_key: &[u8], topic: &str, queue_id: i32) {
    if has_own {
        properties.retain(|name| !is_replaced(name));
    }
    properties.push(key::TRANSACTION_ID, unique_key);
    properties.push(key::REAL_TOPIC, topic).push(key::REAL_QID, itoa::Buffer::new().format(queue_id));
}

/// Whether a property of a first half is not what its producer gives it.
pub(crate) fn is_replaced(name: &[u8]) -> bool {
    const REPLACED: [&str; 3] = [key::REAL_TOPIC, key::REAL_QID, key::TRANSACTION_ID];
    REPLACED.iter().any(|replaced| name == replaced.as_bytes())
}

/// Queue that takes first halves.
pub(crate) const HALF_QUEUE: i32 = QUEUE;

/// How long after its birth a half is left alone, ms, as its producer wants it.
fn immunity(asked: &str) -> Option<i64> {
    asked.trim().parse::<i64>().ok().filter(|seconds| *seconds >= 0).map(|seconds| seconds.saturating_mul(1000))
}
