//! The message model: what a stored record, a batch and a message's properties look like, and the
//! ids that name a message. Shared by the wire (send, pull, view) and by the disk.

pub mod batch;
pub mod id;
pub mod java_hash;
pub mod properties;
pub mod record;
pub mod sys_flag;
