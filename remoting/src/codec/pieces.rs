//! Short pieces written behind one another, without a look at the buffer for each.

use bytes::BytesMut;

use crate::json::text::put_escaped;
use crate::word::{ONES, TOPS, equal_bytes};

/// Appends pieces to a buffer. Until they are passed on, there is room behind them.
pub(super) struct Pieces<'a> {
    out: &'a mut BytesMut,
    place: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(out: &'a mut BytesMut) -> Self {
        let place = out.len();
        out.resize(place + ROOM, 0);
        Self { out, place }
    }

    /// Where in the buffer the next piece comes to lie.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Appends bytes whose number is known beforehand.
    #[inline]
    pub(super) fn put<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.room(N).copy_from_slice(bytes);
    }

    #[inline]
    pub(super) fn put_slice(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends several pieces.
    #[inline]
    pub(super) fn put_all<const N: usize>(&mut self, pieces: [&[u8]; N]) {
        let mut room = self.room(pieces.iter().map(|piece| piece.len()).sum());
        for piece in pieces {
            let (here, behind) = room.split_at_mut(piece.len());
            here.copy_from_slice(piece);
            room = behind;
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
            self.place = self.out.len();
        }
    }

    /// The buffer, with all pieces in it and nothing behind them.
    pub(super) fn pass_on(&mut self) -> &mut BytesMut {
        self.out.truncate(self.place);
        self.out
    }

    /// Forgets what stands in the buffer from a place on.
    pub(super) fn forget(&mut self, place: usize) {
        self.place = place;
        self.out.truncate(place);
    }

    /// Takes the next bytes.
    #[inline]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.place + bytes;
        if end > self.out.len() {
            self.make_room(end);
        }
        let start = std::mem::replace(&mut self.place, end);
        &mut self.out[start..end]
    }

    #[cold]
    fn make_room(&mut self, end: usize) {
        self.out.resize(end + ROOM, 0);
    }
}

/// Not 0 where one of eight bytes cannot stand in a JSON text as it is, or is none of ASCII.
#[inline]
fn needs_escape(word: u64) -> u64 {
    let control = (word | word.wrapping_sub(ONES * 0x20)) & TOPS;
    control | equal_bytes(word, b'"') | equal_bytes(word, b'\\')
}

/// Whether no byte needs an escape and all are ASCII.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().all(|byte| matches!(byte, 0x20..0x80) && !matches!(byte, b'"' | b'\\'));
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
                        gathered.put_all([b"", text.as_bytes(), b"five"]);
                        expected.extend_from_slice(format!("four{text}five").as_bytes());
                    }
                }
                prop_assert_eq!(gathered.place(), expected.len());
            }
            prop_assert_eq!(&gathered.pass_on()[..], &expected[..]);
        }
    }
}
