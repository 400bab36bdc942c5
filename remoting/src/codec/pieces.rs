//! Short pieces gathered before they go to a buffer together.

use bytes::BytesMut;

use crate::json::text::put_escaped;
use crate::word::{ONES, TOPS, equal_bytes};

/// Appends pieces to `out`, many at a time.
pub(super) struct Pieces<'a> {
    out: &'a mut BytesMut,
    gathered: [u8; ROOM],
    length: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(out: &'a mut BytesMut) -> Self {
        Self { out, gathered: [0; ROOM], length: 0 }
    }

    /// Where in the buffer the next piece comes to lie.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.out.len() + self.length
    }

    /// Appends bytes whose number is known beforehand.
    #[inline]
    pub(super) fn put<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.make_room(N);
        self.gathered[self.length..self.length + N].copy_from_slice(bytes);
        self.length += N;
    }

    #[inline]
    pub(super) fn put_slice(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        match self.gathered.get_mut(self.length..self.length + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            None => self.out.extend_from_slice(bytes),
        }
    }

    #[inline]
    pub(super) fn put_integer(&mut self, number: i32) {
        self.put_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Appends what stands between the quotes of a JSON text.
    #[inline]
    pub(super) fn put_text(&mut self, text: &str) {
        if is_plain(text.as_bytes()) {
            self.put_slice(text.as_bytes());
        } else {
            put_escaped(self.pass_on(), text);
        }
    }

    /// The buffer, with all pieces in it.
    pub(super) fn pass_on(&mut self) -> &mut BytesMut {
        self.out.extend_from_slice(&self.gathered[..self.length]);
        self.length = 0;
        self.out
    }

    /// Forgets what stands in the buffer from a place on.
    pub(super) fn forget(&mut self, place: usize) {
        self.length = 0;
        self.out.truncate(place);
    }

    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.length + bytes > ROOM {
            self.pass_on();
        }
    }
}

/// Not 0 where one of eight bytes cannot stand in a JSON text as it is; sometimes also because of a byte beyond ASCII.
#[inline]
fn needs_escape(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & TOPS;
    control | equal_bytes(word, b'"') | equal_bytes(word, b'\\')
}

/// Whether no byte needs an escape; false also for some texts beyond ASCII.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().all(|byte| *byte >= 0x20 && !matches!(byte, b'"' | b'\\'));
    };
    let (words, _) = bytes.as_chunks::<8>();
    let mut found = needs_escape(u64::from_le_bytes(*last));
    for word in words {
        found |= needs_escape(u64::from_le_bytes(*word));
    }
    found == 0
}

/// Bytes of an ordinary answer's head.
const ROOM: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_pieces_come_in_order(pieces in proptest::collection::vec(("\\PC{0,40}|[\\x00-\\x7f]{0,700}", 0..3), 0..12)) {
            let mut out = BytesMut::from(&b"before"[..]);
            let mut expected = out.clone();
            let mut gathered = Pieces::new(&mut out);
            for (text, kind) in &pieces {
                match kind {
                    0 => {
                        gathered.put_slice(text.as_bytes());
                        expected.extend_from_slice(text.as_bytes());
                    }
                    1 => {
                        gathered.put_text(text);
                        put_escaped(&mut expected, text);
                    }
                    _ => {
                        gathered.put(b"four");
                        expected.extend_from_slice(b"four");
                    }
                }
                prop_assert_eq!(gathered.place(), expected.len());
            }
            prop_assert_eq!(&gathered.pass_on()[..], &expected[..]);
        }
    }
}
