//! Who is told that a message can be read.

use apogee_remoting::message::properties::Properties;

/// A message that can be read now.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Topic of the queue.
    pub topic: &'a str,
    /// The queue.
    pub queue_id: i32,
    /// Its new maximum offset.
    pub max_offset: i64,
    /// As in the queue's unit.
    pub tags_code: i64,
    /// Store time of the message, ms.
    pub store_timestamp: i64,
    /// Its properties.
    pub properties: Properties<'a>,
}

/// Who waits for messages. Called from the dispatcher's thread for each message: it must not block.
pub trait ArrivalListener: Send + Sync {
    /// Whether somebody waits for a message now, so that each is dispatched at once. When nobody does, messages may
    /// be gathered for a millisecond.
    fn is_waited_for(&self) -> bool {
        true
    }

    /// A message arrived.
    fn arrived(&self, arrival: &Arrival<'_>);
}
