//! The commit log, read only.

mod files;
mod source;
mod walk;

pub(crate) use files::LogFiles;
pub(crate) use source::LogSource;
pub(crate) use walk::{Entry, Walk};
