//! Walking the units of a queue.

use std::io;

use super::entry::{BATCH_UNIT_SIZE, Entry};
use super::queue::Queue;

/// Units of a queue with their offsets, read a few dozen at a time into its own memory.
#[derive(Debug)]
pub struct Cursor<'a> {
    queue: &'a Queue,
    may_wait: bool,
    next: Next,
    buffer: [u8; BATCH_UNIT_SIZE * AT_ONCE],
    position: usize,
    filled: usize,
}

/// Where the next unit is.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// The one with this queue offset among its messages.
    Offset(i64),
    /// At this place of the queue.
    Place(i64),
}

impl<'a> Cursor<'a> {
    /// From the unit on that stands for the message at a queue offset.
    pub(super) fn at_offset(queue: &'a Queue, offset: i64, may_wait: bool) -> Self {
        Self::new(queue, Next::Offset(offset), may_wait)
    }

    /// From a place of the queue on.
    pub(super) fn at_place(queue: &'a Queue, place: i64) -> Self {
        Self::new(queue, Next::Place(place), true)
    }

    fn new(queue: &'a Queue, next: Next, may_wait: bool) -> Self {
        Self { queue, may_wait, next, buffer: [0; BATCH_UNIT_SIZE * AT_ONCE], position: 0, filled: 0 }
    }

    /// The next unit with its place.
    #[inline]
    pub(super) fn next_with_place(&mut self) -> io::Result<Option<(i64, Entry)>> {
        let place = match self.next {
            Next::Place(place) => place,
            Next::Offset(offset) => self.queue.place_of(offset, self.may_wait)?,
        };
        self.next = Next::Place(place);
        if self.position == self.filled {
            (self.position, self.filled) = (0, 0);
            let size = self.queue.kind().unit_size() * AT_ONCE;
            self.filled = self.queue.read(place, &mut self.buffer[..size], self.may_wait)?;
        }
        let Some(entry) = Entry::decode(self.queue.kind(), place, &self.buffer[self.position..self.filled]) else {
            return Ok(None);
        };
        self.position += self.queue.kind().unit_size();
        self.next = Next::Place(place + 1);
        Ok(Some((place, entry)))
    }
}

impl Iterator for Cursor<'_> {
    type Item = io::Result<Entry>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_with_place().map(|next| next.map(|(_, entry)| entry)).transpose()
    }
}

/// A pull's usual number of messages, and the one behind them at which it finds that it is full.
const AT_ONCE: usize = 33;
