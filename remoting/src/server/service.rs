//! What a server does with a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::{Answering, Peer, Settling};
use crate::Command;

/// The handlers behind one listening port.
pub trait Service: Send + Sync + 'static {
    /// Handles one request on the connection's own task. Must not block: what has to wait answers
    /// [`Reply::Later`]. The connection sets `opaque` and the response flag of the answer, and drops
    /// the answer to a one-way request.
    fn call(&self, peer: &Arc<Peer>, request: Command) -> Reply;

    /// What the connection calls. For services that write some of their answers as they go out: see [`Answering`].
    fn answer(&self, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
        let _ = answering;
        self.call(peer, request)
    }

    /// Answers what was put off ([`Reply::PutOff`]): called on the same thread, with nothing of another connection in between, when
    /// all frames that came together are handled.
    fn settle(&self, settling: &mut Settling<'_>) {
        let _ = settling;
    }

    /// Whether `request` may be answered with SYSTEM_BUSY, without a call, while the server's limits on
    /// requests in flight are reached. What keeps the cluster together (heartbeats, registrations)
    /// and what an operator needs then should say no.
    fn may_refuse(&self, request: &Command) -> bool {
        let _ = request;
        true
    }

    /// A connection was closed, by either side. Called once for each.
    fn closed(&self, peer: &Arc<Peer>) {
        let _ = peer;
    }
}

/// When the answer to a request comes.
pub enum Reply {
    /// At once: the normal case, without a hand-over to another task.
    Now(Command),
    /// When the future ends: a held pull, a flush to wait for, a cold read. The connection goes on
    /// with other requests meanwhile; the future is dropped when the connection closes.
    Later(Pin<Box<dyn Future<Output = Command> + Send>>),
    /// It is written already: see [`Answering`].
    Written,
    /// [`Service::settle`] writes it.
    PutOff,
    /// Not at all.
    Never,
}

impl Reply {
    /// An answer that comes when `future` ends.
    pub fn later(future: impl Future<Output = Command> + Send + 'static) -> Self {
        Self::Later(Box::pin(future))
    }
}

impl From<Command> for Reply {
    fn from(response: Command) -> Self {
        Self::Now(response)
    }
}
