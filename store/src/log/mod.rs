//! The commit log: all messages of the broker, one behind another, in files of a fixed size.
//!
//! One appends at a time, behind one lock; any number read below the written position. Positions are physical offsets,
//! only grow, and are published with release/acquire: *staged* (in memory, see `staged.rs`), *written* (readable), *flushed* (synced
//! to disk).
//!
//! When a record does not fit a file together with the 8 bytes of a blank, a blank closes the file
//! (size of the rest 4, magic 4) and the record starts the next one.

mod ahead;
mod append;
mod directories;
mod error;
mod expire;
mod flush;
mod followers;
mod gate;
mod group_commit;
mod numbered;
mod options;
mod passed;
mod raw;
mod read;
mod reader;
mod recover;
mod scan;
mod segment;
mod segments;
mod staged;
mod stretch;
mod together;
mod zeros;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::runtime::Handle;

pub use append::{Appended, Batch};
pub use directories::Directories;
pub use error::AppendError;
pub use flush::Wait;
pub use group_commit::NeverReached;
pub use options::{Changeable, LogOptions};
pub use raw::RawError;
pub(crate) use reader::Reader;
pub use recover::{RecoverError, RecoverFrom};
pub use segments::SegmentsError;
pub use stretch::{FileStretch, Stretch};
pub use together::Gathered;

use crate::dispatch::{Feed, Waker};
use ahead::Ahead;
use append::{Active, Appender};
use followers::Followers;
pub(crate) use gate::Gate;
use group_commit::GroupCommit;
use scan::Found;
pub use scan::check as check_record;
use segments::Segments;

/// The log.
#[derive(Debug)]
pub struct CommitLog {
    options: LogOptions,
    changeable: ArcSwap<Changeable>,
    /// The two settings of these that each append looks at.
    max_body_size: AtomicUsize,
    wake_flush: AtomicBool,
    segments: Arc<Segments>,
    /// Where this process began to write.
    opened_at: i64,
    /// Bad bytes found at the start, with good records behind them: from, to.
    damage: ArcSwap<Vec<(i64, i64)>>,
    /// Whether there are any: each read asks.
    is_damaged: AtomicBool,
    appender: Mutex<Appender>,
    written: AtomicI64,
    /// End of what was ever staged.
    staged: AtomicI64,
    /// Held by who writes what was staged; empty otherwise. Taken behind the appender.
    writing: Mutex<Vec<u8>>,
    /// Store time of a record at or before the written position.
    last_timestamp: AtomicI64,
    flushed: GroupCommit,
    /// Held by who brings the log to disk.
    syncing: Mutex<()>,
    /// On which those run who wait and bring it to disk themselves.
    runtime: OnceLock<Handle>,
    /// Store time of a record before the flushed position.
    flushed_timestamp: AtomicI64,
    gate: Gate,
    ahead: Ahead,
    waker: Waker,
    /// Told of what is appended.
    feed: OnceLock<Arc<Feed>>,
    followers: Followers,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

impl CommitLog {
    /// Opens a log as `recover` found it; everything behind its end is zero.
    fn new(options: LogOptions, segments: Segments, found: Found, waker: Waker) -> io::Result<Arc<Self>> {
        let Found { end, last_timestamp, damage, .. } = found;
        let segments = Arc::new(segments);
        let ahead = Ahead::start(Arc::clone(&segments))?;
        ahead.set_synced(options.changeable.synced, end);
        let active = match segments.find(end) {
            Some(segment) => {
                let writer = segment.map_for_writing((end - segment.start()) as usize)?;
                ahead.opened(writer.mapping(), segment.start(), writer.position());
                Some(Active { segment, writer })
            }
            None => None,
        };
        let synced = options.changeable.synced;
        let appender = Appender { active, position: end, last_timestamp, synced, staged: Vec::new() };
        let several_processors = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let log = Arc::new(Self {
            changeable: ArcSwap::from_pointee(options.changeable),
            max_body_size: AtomicUsize::new(options.changeable.max_body_size),
            wake_flush: AtomicBool::new(options.changeable.wake_flush),
            options,
            segments,
            opened_at: end,
            is_damaged: AtomicBool::new(!damage.is_empty()),
            damage: ArcSwap::from_pointee(damage),
            appender: Mutex::new(appender),
            written: AtomicI64::new(end),
            staged: AtomicI64::new(end),
            writing: Mutex::default(),
            last_timestamp: AtomicI64::new(last_timestamp),
            flushed: GroupCommit::new(end, several_processors),
            syncing: Mutex::default(),
            runtime: OnceLock::new(),
            flushed_timestamp: AtomicI64::new(last_timestamp),
            gate: Gate::default(),
            ahead,
            waker,
            feed: OnceLock::new(),
            followers: Followers::default(),
            flusher: Mutex::default(),
        });
        *log.flusher.lock() = Some(log.start_flushing()?);
        Ok(log)
    }

    /// Physical offset up to which records can be read.
    pub fn written(&self) -> i64 {
        self.written.load(Ordering::Acquire)
    }

    /// Physical offset up to which everything is on disk.
    pub fn flushed(&self) -> i64 {
        self.flushed.reached()
    }

    /// Store time (ms) up to which everything is on disk, 0 with nothing.
    pub fn flushed_timestamp(&self) -> i64 {
        self.flushed_timestamp.load(Ordering::Acquire)
    }

    /// Waits until everything before `position` is on disk. For what is written the flush thread starts at once, or one of
    /// those who wait brings it to disk where that is quick.
    pub fn wait_flushed(self: &Arc<Self>, position: i64) -> Wait {
        Wait::new(self, position)
    }

    /// Takes over settings that changed.
    pub fn change(&self, changeable: Changeable) {
        self.max_body_size.store(changeable.max_body_size, Ordering::Relaxed);
        self.wake_flush.store(changeable.wake_flush, Ordering::Relaxed);
        {
            let mut appender = self.appender.lock();
            // it would be behind what comes next; a failure has been logged
            let _ = self.write_under_lock(&mut appender);
            appender.synced = changeable.synced;
            self.ahead.set_synced(changeable.synced, appender.position);
        }
        self.changeable.store(Arc::new(changeable));
        self.tell_of_growth();
        // it may sleep for an interval that no longer holds
        self.flushed.nudge();
    }

    /// Tells `feed` of every message from now on.
    pub(crate) fn feed(&self, feed: Arc<Feed>) {
        // a second one has nobody who listens
        let _ = self.feed.set(feed);
    }

    /// Tells the kernel whether to read files ahead of what is read.
    pub fn set_read_ahead(&self, read_ahead: bool) {
        self.segments.set_read_ahead(read_ahead);
    }

    /// Refuses messages for a reason (a slave, an administrator), or takes them again.
    pub fn set_refused(&self, reason: Option<&'static str>) {
        self.gate.set_refused(reason);
    }

    /// Whether messages are taken now.
    ///
    /// # Errors
    /// They are not; why.
    pub fn check_writable(&self) -> Result<(), AppendError> {
        self.gate.check()
    }

    /// Whether a write or a sync failed since the start.
    pub fn is_broken(&self) -> bool {
        self.gate.is_broken()
    }

    /// Bytes of each file.
    pub(crate) fn file_size(&self) -> usize {
        self.segments.file_size()
    }

    /// The log's directories.
    pub fn directories(&self) -> &Directories {
        self.segments.directories()
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Takes no more messages, syncs those there are and ends the threads. Says whether everything is on disk.
    pub fn close(&self) -> bool {
        self.gate.shut_down();
        // whoever holds the lock finishes first
        drop(self.appender.lock());
        if let Some(flusher) = self.flusher.lock().take() {
            self.flushed.stop();
            // its panic was reported by the panic hook
            let _ = flusher.join();
        }
        self.ahead.stop();
        self.flushed() >= self.end()
    }
}

#[cfg(test)]
mod staged_tests;
#[cfg(test)]
mod tests;
