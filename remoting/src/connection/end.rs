//! How a connection ends.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use super::{Connection, Phase};
use crate::DecodeError;
use crate::frame::FrameError;
use crate::server::Service;

/// Why a connection is over.
pub(super) enum End {
    /// By our own doing.
    Closed,
    ClosedByPeer,
    /// Nothing happened for too long.
    Idle,
    /// The peer does not take what is sent to it.
    Stalled {
        unsent: usize,
    },
    Failed(io::Error),
    BadFrame(FrameError),
    BadCommand(DecodeError),
    /// Some of its requests will not be answered.
    Unanswered,
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        Self::BadFrame(error)
    }
}

impl From<DecodeError> for End {
    fn from(error: DecodeError) -> Self {
        Self::BadCommand(error)
    }
}

impl End {
    /// One line, at the level of what an operator can do about it.
    pub fn log(&self, peer: SocketAddr) {
        match self {
            Self::Closed => tracing::debug!(%peer, "connection closed"),
            Self::ClosedByPeer => tracing::debug!(%peer, "connection closed by the peer"),
            Self::Idle => tracing::info!(%peer, "idle connection closed"),
            Self::Stalled { unsent } => {
                tracing::warn!(%peer, unsent, "connection closed: the peer does not read what is sent to it");
            }
            Self::Failed(error) if error.kind() == io::ErrorKind::Unsupported => {
                tracing::warn!(%peer, "connection closed: {error}");
            }
            Self::Failed(error) => tracing::debug!(%peer, "connection lost: {error}"),
            Self::BadFrame(error) => tracing::warn!(%peer, "connection closed: {error}"),
            Self::BadCommand(error) => tracing::warn!(%peer, "connection closed: {error}"),
            Self::Unanswered => {
                tracing::error!(%peer, "connection closed: the answers to some of its requests are lost");
            }
        }
    }
}

impl<S: Service + ?Sized> Connection<S> {
    /// Tries once to write what was answered before the end.
    pub(super) fn poll_last_words(&mut self, cx: &mut Context<'_>, end: End) -> Poll<End> {
        if !matches!(end, End::Failed(_)) {
            let _ = self.output.poll_write(&mut self.stream, cx, &mut false);
        }
        Poll::Ready(end)
    }

    /// Ends the connection when it is to be closed and everything is written. A draining one is
    /// shut down for writing and waits for the peer's close: closing with requests unread would
    /// make the system reset the connection and could cost the peer the last answers.
    pub(super) fn poll_goodbye(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let phase = self.peer.phase();
        if self.peer.has_mail() {
            // Queued after this round took what there was, and before the phase changed.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match phase {
            Phase::Open => return Poll::Pending,
            Phase::Draining if !self.flight.is_empty() => return Poll::Pending,
            Phase::Draining => {}
            Phase::Closing | Phase::Closed => return Poll::Ready(()),
        }
        if !self.said_goodbye {
            if ready!(self.stream.poll_shutdown(cx)).is_err() {
                return Poll::Ready(());
            }
            self.said_goodbye = true;
        }
        loop {
            self.input.forget();
            match ready!(self.input.poll_fill(&mut self.stream, cx)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    }
}
