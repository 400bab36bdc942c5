//! Why a message is not stored.

use std::sync::Arc;

use apogee_remoting::message::record::DraftError;
use thiserror::Error;

/// Why an append was refused; nothing of it is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AppendError {
    /// The body, the record or the batch is larger than may be stored.
    #[error("{size} bytes, at most {limit} are allowed")]
    MessageTooLarge {
        /// Bytes of it.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// A part does not fit its field.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The properties are not UTF-8, or end with a zero: recovery would take such a record for a damaged one.
    #[error("the properties of the message are no text")]
    Properties,
    /// No queue can have this topic and number.
    #[error("no queue `{topic}` {queue_id} can be")]
    Queue {
        /// Topic.
        topic: String,
        /// Number.
        queue_id: i32,
    },
    /// The message names a light queue that is not there, and there are as many as may be (maxLmqConsumeQueueNum).
    #[error("there are {0} light queues, and no more are allowed")]
    TooManyLightQueues(usize),
    /// Writing is switched off: a slave, an administrator.
    #[error("the store does not take messages now: {0}")]
    NotWritable(&'static str),
    /// There is no space for messages, or too little is left.
    #[error("the disk is full: {0}")]
    DiskFull(Arc<str>),
    /// The disk failed in a way that leaves unknown what is on it: nothing is taken until a restart.
    #[error("the disk failed, the store takes no messages until it is restarted: {0}")]
    Broken(Arc<str>),
    /// The store is being closed.
    #[error("the store was shut down")]
    Shutdown,
}
