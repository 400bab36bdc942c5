//! The kinds of byte stream below a connection.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// First byte of a TLS hello. As the first byte of a frame it would announce 352 MiB.
const TLS_HELLO: u8 = 0x16;

/// A connected socket. What is read and written are frames as they are; TLS becomes one more kind,
/// entered where [`Stream::poll_kind`] sees its hello.
pub(crate) struct Stream {
    socket: TcpStream,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Accepted, and nothing was read yet: it is open whether this is TLS.
    Fresh,
    Plain,
}

impl Stream {
    /// A socket that was accepted: the peer decides what it speaks.
    pub fn accepted(socket: TcpStream) -> Self {
        Self { socket, kind: Kind::Fresh }
    }

    /// A socket that we connected, without TLS.
    pub fn connected(socket: TcpStream) -> Self {
        Self { socket, kind: Kind::Plain }
    }

    /// Waits until something can be read, without needing memory for it.
    ///
    /// # Errors
    /// `Unsupported` for a TLS hello, since no certificate is configured.
    pub fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.kind {
            Kind::Fresh => self.poll_kind(cx),
            Kind::Plain => self.socket.poll_read_ready(cx),
        }
    }

    fn poll_kind(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut first = [0];
        let mut peeked = ReadBuf::new(&mut first);
        ready!(self.socket.poll_peek(cx, &mut peeked))?;
        if peeked.filled() == [TLS_HELLO] {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::Unsupported, "TLS is not enabled on this port")));
        }
        self.kind = Kind::Plain;
        Poll::Ready(Ok(()))
    }

    /// Reads into the free capacity of `buffer`; 0 bytes: the peer has closed.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        pin!(self.socket.read_buf(buffer)).poll(cx)
    }

    /// Writes one piece.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    /// Writes several pieces with one call.
    pub fn poll_write_vectored(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, slices)
    }

    /// Tells the peer that nothing more comes.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
