//! Requests whose answer comes later.

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, Stream as _};

use super::dispatch::panicked;
use crate::Command;

/// Bounds on what all connections of a server together have in flight.
#[derive(Debug)]
pub(crate) struct Limits {
    pub max_requests: usize,
    pub max_bytes: usize,
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl Limits {
    pub fn new(max_requests: usize, max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max_requests, max_bytes, requests: AtomicUsize::new(0), bytes: AtomicUsize::new(0) })
    }

    /// Whether no more should be taken.
    pub fn reached(&self) -> bool {
        self.requests.load(Ordering::Relaxed) >= self.max_requests
            || self.bytes.load(Ordering::Relaxed) >= self.max_bytes
    }

    fn take(self: &Arc<Self>, bytes: usize) -> Permit {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Permit { limits: Arc::clone(self), bytes }
    }
}

/// A request's share of the limits, given back when dropped.
struct Permit {
    limits: Arc<Limits>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limits.requests.fetch_sub(1, Ordering::Relaxed);
        self.limits.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The requests of one connection that are in flight, polled by its task.
pub(crate) struct Flight {
    limits: Arc<Limits>,
    /// Once there was a request, one that is never answered is among them. When all were polled, `FuturesUnordered` wakes
    /// whoever polls it, for others to have their turn: the connection's task would go to the end of the line, or to another
    /// thread, with each request that waits.
    replies: FuturesUnordered<Pending>,
}

/// What the answer must carry.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    pub(crate) opaque: i32,
    pub(crate) one_way: bool,
}

impl Flight {
    pub fn new(limits: Arc<Limits>) -> Self {
        Self { limits, replies: FuturesUnordered::new() }
    }

    pub fn len(&self) -> usize {
        self.replies.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the server as a whole has too much in flight.
    pub fn limit_reached(&self) -> bool {
        self.limits.reached()
    }

    /// Takes a request of `bytes` bytes up.
    pub fn push(&self, ticket: Ticket, bytes: usize, reply: Pin<Box<dyn Future<Output = Command> + Send>>) {
        if self.replies.is_empty() {
            let ticket = Ticket { opaque: 0, one_way: true };
            self.replies.push(Pending { ticket, _permit: None, reply: Box::pin(pending()) });
        }
        self.replies.push(Pending { ticket, _permit: Some(self.limits.take(bytes)), reply });
    }

    /// The next answer that is there.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Ticket, Command)>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.replies).poll_next(cx)
    }
}

struct Pending {
    ticket: Ticket,
    _permit: Option<Permit>,
    reply: Pin<Box<dyn Future<Output = Command> + Send>>,
}

impl Future for Pending {
    type Output = (Ticket, Command);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ticket = self.ticket;
        let polled = AssertUnwindSafe(&mut self.reply).catch_unwind().poll_unpin(cx);
        polled.map(|reply| (ticket, reply.unwrap_or_else(|panic| panicked(&*panic))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::task::{Wake, Waker};

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Task(AtomicBool);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_request_that_waits_wakes_nobody() {
        let task = Arc::new(Task::default());
        let waker = Waker::from(Arc::clone(&task));
        let mut cx = Context::from_waker(&waker);
        let mut flight = Flight::new(Limits::new(10, 1000));
        let push = |flight: &Flight, opaque| {
            let (answer, answered) = oneshot::channel();
            flight.push(Ticket { opaque, one_way: false }, 1, Box::pin(async { answered.await.unwrap() }));
            answer
        };
        assert!(flight.poll_next(&mut cx).is_ready() && flight.is_empty());
        let first = push(&flight, 1);
        // The one that is never answered is new, too.
        while flight.poll_next(&mut cx).is_pending() && task.0.swap(false, Ordering::Relaxed) {}
        let second = push(&flight, 2);
        assert!(flight.poll_next(&mut cx).is_pending() && !task.0.load(Ordering::Relaxed));
        assert_eq!(flight.len(), 2);
        for (answer, opaque) in [(second, 2), (first, 1)] {
            answer.send(Command::response(crate::ResponseCode::SUCCESS)).unwrap();
            assert!(task.0.swap(false, Ordering::Relaxed));
            let Poll::Ready(Some((ticket, _))) = flight.poll_next(&mut cx) else { panic!("{opaque} is answered") };
            assert_eq!(ticket.opaque, opaque);
        }
        assert!(flight.is_empty() && matches!(flight.poll_next(&mut cx), Poll::Ready(None)));
    }
}
