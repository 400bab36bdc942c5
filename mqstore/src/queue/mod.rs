//! Consume queues, read only.

mod files;
mod reader;

pub(crate) use files::{QueueFiles, directories};
pub(crate) use reader::QueueReader;
