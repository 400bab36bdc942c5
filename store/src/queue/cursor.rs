//! Walking the units of a queue.

use std::io;

use super::queue::Queue;
use super::unit::{UNIT_SIZE, Unit};

/// Units of a queue with their offsets, read a few dozen at a time into its own memory.
#[derive(Debug)]
pub struct Cursor<'a> {
    queue: &'a Queue,
    /// Offset of the next unit given out.
    next: i64,
    buffer: [u8; UNIT_SIZE * AT_ONCE],
    position: usize,
    filled: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(queue: &'a Queue, next: i64) -> Self {
        Self { queue, next, buffer: [0; UNIT_SIZE * AT_ONCE], position: 0, filled: 0 }
    }
}

impl Iterator for Cursor<'_> {
    type Item = io::Result<(i64, Unit)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position == self.filled {
            self.position = 0;
            self.filled = 0;
            match self.queue.read(self.next, &mut self.buffer) {
                Ok(0) => return None,
                Ok(filled) => self.filled = filled,
                Err(error) => return Some(Err(error)),
            }
        }
        let bytes = self.buffer[self.position..self.filled].first_chunk()?;
        self.position += UNIT_SIZE;
        let offset = self.next;
        self.next += 1;
        Some(Ok((offset, Unit::from_bytes(bytes))))
    }
}

/// A pull's usual number of messages.
const AT_ONCE: usize = 32;
