//! What is done ahead of the appender, on a thread of its own: the next file, and the pages about to be written, or zeros where
//! each message is synced.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tracing::{debug, error, info};

use super::segment::Segment;
use super::segments::Segments;
use super::zeros::{Granted, Zeros};
use crate::files::named;
use crate::mapping::{Mapping, Writer};

/// The thread, and what it has ready.
#[derive(Debug)]
pub(super) struct Ahead {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    segments: Arc<Segments>,
    state: Mutex<State>,
    changed: Condvar,
    /// Physical offset at which the appender asks for more pages.
    ask_at: AtomicI64,
    /// Each message is synced.
    synced: AtomicBool,
    granted: Granted,
}

#[derive(Debug, Default)]
struct State {
    next: Next,
    /// File to make pages present in, where it starts, and where the appender is.
    pages: Option<(Arc<Mapping>, i64, usize)>,
    stop: bool,
}

#[derive(Debug, Default)]
enum Next {
    #[default]
    Nothing,
    Wanted(i64),
    InWork,
    Ready(Box<(Segment, Writer)>),
    /// It could not be made, not long ago.
    Failed(Instant, io::ErrorKind, Arc<str>),
}

impl Ahead {
    pub(super) fn start(segments: Arc<Segments>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            segments,
            state: Mutex::default(),
            changed: Condvar::new(),
            ask_at: AtomicI64::new(i64::MAX),
            synced: AtomicBool::new(false),
            granted: Granted::new(),
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log-ahead".to_owned()).spawn(move || theirs.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Whether each message is synced, from a position on. Only while nothing is appended.
    pub(super) fn set_synced(&self, synced: bool, position: i64) {
        self.shared.granted.set(synced.then_some(position));
        self.shared.synced.store(synced, Ordering::Relaxed);
    }

    /// The appender is about to write up to a position: no zeros are written there from now on.
    #[inline]
    pub(super) fn claim(&self, end: i64) {
        self.shared.granted.claim(end);
    }

    /// The file that starts at an offset, made before where possible.
    ///
    /// # Errors
    /// There is no room for it. For a while the answer is given without trying again.
    pub(super) fn take(&self, start: i64) -> io::Result<(Segment, Writer)> {
        let mut state = self.shared.state.lock();
        while matches!(state.next, Next::InWork) {
            self.shared.changed.wait(&mut state);
        }
        if let Next::Failed(when, kind, text) = &state.next
            && when.elapsed() < TRY_AGAIN
        {
            return Err(io::Error::new(*kind, text.to_string()));
        }
        if let Next::Ready(_) = state.next
            && let Next::Ready(made) = std::mem::take(&mut state.next)
        {
            return Ok(*made);
        }
        self.shared.make(&mut state, start)
    }

    /// The appender took a file: the thread gets its first pages.
    pub(super) fn opened(&self, mapping: &Arc<Mapping>, start: i64, position: usize) {
        self.shared.ask_at.store(start + position as i64, Ordering::Relaxed);
        self.advanced(mapping, start, position);
    }

    /// The appender came to a position. Costs a load where nothing is to be done.
    #[inline]
    pub(super) fn advanced(&self, mapping: &Arc<Mapping>, start: i64, position: usize) {
        if start + position as i64 >= self.shared.ask_at.load(Ordering::Relaxed) {
            self.ask(mapping, start, position);
        }
    }

    #[cold]
    fn ask(&self, mapping: &Arc<Mapping>, start: i64, position: usize) {
        self.shared.ask_at.store(i64::MAX, Ordering::Relaxed);
        let mut state = self.shared.state.lock();
        state.pages = Some((Arc::clone(mapping), start, position));
        if position >= mapping.len() / 2 && matches!(state.next, Next::Nothing | Next::Failed(..)) {
            state.next = Next::Wanted(start + mapping.len() as i64);
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Ends the thread; a file made and not used stays for the next start to find.
    pub(super) fn stop(&self) {
        if let Some(thread) = self.thread.lock().take() {
            self.shared.state.lock().stop = true;
            self.shared.changed.notify_all();
            // its panic was reported by the panic hook
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut window = LEAST_WINDOW;
        let mut zeros = None;
        let mut last = Instant::now();
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return;
            }
            if let Some((mapping, start, position)) = state.pages.take() {
                // pages ahead are dirty pages: many for an appender in a hurry, few for a slow one
                window =
                    if last.elapsed() < HURRY { (window * 2).min(MOST_WINDOW) } else { LEAST_WINDOW.max(window / 2) };
                MutexGuard::unlocked(&mut state, || self.prepare(&mapping, start, position, window, &mut zeros));
                last = Instant::now();
            } else if let Next::Wanted(start) = state.next {
                if let Ok(made) = self.make(&mut state, start) {
                    state.next = Next::Ready(Box::new(made));
                }
                self.changed.notify_all();
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    fn prepare(&self, mapping: &Mapping, start: i64, position: usize, window: usize, zeros: &mut Option<Zeros>) {
        let is_synced = self.synced.load(Ordering::Relaxed);
        let window = if is_synced { window.min(MOST_ZEROS) } else { window };
        let to = (position + window).min(mapping.len());
        let prepared = if is_synced { self.write_zeros(zeros, start, to) } else { populate(mapping, position, to) };
        if let Err(error) = prepared {
            debug!(%error, "the commit log is not prepared ahead");
        }
        let half = mapping.len() / 2;
        let ask_at = match to {
            to if to < mapping.len() => position + window / 2,
            // only the next file is left to be asked for
            _ if position < half => half,
            _ => usize::MAX >> 1,
        };
        self.ask_at.store(start.saturating_add(ask_at as i64), Ordering::Relaxed);
    }

    fn write_zeros(&self, zeros: &mut Option<Zeros>, start: i64, to: usize) -> io::Result<()> {
        zeros.take_if(|zeros| zeros.start() != start);
        if zeros.is_none() {
            // one that is gone is not written
            let Some(segment) = self.segments.find(start) else { return Ok(()) };
            *zeros = Some(Zeros::open(segment.path(), start, self.segments.file_size())?);
        }
        zeros.as_ref().map_or(Ok(()), |zeros| zeros.write(&self.granted, to))
    }

    /// Makes a file without holding the lock; who needs it meanwhile waits.
    fn make(&self, state: &mut MutexGuard<'_, State>, start: i64) -> io::Result<(Segment, Writer)> {
        let had_failed = matches!(state.next, Next::Failed(..));
        state.next = Next::InWork;
        let made = MutexGuard::unlocked(state, || self.create(start));
        state.next = match &made {
            Ok((segment, _)) => {
                info!(path = %segment.path().display(), "commit log file made");
                Next::Nothing
            }
            Err(error) => {
                if !had_failed {
                    error!(
                        start, %error,
                        "no room for the next file of the commit log: messages are refused until there is"
                    );
                }
                Next::Failed(Instant::now(), error.kind(), error.to_string().into())
            }
        };
        self.changed.notify_all();
        made
    }

    /// Makes a file in the directory whose turn it is, or in another one when that has no room.
    fn create(&self, start: i64) -> io::Result<(Segment, Writer)> {
        let size = self.segments.file_size();
        let turn = self.segments.directory_of_new(start);
        Segment::create(turn, start, size).map_err(named(turn)).or_else(|error| {
            let all = self.segments.directories().writable().iter();
            let mut others = all.map(PathBuf::as_path).filter(|directory| *directory != turn);
            others.find_map(|other| Segment::create(other, start, size).ok()).ok_or(error)
        })
    }
}

fn populate(mapping: &Mapping, position: usize, to: usize) -> io::Result<()> {
    // the pages of the window before were made present already
    let from = position & !(PAGE - 1);
    if from < to { mapping.populate(from, to) } else { Ok(()) }
}

/// Pages made present at once, in bytes.
const LEAST_WINDOW: usize = 1 << 20;
const MOST_WINDOW: usize = 64 << 20;
/// Zeros written at once, in bytes.
const MOST_ZEROS: usize = 8 << 20;
/// An appender that comes back within this time gets a larger window.
const HURRY: Duration = Duration::from_millis(100);
/// How long a full disk is not asked again.
const TRY_AGAIN: Duration = Duration::from_secs(1);
const PAGE: usize = 4096;
