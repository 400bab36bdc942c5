//! The answer to a request that was sent, as a future.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::peer::{CallError, Peer};
use crate::Command;

/// Ends with the response, or with [`CallError::Closed`]. Dropping it forgets the call.
pub struct Answer<P: Deref<Target = Peer>> {
    peer: P,
    opaque: i32,
    /// `None` when the answer was given out.
    receiver: Option<oneshot::Receiver<Command>>,
}

impl<P: Deref<Target = Peer>> Answer<P> {
    pub(super) fn new(peer: P, (opaque, receiver): (i32, oneshot::Receiver<Command>)) -> Self {
        Self { peer, opaque, receiver: Some(receiver) }
    }
}

impl<P: Deref<Target = Peer> + Unpin> Future for Answer<P> {
    type Output = Result<Command, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let closed = CallError::Closed(self.peer.address());
        let Some(receiver) = &mut self.receiver else { return Poll::Ready(Err(closed)) };
        Pin::new(receiver).poll(cx).map(|answer| {
            self.receiver = None;
            answer.map_err(|_| closed)
        })
    }
}

impl<P: Deref<Target = Peer>> Drop for Answer<P> {
    fn drop(&mut self) {
        if self.receiver.is_some() {
            self.peer.forget_call(self.opaque);
        }
    }
}
