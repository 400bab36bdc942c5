//! Why the work could not be done.

use std::io;
use std::path::{Path, PathBuf};

use apogee_config::LoadError;
use apogee_store::OpenError;
use apogee_store::dispatch::DispatchError;
use thiserror::Error;

/// One line that names the file and what to do.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file or directory cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A place in a file cannot be read.
    #[error("{} at byte {at}: {source}: copy what the disk can still read (ddrescue) and work on the copy", path.display())]
    Read { path: PathBuf, at: u64, source: io::Error },
    /// A broker works on the store.
    #[error("{}: the store is locked by another process: end the broker first (mqshutdown broker)", .0.display())]
    Locked(PathBuf),
    /// The store or the question is not as it has to be; what to do.
    #[error("{0}")]
    Refused(String),
    /// The broker's configuration file.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// The store cannot be opened for recovery.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Queues and index cannot be made.
    #[error("cannot make queues and index: {0}")]
    Dispatch(#[from] DispatchError),
    /// Nobody takes the output.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
}

impl Error {
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

/// Says which file an error is about.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    |source| Error::Io { path: path.to_owned(), source }
}
