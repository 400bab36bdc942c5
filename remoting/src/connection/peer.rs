//! The other end of a connection, as handlers see it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::oneshot;

use super::answer::Answer;
use super::options::ConnectionOptions;
use super::output::Output;
use crate::{Command, Serialization};

/// A connected client, broker or admin tool; for a client, the server. Lives as long as anybody
/// holds it; after the connection closed, sending fails.
pub struct Peer {
    id: u64,
    address: SocketAddr,
    serialization: Serialization,
    max_unsent: usize,
    /// A [`Phase`].
    phase: AtomicU8,
    /// Bytes in the outbox.
    queued: AtomicUsize,
    /// Bytes that the connection's task took and has not written.
    unsent: AtomicUsize,
    waker: AtomicWaker,
    mail: Mutex<Mail>,
}

/// What other tasks hand to the connection's task.
struct Mail {
    outbox: Output,
    calls: HashMap<i32, oneshot::Sender<Command>>,
    next_opaque: i32,
    closed: bool,
}

/// How far a connection is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    Open,
    /// No request is read any more; those in hand are answered.
    Draining,
    /// What is queued is written, nothing else.
    Closing,
    Closed,
}

/// Why a request to a peer got no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CallError {
    /// The connection is closed, or closed before the answer came.
    #[error("the connection to {0} is closed")]
    Closed(SocketAddr),
    /// No answer within the time.
    #[error("no answer from {0} within {1:?}")]
    Timeout(SocketAddr, Duration),
    /// Too many bytes wait to be written to this peer.
    #[error("{0} does not read its answers")]
    Congested(SocketAddr),
    /// No connection could be made.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// What was to be reached, as configured.
        address: String,
        /// The system's answer, or the time that passed.
        reason: String,
    },
    /// The list of name servers is empty.
    #[error("no name server is configured")]
    NoNameServer,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, options: &ConnectionOptions) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            address,
            serialization: options.serialization,
            max_unsent: options.max_unsent,
            phase: AtomicU8::new(Phase::Open as u8),
            queued: AtomicUsize::new(0),
            unsent: AtomicUsize::new(0),
            waker: AtomicWaker::new(),
            mail: Mutex::new(Mail { outbox: Output::default(), calls: HashMap::new(), next_opaque: 0, closed: false }),
        })
    }

    /// Number of this connection, unique within the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Remote address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the connection still stands.
    pub fn is_open(&self) -> bool {
        self.phase() == Phase::Open
    }

    /// Queues a one-way request (code 40, for instance) or any other command for the connection's task; never blocks.
    ///
    /// # Errors
    /// The connection is closed, or this peer has not taken what was sent before.
    pub fn send(&self, command: Command) -> Result<(), CallError> {
        self.post(command, &mut self.mail.lock())
    }

    /// Sends a request to the peer and waits for its response. The request's `opaque` is replaced.
    ///
    /// # Errors
    /// As [`Self::send`]; or there was no answer within `timeout`.
    pub async fn request(&self, command: Command, timeout: Duration) -> Result<Command, CallError> {
        let answer = Answer::new(self, self.submit_call(command)?);
        tokio::time::timeout(timeout, answer).await.unwrap_or(Err(CallError::Timeout(self.address, timeout)))
    }

    /// Sends a request; the future it gives is the response, without a time limit.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn submit(self: &Arc<Self>, command: Command) -> Result<Answer<Arc<Self>>, CallError> {
        Ok(Answer::new(Arc::clone(self), self.submit_call(command)?))
    }

    /// Closes the connection once queued commands are written.
    pub fn close(&self) {
        self.advance(Phase::Closing);
    }

    fn submit_call(&self, mut command: Command) -> Result<(i32, oneshot::Receiver<Command>), CallError> {
        let (sender, receiver) = oneshot::channel();
        let mail = &mut *self.mail.lock();
        // Opaques of calls that are still open after all 2^32 numbers went round are skipped.
        while mail.calls.contains_key(&mail.next_opaque) {
            mail.next_opaque = mail.next_opaque.wrapping_add(1);
        }
        let opaque = mail.next_opaque;
        mail.next_opaque = opaque.wrapping_add(1);
        command.opaque = opaque;
        self.post(command, mail)?;
        mail.calls.insert(opaque, sender);
        Ok((opaque, receiver))
    }

    fn post(&self, command: Command, mail: &mut Mail) -> Result<(), CallError> {
        if mail.closed {
            return Err(CallError::Closed(self.address));
        }
        if mail.outbox.len() + self.unsent.load(Ordering::Relaxed) > self.max_unsent {
            return Err(CallError::Congested(self.address));
        }
        let was_empty = mail.outbox.is_empty();
        mail.outbox.push(command, self.serialization);
        self.queued.store(mail.outbox.len(), Ordering::Release);
        if was_empty {
            // Later posts need not wake: the task takes everything at once.
            self.waker.wake();
        }
        Ok(())
    }

    /// Gives up waiting for the answer to a call.
    pub(super) fn forget_call(&self, opaque: i32) {
        self.mail.lock().calls.remove(&opaque);
    }
}

/// The connection's side.
impl Peer {
    pub(super) fn listen(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Open,
            1 => Phase::Draining,
            2 => Phase::Closing,
            _ => Phase::Closed,
        }
    }

    /// Goes on to `phase`; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        if self.phase.fetch_max(phase as u8, Ordering::AcqRel) < phase as u8 {
            self.waker.wake();
        }
    }

    /// Moves what others queued into the connection's output.
    pub(super) fn take_outbox(&self, output: &mut Output) {
        if self.has_mail() {
            let mail = &mut *self.mail.lock();
            output.append(&mut mail.outbox);
            self.queued.store(0, Ordering::Relaxed);
            self.unsent.store(output.len(), Ordering::Relaxed);
        }
    }

    /// Whether something is queued that the task has not taken.
    pub(super) fn has_mail(&self) -> bool {
        self.queued.load(Ordering::Acquire) > 0
    }

    pub(super) fn report_unsent(&self, bytes: usize) {
        self.unsent.store(bytes, Ordering::Relaxed);
    }

    /// Hands a response to the call that waits for it; false when there is none.
    pub(super) fn answer_call(&self, response: Command) -> bool {
        let call = self.mail.lock().calls.remove(&response.opaque);
        call.is_some_and(|call| call.send(response).is_ok())
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.mail.lock().calls.is_empty()
    }

    /// Gives back memory of a quiet connection.
    pub(super) fn release(&self) {
        let mail = &mut *self.mail.lock();
        mail.outbox.release();
        mail.calls.shrink_to_fit();
    }

    /// Nothing can be sent any more; calls without an answer fail.
    pub(super) fn mark_closed(&self) {
        self.phase.store(Phase::Closed as u8, Ordering::Release);
        let mail = &mut *self.mail.lock();
        mail.closed = true;
        mail.calls = HashMap::new();
        mail.outbox = Output::default();
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("id", &self.id).field("address", &self.address).finish_non_exhaustive()
    }
}
