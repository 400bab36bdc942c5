//! The disk: commit log, consume queues, checkpoint and recovery in the layout of the reference.

pub mod dispatch;
pub mod index;
pub mod queue;
pub mod read;
