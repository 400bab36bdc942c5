//! A file that is appended to, and synced for all who wait at once: what is left of a broker with synchronous flush when
//! everything else is taken away.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use anyhow::Context as _;
use parking_lot::Mutex;
use rustix::fs::FallocateFlags;

/// The file, without a name. It is written again from its beginning when it is full.
pub struct Journal {
    file: File,
    gathered: Mutex<Gathered>,
    /// How far it is synced, all rounds through the file together.
    synced: AtomicU64,
    /// Held by who syncs.
    syncing: Mutex<()>,
}

#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// End of all that was appended.
    end: u64,
    waiting: Vec<Waker>,
}

impl Journal {
    /// A journal in this folder.
    pub fn open(dir: &Path) -> anyhow::Result<Arc<Self>> {
        let (file, gathered) = (scratch(dir, FILE)?, Mutex::default());
        Ok(Arc::new(Self { file, gathered, synced: AtomicU64::new(0), syncing: Mutex::new(()) }))
    }

    /// Appends; the future ends when it is on the disk.
    pub fn append(self: &Arc<Self>, bytes: &[u8]) -> Synced {
        let mut gathered = self.gathered.lock();
        gathered.bytes.extend_from_slice(bytes);
        gathered.end += bytes.len() as u64;
        Synced { journal: Arc::clone(self), position: gathered.end, had_others_go_first: false }
    }

    /// Writes and syncs what is gathered.
    fn sync(&self) -> io::Result<()> {
        let (bytes, end) = {
            let mut gathered = self.gathered.lock();
            (std::mem::take(&mut gathered.bytes), gathered.end)
        };
        let begin = end - bytes.len() as u64;
        self.file.write_all_at(&bytes, begin % (FILE / 2))?;
        self.file.sync_data()?;
        self.synced.store(end, Ordering::Release);
        Ok(())
    }
}

/// Ends when what was appended is on the disk. Whoever finds nobody at it syncs for all.
pub struct Synced {
    journal: Arc<Journal>,
    position: u64,
    had_others_go_first: bool,
}

impl Future for Synced {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !std::mem::replace(&mut self.had_others_go_first, true) {
            // What other requests that are there append is synced with this one.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let journal = &*self.journal;
        if journal.synced.load(Ordering::Acquire) >= self.position {
            return Poll::Ready(Ok(()));
        }
        journal.gathered.lock().waiting.push(context.waker().clone());
        let Some(syncing) = journal.syncing.try_lock() else { return Poll::Pending };
        // Whoever had it before may have done it.
        let is_done = journal.synced.load(Ordering::Acquire) >= self.position;
        let result = if is_done { Ok(()) } else { journal.sync() };
        drop(syncing);
        let waiting = std::mem::take(&mut journal.gathered.lock().waiting);
        waiting.into_iter().for_each(Waker::wake);
        Poll::Ready(result)
    }
}

/// A file without a name, with its space allocated.
pub fn scratch(dir: &Path, bytes: u64) -> anyhow::Result<File> {
    let file = tempfile::tempfile_in(dir).with_context(|| format!("no file in {}", dir.display()))?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)
        .with_context(|| format!("no {bytes} bytes in {}", dir.display()))?;
    Ok(file)
}

const FILE: u64 = 1 << 30;
