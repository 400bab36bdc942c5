//! What is to be written: heads gathered in one buffer, bodies as they are.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};

use super::stream::Stream;
use crate::codec::{Head, HeadWriter};
use crate::{Body, Command, EncodeHeader, Serialization};

/// Commands in wire form, in order, until the socket takes them.
#[derive(Default)]
pub(crate) struct Output {
    /// Finished pieces, before `tail`.
    segments: VecDeque<Bytes>,
    /// The piece that the next head is appended to.
    tail: BytesMut,
    /// Bytes in both.
    length: usize,
}

impl Output {
    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn push(&mut self, command: Command, serialization: Serialization) {
        let before = self.tail.len();
        command.encode_head(serialization, &mut self.tail);
        self.length += self.tail.len() - before;
        self.push_body(command.body);
    }

    /// The same for a command that is in parts.
    pub fn write(&mut self, serialization: Serialization, head: Head<'_>, header: &impl EncodeHeader, body: Body) {
        let before = self.tail.len();
        let mut writer = HeadWriter::begin(serialization, head, &mut self.tail);
        header.encode(&mut writer);
        writer.finish(body.len());
        self.length += self.tail.len() - before;
        if !body.is_empty() {
            self.push_body(body);
        }
    }

    fn push_body(&mut self, body: Body) {
        match body {
            Body::Whole(part) => self.push_part(part),
            Body::Parts(parts) => parts.into_iter().for_each(|part| self.push_part(part)),
        }
    }

    fn push_part(&mut self, part: Bytes) {
        self.length += part.len();
        if part.len() <= COPIED {
            self.tail.extend_from_slice(&part);
        } else {
            self.cut();
            self.segments.push_back(part);
        }
    }

    fn cut(&mut self) {
        if !self.tail.is_empty() {
            self.segments.push_back(self.tail.split().freeze());
        }
    }

    /// Moves everything out of `other` behind what is here.
    pub fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
            return;
        }
        if !other.segments.is_empty() {
            self.cut();
            self.segments.append(&mut other.segments);
        }
        self.tail.extend_from_slice(&other.tail);
        other.tail.clear();
        self.length += std::mem::take(&mut other.length);
    }

    /// Writes until nothing is left or the socket takes no more; whether it took any byte.
    pub fn poll_write(&mut self, stream: &mut Stream, cx: &mut Context<'_>, took: &mut bool) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let written = if self.segments.is_empty() {
                ready!(stream.poll_write(cx, &self.tail))?
            } else {
                let mut slices = [IoSlice::new(&[]); MAX_SLICES];
                let parts = self.segments.iter().map(|part| &part[..]).chain([&self.tail[..]]);
                let mut count = 0;
                for (slice, part) in slices.iter_mut().zip(parts) {
                    *slice = IoSlice::new(part);
                    count += 1;
                }
                ready!(stream.poll_write_vectored(cx, &slices[..count]))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *took = true;
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.length -= written;
        while let Some(first) = self.segments.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.segments.pop_front();
        }
        self.tail.advance(written);
    }

    /// Gives back memory that a quiet connection does not need.
    pub fn release(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

/// Up to this many bytes a copy is cheaper than one more piece in a vectored write.
const COPIED: usize = 1024;
/// Pieces of one vectored write, well below IOV_MAX (1024).
const MAX_SLICES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestCode, ResponseCode};

    fn contents(output: &Output) -> Vec<u8> {
        output.segments.iter().flatten().copied().chain(output.tail.iter().copied()).collect()
    }

    fn commands() -> Vec<Command> {
        let parts = vec![vec![1; 2000].into(), Bytes::new(), vec![2; 3].into(), vec![3; 1025].into()];
        vec![
            Command { opaque: 5, ..Command::request(RequestCode::HEART_BEAT) },
            Command::response(ResponseCode::SUCCESS).with_body(vec![7; COPIED]),
            Command::response(ResponseCode::SUCCESS).with_body(vec![8; COPIED + 1]),
            Command::response(ResponseCode::SUCCESS).with_body(parts),
            Command::response(ResponseCode::SUCCESS).with_body("end".to_owned()),
        ]
    }

    #[test]
    fn keeps_every_byte_in_order_however_it_is_advanced() {
        let expected: Vec<u8> = commands().iter().flat_map(|c| c.encode(Serialization::Json)).collect();
        for step in [1, 7, 500, expected.len()] {
            let mut output = Output::default();
            for command in commands() {
                output.push(command, Serialization::Json);
            }
            let mut seen = 0;
            while !output.is_empty() {
                assert!(contents(&output) == expected[seen..], "steps of {step}, after {seen}");
                assert_eq!(output.len(), expected.len() - seen);
                let n = step.min(output.len());
                output.advance(n);
                seen += n;
            }
            assert!(contents(&output).is_empty());
        }
    }

    #[test]
    fn appends_behind_what_is_there() {
        let expected: Vec<u8> = commands().iter().flat_map(|c| c.encode(Serialization::Json)).collect();
        for split in 0..=commands().len() {
            let (mut first, mut second) = (Output::default(), Output::default());
            for (i, command) in commands().into_iter().enumerate() {
                if i < split { &mut first } else { &mut second }.push(command, Serialization::Json);
            }
            first.append(&mut second);
            assert!(contents(&first) == expected, "split at {split}");
            assert_eq!(first.len(), expected.len());
            assert!(second.is_empty() && contents(&second).is_empty());
        }
    }
}
