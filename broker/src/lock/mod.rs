//! Locks on queues: which client of a group may consume a queue in order.

mod requests;
mod strict;
mod table;

pub(crate) use requests::{lock, unlock};
pub(crate) use table::QueueLocks;
