//! Standard output, or a file, through one buffer.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

use crate::error::Error;

/// Where lines go.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn stdout() -> Self {
        Self(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Error> {
        writeln!(self.0, "{text}").map_err(Error::Output)
    }

    /// To be called at the end: what is left is not written when this is forgotten or fails.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.0.flush().map_err(Error::Output)
    }
}
