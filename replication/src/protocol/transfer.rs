//! Bytes of the master's log on their way to a slave.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// The head of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Physical offset of the body's first byte.
    pub offset: i64,
    /// Bytes of the body; 0 in a heartbeat.
    pub size: i32,
}

impl Transfer {
    /// Bytes of a head.
    pub const HEAD: usize = 12;

    /// The head as it goes over the connection.
    pub fn encode(self) -> [u8; Self::HEAD] {
        let mut head = [0; Self::HEAD];
        head[..8].copy_from_slice(&self.offset.to_be_bytes());
        head[8..].copy_from_slice(&self.size.to_be_bytes());
        head
    }
}

/// Bytes that are no transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a transfer of {size} bytes at {offset} cannot be: this is no master of this protocol")]
pub struct TransferError {
    /// Physical offset.
    pub offset: i64,
    /// What stands in place of a size.
    pub size: i32,
}

/// A piece of what a master sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A transfer begins, or the master is alive.
    Head(Transfer),
    /// Bytes of the transfer that began last.
    Body(Bytes),
}

/// Reads transfers from a stream that is cut anywhere. Bodies are given in parts as they come, so a size needs no memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransferReader {
    /// Bytes of the body that are still to come.
    left: usize,
}

impl TransferReader {
    /// Takes the next part off the front of what was received; `None` when more has to come first.
    ///
    /// # Errors
    /// What stands there is no transfer.
    pub fn next(&mut self, received: &mut BytesMut) -> Result<Option<Part>, TransferError> {
        if self.left > 0 {
            let length = self.left.min(received.len());
            self.left -= length;
            return Ok((length > 0).then(|| Part::Body(received.split_to(length).freeze())));
        }
        if received.len() < Transfer::HEAD {
            return Ok(None);
        }
        let head = Transfer { offset: received.get_i64(), size: received.get_i32() };
        let Transfer { offset, size } = head;
        let length = usize::try_from(size).map_err(|_| TransferError { offset, size })?;
        if !(0..=FURTHEST).contains(&offset) {
            return Err(TransferError { offset, size });
        }
        self.left = length;
        Ok(Some(Part::Head(head)))
    }
}

/// No log reaches further, so that sums of an offset and the sizes of files and bodies stay in range.
const FURTHEST: i64 = i64::MAX / 2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(stream: &[u8], cut: usize) -> Result<Vec<(i64, Vec<u8>)>, TransferError> {
        let mut reader = TransferReader::default();
        let mut received = BytesMut::new();
        let mut transfers: Vec<(i64, Vec<u8>)> = Vec::new();
        for chunk in stream.chunks(cut) {
            received.extend_from_slice(chunk);
            while let Some(part) = reader.next(&mut received)? {
                match part {
                    Part::Head(head) => transfers.push((head.offset, Vec::new())),
                    Part::Body(body) => transfers.last_mut().unwrap().1.extend_from_slice(&body),
                }
            }
        }
        Ok(transfers)
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            transfers in proptest::collection::vec((0..i64::MAX / 2, proptest::collection::vec(any::<u8>(), 0..60)), 0..20),
            cut in 1..50usize,
        ) {
            let mut stream = Vec::new();
            for (offset, body) in &transfers {
                stream.extend_from_slice(&Transfer { offset: *offset, size: body.len() as i32 }.encode());
                stream.extend_from_slice(body);
            }
            prop_assert_eq!(read_all(&stream, cut), Ok(transfers));
        }

        #[test]
        fn any_bytes_are_read_or_refused(stream in proptest::collection::vec(any::<u8>(), 0..400), cut in 1..50usize) {
            let _ = read_all(&stream, cut);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (offset, size) in [(0, -1), (-1, 0), (i64::MAX, 1), (i64::MAX - 300, 0), (i64::MAX / 2 + 1, 0)] {
            let head = Transfer { offset, size };
            assert_eq!(read_all(&head.encode(), 5), Err(TransferError { offset, size }));
        }
    }
}
