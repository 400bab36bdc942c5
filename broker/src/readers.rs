//! Reads that may wait for the disk: few at a time, on threads of their own, so that a slow disk holds up nothing else.
//!
//! A read waits in line until a thread is free. The line is bounded, and so are the bytes that were read and are not yet
//! fetched by their connections: beyond, reads are refused. A thread of the runtime's pool takes reads from the line until it
//! is empty, so none is kept while nothing is cold.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apogee_remoting::{Command, ResponseCode};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::answer::Refusal;

/// The threads and the line before them.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Shared>);

struct Shared {
    /// Most reads at a time.
    threads: usize,
    /// Most reads in line.
    line: usize,
    state: Mutex<State>,
    /// Bytes that were read and are not yet fetched.
    unfetched: AtomicUsize,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: VecDeque<Box<dyn FnOnce() + Send>>,
}

/// What a read gives, which is kept until it is fetched.
pub(crate) trait Weighs: Send + 'static {
    /// Bytes of it.
    fn weight(&self) -> usize;
}

impl Weighs for Command {
    fn weight(&self) -> usize {
        self.body.len()
    }
}

/// No read is taken now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// As many as may be are in line.
    Line,
    /// As many bytes as may be are not fetched.
    Bytes,
}

impl Readers {
    pub(crate) fn new(threads: usize, line: usize) -> Self {
        let (state, unfetched) = Default::default();
        Self(Arc::new(Shared { threads: threads.max(1), line, state, unfetched }))
    }

    /// Reads in line.
    pub(crate) fn in_line(&self) -> usize {
        self.0.state.lock().waiting.len()
    }

    /// Reads on a thread that may wait. A panic goes on in who awaits it; a read that nobody awaits any more is left out.
    ///
    /// # Errors
    /// Too much is in hand; nothing was read.
    pub(crate) async fn read<T: Weighs>(&self, act: impl FnOnce() -> T + Send + 'static) -> Result<T, Busy> {
        if self.0.unfetched.load(Ordering::Relaxed) >= MOST_UNFETCHED {
            return Err(Busy::Bytes);
        }
        let (tell, told) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        self.0.submit(Box::new(move || {
            if !tell.is_closed() {
                // Who is gone does not want it; its bytes go with it.
                let _ = tell.send(catch_unwind(AssertUnwindSafe(act)).map(|read| Read::new(shared, read)));
            }
        }))?;
        match told.await {
            Ok(Ok(read)) => Ok(read.fetch()),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => resume_unwind(Box::new("the runtime ends") as Box<dyn Any + Send>),
        }
    }
}

impl Shared {
    fn submit(self: &Arc<Self>, read: Box<dyn FnOnce() + Send>) -> Result<(), Busy> {
        let mut state = self.state.lock();
        if state.running < self.threads {
            state.running += 1;
            let shared = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || shared.work(read)));
        } else if state.waiting.len() < self.line {
            state.waiting.push_back(read);
        } else {
            return Err(Busy::Line);
        }
        Ok(())
    }

    fn work(&self, first: Box<dyn FnOnce() + Send>) {
        let mut next = Some(first);
        while let Some(read) = next {
            read();
            let mut state = self.state.lock();
            next = state.waiting.pop_front();
            if next.is_none() {
                state.running -= 1;
            }
        }
    }
}

/// What was read, counted until it is fetched.
struct Read<T> {
    value: Option<T>,
    weight: usize,
    shared: Arc<Shared>,
}

impl<T: Weighs> Read<T> {
    fn new(shared: Arc<Shared>, value: T) -> Self {
        let weight = value.weight();
        shared.unfetched.fetch_add(weight, Ordering::Relaxed);
        Self { value: Some(value), weight, shared }
    }

    fn fetch(mut self) -> T {
        self.value.take().expect("it is fetched once")
    }
}

impl<T> Drop for Read<T> {
    fn drop(&mut self) {
        self.shared.unfetched.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

impl From<Busy> for Refusal {
    fn from(busy: Busy) -> Self {
        let remark = match busy {
            Busy::Line => "[OVERLOAD]system busy, too many reads wait for the disk",
            Busy::Bytes => "[OVERLOAD]system busy, too much was read and is not fetched",
        };
        Self::new(ResponseCode::SYSTEM_BUSY, remark)
    }
}

/// A message may be a few MiB; an answer from the disk has 64 KiB by default.
const MOST_UNFETCHED: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    impl Weighs for usize {
        fn weight(&self) -> usize {
            *self
        }
    }

    /// A read that is stuck until something is sent to it, begun at once.
    async fn stuck(readers: &Readers) -> (mpsc::Sender<usize>, tokio::task::JoinHandle<Result<usize, Busy>>) {
        let (go_on, wait) = mpsc::channel();
        let (tell, told) = oneshot::channel();
        let readers = readers.clone();
        let read = tokio::spawn(async move {
            let act = move || {
                tell.send(()).unwrap();
                wait.recv().unwrap()
            };
            readers.read(act).await
        });
        told.await.unwrap();
        (go_on, read)
    }

    #[tokio::test]
    async fn few_read_at_a_time_few_wait_and_the_rest_is_refused() {
        let readers = Readers::new(2, 1);
        let (first, read_first) = stuck(&readers).await;
        let (second, read_second) = stuck(&readers).await;
        let waiting = tokio::spawn({
            let readers = readers.clone();
            async move { readers.read(|| 3).await }
        });
        while readers.in_line() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(readers.read(|| 4).await, Err(Busy::Line));
        first.send(1).unwrap();
        assert_eq!((read_first.await.unwrap(), waiting.await.unwrap()), (Ok(1), Ok(3)));
        second.send(2).unwrap();
        assert_eq!(read_second.await.unwrap(), Ok(2));
        // All ended, and none left a mark.
        assert_eq!((readers.read(|| 5).await, readers.in_line()), (Ok(5), 0));
    }

    #[tokio::test]
    async fn what_nobody_fetches_is_bounded_and_given_up_with_its_reader() {
        let readers = Readers::new(1, 10);
        let (go_on, read) = stuck(&readers).await;
        go_on.send(MOST_UNFETCHED).unwrap();
        // It is there, and its reader has not been told yet.
        while readers.0.unfetched.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(readers.read(|| 1).await, Err(Busy::Bytes));
        assert_eq!(read.await.unwrap(), Ok(MOST_UNFETCHED));
        assert_eq!(readers.read(|| 1).await, Ok(1));
    }

    #[tokio::test]
    async fn a_read_that_panics_leaves_its_thread_to_the_next() {
        let readers = Readers::new(1, 10);
        let failing = readers.clone();
        let failed = tokio::spawn(async move { failing.read(|| -> usize { panic!("a test") }).await }).await;
        assert!(failed.unwrap_err().is_panic());
        assert_eq!(readers.read(|| 1).await, Ok(1));
    }
}
