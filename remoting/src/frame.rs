//! Frames: a 4-byte length, then that many bytes (constants, section 11).
//!
//! This file knows no I/O: [`take`] looks whether a whole frame is there and cuts it off.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// Largest frame that the reference accepts by default, length word included
/// (`com.rocketmq.remoting.frameMaxLength`).
pub const DEFAULT_MAX_FRAME: usize = 16_777_216;

/// Smallest content: the header-length word.
const MIN_CONTENT: usize = 4;

/// A length word that cannot begin a frame. The stream cannot be read on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// The length is negative or below the header-length word.
    #[error("frame length {0} is too short for a header")]
    TooShort(i32),
    /// The length is beyond the limit.
    #[error("frame of {length} bytes exceeds the maximum of {max} bytes")]
    TooLong {
        /// Bytes of the frame with its length word.
        length: usize,
        /// The limit in bytes.
        max: usize,
    },
}

/// Cuts the next whole frame off `buffer` and returns its content without the length word,
/// sharing the buffer's memory; `None` when more bytes are needed. `max`: bytes of the largest frame, length word
/// included.
///
/// # Errors
/// The length word cannot begin a frame, whether the rest is there or not.
pub fn take(buffer: &mut BytesMut, max: usize) -> Result<Option<Bytes>, FrameError> {
    let Some(word) = buffer.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*word);
    let content = usize::try_from(length).map_err(|_| FrameError::TooShort(length))?;
    if content < MIN_CONTENT {
        return Err(FrameError::TooShort(length));
    }
    if content + 4 > max {
        return Err(FrameError::TooLong { length: content + 4, max });
    }
    if buffer.len() < content + 4 {
        return Ok(None);
    }
    buffer.advance(4);
    Ok(Some(buffer.split_to(content).freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_whole_frame_and_leaves_the_rest() {
        let mut buffer = BytesMut::from(&[0, 0, 0][..]);
        assert_eq!(take(&mut buffer, 100), Ok(None));
        buffer.extend_from_slice(&[5, 1, 2, 3, 4]);
        assert_eq!(take(&mut buffer, 100), Ok(None));
        buffer.extend_from_slice(&[5, 9]);
        assert_eq!(take(&mut buffer, 100), Ok(Some(Bytes::from_static(&[1, 2, 3, 4, 5]))));
        assert_eq!(&buffer[..], [9]);
    }

    #[test]
    fn refuses_lengths_that_cannot_be() {
        for (word, error) in [
            (-1i32, FrameError::TooShort(-1)),
            (3, FrameError::TooShort(3)),
            (97, FrameError::TooLong { length: 101, max: 100 }),
            (i32::MAX, FrameError::TooLong { length: i32::MAX as usize + 4, max: 100 }),
        ] {
            let mut buffer = BytesMut::from(&word.to_be_bytes()[..]);
            assert_eq!(take(&mut buffer, 100), Err(error));
        }
    }

    #[test]
    fn accepts_a_frame_of_exactly_the_maximum() {
        let mut buffer = BytesMut::from(&96i32.to_be_bytes()[..]);
        buffer.extend_from_slice(&[0; 96]);
        assert_eq!(take(&mut buffer, 100).map(|f| f.map(|f| f.len())), Ok(Some(96)));
    }
}
