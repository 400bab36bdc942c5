//! One connection, on either side: a task that reads, handles and writes.
//!
//! The task is one hand-written future. Every time it is polled it takes, in this order: answers
//! that became ready, what others queued, frames that are there; then everything gathered leaves in
//! one write. It has memory for buffers only while there is traffic.

mod answer;
mod answering;
mod dispatch;
mod end;
mod flight;
mod input;
mod options;
mod output;
mod peer;
mod stream;
mod timer;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

pub use answer::Answer;
pub use answering::{Answering, Settling};
pub(crate) use flight::Limits;
pub use flight::Ticket;
pub use options::ConnectionOptions;
pub(crate) use peer::Phase;
pub use peer::{CallError, Peer};
pub(crate) use stream::Stream;

use crate::server::Service;
use end::End;
use flight::Flight;
use input::Input;
use output::Output;
use timer::Timer;

/// The task of one connection.
pub(crate) struct Connection<S: Service + ?Sized> {
    stream: Stream,
    peer: Arc<Peer>,
    service: Arc<S>,
    options: Arc<ConnectionOptions>,
    input: Input,
    output: Output,
    flight: Flight,
    timer: Timer,
    /// When the last bytes came.
    received: Instant,
    /// Set when everything was written after [`Phase::Draining`]: only the peer's close is awaited.
    said_goodbye: bool,
}

impl<S: Service + ?Sized> Connection<S> {
    pub fn new(
        stream: Stream,
        peer: Arc<Peer>,
        service: Arc<S>,
        options: Arc<ConnectionOptions>,
        limits: Arc<Limits>,
    ) -> Self {
        Self {
            stream,
            peer,
            service,
            input: Input::new(options.max_frame),
            output: Output::default(),
            flight: Flight::new(limits),
            timer: Timer::new(&options),
            options,
            received: Instant::now(),
            said_goodbye: false,
        }
    }

    /// Works until there is nothing to do.
    fn poll_work(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.peer.listen(cx.waker());
        for _ in 0..ROUNDS {
            let mut progress = self.collect_answers(cx);
            self.peer.take_outbox(&mut self.output);
            match self.receive(cx) {
                Ok(received) => progress |= received,
                Err(end) => return self.poll_last_words(cx, end),
            }
            let held_back = self.is_congested();
            let mut took = false;
            let flushed = match self.output.poll_write(&mut self.stream, cx, &mut took) {
                Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(error)),
                other => other.is_ready(),
            };
            self.peer.report_unsent(self.output.len());
            if progress || took {
                self.timer.active();
            }
            if progress || held_back && !self.is_congested() {
                continue;
            }
            if flushed && self.poll_goodbye(cx).is_ready() {
                return Poll::Ready(End::Closed);
            }
            return self.poll_timer(cx);
        }
        // Others are to have their turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Answers that came later than their request.
    fn collect_answers(&mut self, cx: &mut Context<'_>) -> bool {
        let mut active = false;
        while self.output.len() <= self.options.max_unsent {
            let Poll::Ready(Some((ticket, response))) = self.flight.poll_next(cx) else { break };
            self.answer(ticket, response);
            active = true;
        }
        active
    }

    /// Handles the frames that are there and those of one more read; false when there was nothing
    /// to do, or when what is unsent or in flight must become less first.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let phase = self.peer.phase();
        if phase >= Phase::Closing {
            return Ok(false);
        }
        let mut handled = self.handle_frames()?;
        if phase == Phase::Open && !self.is_congested() && handled < FRAMES {
            match self.input.poll_fill(&mut self.stream, cx) {
                Poll::Ready(Ok(0)) => return Err(End::ClosedByPeer),
                Poll::Ready(Ok(_)) => {
                    self.received = Instant::now();
                    self.handle_frames()?;
                    handled += 1;
                }
                Poll::Ready(Err(error)) => return Err(End::Failed(error)),
                Poll::Pending => {}
            }
        }
        Ok(handled > 0)
    }

    fn handle_frames(&mut self) -> Result<usize, End> {
        let mut put_off = 0;
        // Whatever comes in between, what was put off is settled before this thread serves another connection.
        let handled = catch_unwind(AssertUnwindSafe(|| self.dispatch_frames(&mut put_off)));
        if put_off > 0 {
            self.settle(put_off)?;
        }
        handled.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Counts those whose answers are put off.
    fn dispatch_frames(&mut self, put_off: &mut usize) -> Result<usize, End> {
        let mut handled = 0;
        while handled < FRAMES && !self.is_congested() {
            let Some(content) = self.input.next_frame()? else { break };
            *put_off += usize::from(self.dispatch(content)?);
            handled += 1;
        }
        Ok(handled)
    }

    fn is_congested(&self) -> bool {
        self.output.len() > self.options.max_unsent || self.flight.len() >= self.options.max_in_flight
    }
}

impl<S: Service + ?Sized> Future for Connection<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let connection = self.get_mut();
        connection.poll_work(cx).map(|end| end.log(connection.peer.address()))
    }
}

/// However the task ends, by itself, aborted or unwinding, the service learns of it once.
impl<S: Service + ?Sized> Drop for Connection<S> {
    fn drop(&mut self) {
        self.peer.mark_closed();
        self.service.closed(&self.peer);
    }
}

/// Rounds of read, handle and write before other connections have their turn: one that handles a request, one that brings an
/// answer that came later, and one that finds nothing more, so that a connection with few requests does not wake others.
const ROUNDS: usize = 3;
/// Frames handled before what they answered is written.
const FRAMES: usize = 128;
