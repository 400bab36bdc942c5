//! The state of the machine in which servers are measured: nothing left to write, and no free memory to speak of.
//!
//! A virtual machine's host takes free memory back. A page that was free then costs several µs to get again, more than
//! all else of a send, and whoever asks for memory pays for the host. A broker that has run for a day asks for
//! memory that was page cache a moment before; here that is [`Ballast`], given away as the servers need it.

use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use memmap2::{Advice, MmapMut};
use parking_lot::Mutex;

/// Waits until what others wrote is on the disk: its write-back would stop whoever writes next.
pub fn settle() {
    rustix::fs::sync();
}

/// Memory in use that nobody gets.
pub struct Hoard(VecDeque<MmapMut>);

impl Hoard {
    /// Takes what is free but for a little: what an experiment has left of it meanwhile, or never touched.
    pub fn of_free() -> Result<Self> {
        Self::of(available("MemFree")?.saturating_sub(LEAST_FREE / 2))
    }

    fn of(bytes: usize) -> Result<Self> {
        Ok(Self((0..bytes / PIECE).map(|_| piece()).collect::<Result<_>>()?))
    }

    /// From now on it is given to whoever needs some.
    pub fn give(self) -> Ballast {
        let (pieces, end) = (Arc::new(Mutex::new(self.0)), Arc::new(AtomicBool::new(false)));
        let (held, stop) = (Arc::clone(&pieces), Arc::clone(&end));
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // What cannot be told is as good as no free memory.
                let is_needed = available("MemFree").unwrap_or(0) < LEAST_FREE;
                let given = if is_needed { held.lock().pop_front() } else { None };
                if given.is_none() {
                    thread::sleep(PAUSE);
                }
            }
        });
        Ballast { pieces, end, thread: Some(thread) }
    }
}

/// Memory in use that is given to whoever needs some. Dropping it gives the rest.
pub struct Ballast {
    pieces: Arc<Mutex<VecDeque<MmapMut>>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ballast {
    /// Takes what is available but for [`LEFT`].
    pub fn take() -> Result<Self> {
        Ok(Hoard::of(available("MemAvailable")?.saturating_sub(LEFT))?.give())
    }

    /// Takes what became available since, such as what a server had that has ended.
    pub fn refill(&self) -> Result<()> {
        // Nothing is given meanwhile.
        let mut pieces = self.pieces.lock();
        pieces.append(&mut Hoard::of(available("MemAvailable")?.saturating_sub(LEFT))?.0);
        Ok(())
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing that could panic, and nothing to tell.
            let _ = thread.join();
        }
    }
}

fn piece() -> Result<MmapMut> {
    let piece = MmapMut::map_anon(PIECE).context("no memory to hold")?;
    // Where there are no huge pages, small ones do.
    let _ = piece.advise(Advice::HugePage);
    piece.advise(Advice::PopulateWrite).context("no memory to hold")?;
    Ok(piece)
}

/// A line of /proc/meminfo, in bytes.
fn available(name: &str) -> Result<usize> {
    let text = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    Ok(kib.with_context(|| format!("no {name} in /proc/meminfo"))? * 1024)
}

/// For the heap of the reference, and for everybody who is not measured.
const LEFT: usize = 4 << 30;
const LEAST_FREE: usize = 384 << 20;
const PIECE: usize = 64 << 20;
const PAUSE: Duration = Duration::from_millis(10);
