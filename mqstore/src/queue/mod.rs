//! Consume queues, read only.

mod extension;
mod files;
mod reader;

pub(crate) use extension::Extension;
pub(crate) use files::{QueueFiles, Sizes};
pub(crate) use reader::QueueReader;
