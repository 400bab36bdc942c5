//! What was read and not handled yet.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};

use super::stream::Stream;
use crate::frame::{self, FrameError};

/// The growing buffer of one connection. It has no memory until something arrives, and gives it
/// back when the connection is quiet.
pub(crate) struct Input {
    buffer: BytesMut,
    max_frame: usize,
    /// Bytes to have room for at the next read; grows while reads fill what they got.
    room: usize,
}

impl Input {
    pub fn new(max_frame: usize) -> Self {
        Self { buffer: BytesMut::new(), max_frame, room: MIN_ROOM }
    }

    /// Cuts off the next whole frame.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        frame::take(&mut self.buffer, self.max_frame)
    }

    /// Reads once; 0 bytes: the peer has closed.
    pub fn poll_fill(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() == 0 {
            ready!(stream.poll_readable(cx))?;
        }
        self.reserve();
        let free = self.buffer.capacity() - self.buffer.len();
        let read = ready!(stream.poll_read(cx, &mut self.buffer))?;
        if read == free && self.room < MAX_ROOM {
            self.room *= 2;
        }
        Poll::Ready(Ok(read))
    }

    /// Makes room for the rest of a frame that has begun, but never for much more than has arrived:
    /// an announced length alone gets no memory.
    fn reserve(&mut self) {
        let missing = self.buffer.first_chunk::<4>().map_or(0, |word| {
            let whole = u32::from_be_bytes(*word) as usize + 4;
            whole.saturating_sub(self.buffer.len())
        });
        let room = missing.clamp(self.room, self.room.max(self.buffer.len()));
        if self.buffer.is_empty() || missing > 0 || self.buffer.capacity() - self.buffer.len() < MIN_READ {
            self.buffer.reserve(room);
        }
    }

    /// Throws away what was not handled.
    pub fn forget(&mut self) {
        self.buffer.clear();
    }

    /// Gives the memory back unless part of a frame is in it.
    pub fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.room = MIN_ROOM;
        }
    }
}

const MIN_ROOM: usize = 4 << 10;
const MAX_ROOM: usize = 128 << 10;
/// With less room than this a read is not worth its system call.
const MIN_READ: usize = 1 << 10;
