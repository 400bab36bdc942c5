//! Bytes of the log as they are stored, on their way to a slave.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use bytes::Bytes;

use super::CommitLog;
use super::segment::Segment;

/// Neighbouring bytes of one file of the log.
#[derive(Debug)]
pub enum Stretch {
    /// Just written: they are in memory, and keep their file mapped.
    Mapped(Bytes),
    /// Older ones: they may have to be read from disk.
    File(FileStretch),
}

/// Bytes of a file, which go from the page cache to a socket without passing through this process. They stay readable
/// when the file is deleted.
#[derive(Debug)]
pub struct FileStretch {
    segment: Arc<Segment>,
    at: u64,
    length: usize,
}

impl Stretch {
    /// How many bytes there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Mapped(bytes) => bytes.len(),
            Self::File(file) => file.length,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FileStretch {
    /// Bytes that are not sent.
    pub fn left(&self) -> usize {
        self.length
    }

    /// Sends as much as the socket takes, waiting for the disk where it must. Says how much it was.
    ///
    /// # Errors
    /// The socket's, [`io::ErrorKind::WouldBlock`] among them, or the disk's; the rest is still to be sent.
    pub fn send_to(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let sent = rustix::fs::sendfile(socket, self.segment.file(), Some(&mut self.at), self.length)?;
        if sent == 0 && self.length > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file of the log is shorter than it was"));
        }
        self.length -= sent;
        Ok(sent)
    }
}

impl CommitLog {
    /// At most so many bytes from a physical offset on, all of one file; `None` at the end of the log.
    ///
    /// # Errors
    /// The file is no longer there ([`io::ErrorKind::NotFound`]), or cannot be mapped.
    pub(crate) fn stretch(&self, offset: i64, at_most: usize) -> io::Result<Option<Stretch>> {
        let written = self.written();
        if offset >= written {
            return Ok(None);
        }
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("the log begins behind {offset}"));
        let segment = self.segments.find_to_read(offset)?.ok_or_else(gone)?;
        let at = (offset - segment.start()) as usize;
        let length = ((written.min(segment.end()) - offset) as usize).min(at_most);
        if written - offset <= RECENT && segment.is_mapped() {
            return Ok(segment.slice(at, length)?.map(Stretch::Mapped));
        }
        Ok(Some(Stretch::File(FileStretch { segment, at: at as u64, length })))
    }
}

/// Bytes so near to the end of the log are taken to be in memory.
const RECENT: i64 = 16 << 20;
