//! Messages that come together: those of the frames that one read has brought are appended at once, and answered then.
//!
//! What the log does for each append, and what everybody does who works on its end, is done once for all of them. Other requests
//! that come with them find in the log what came before, but for ends of transactions, whose halves came earlier.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use apogee_config::{BrokerRole, BrokerSettings, FlushDiskType};
use apogee_remoting::Command;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::record::Draft;
use apogee_remoting::server::{Settling, Ticket};
use apogee_store::queue::Queue;
use apogee_store::{AppendError, Appended, Gathered, Marks};
use smallvec::SmallVec;

use super::answer::{Place, StoredAnswer};
use super::{refusal, with_trace};
use crate::topic::Topic;
use crate::{Broker, names};

/// What one thread has gathered for the connection that it serves.
#[derive(Default)]
struct Together {
    records: Gathered,
    /// In the order of their requests, first those that are appended.
    messages: Vec<Message>,
    appended: Vec<Result<Appended, AppendError>>,
}

/// A message on its way into the log.
pub(super) struct Message {
    pub(super) ticket: Ticket,
    /// That its producer has sent it to.
    pub(super) topic: Arc<Topic>,
    pub(super) queue_id: i32,
    /// Whether it is the first half of a transaction.
    pub(super) is_half: bool,
    pub(super) unique_key: SmallVec<[u8; 40]>,
}

thread_local! {
    static TOGETHER: RefCell<Together> = RefCell::default();
}

/// Whether messages are answered as soon as they are in the log, so that several can be appended at once.
pub(super) fn is_possible(broker: &Broker, settings: &BrokerSettings) -> bool {
    let store = &settings.store;
    store.flush_disk_type == FlushDiskType::AsyncFlush
        && store.broker_role == BrokerRole::AsyncMaster
        && broker.store.gathers()
}

/// Leaves a message to [`settle`].
///
/// # Errors
/// It cannot be stored.
pub(super) fn gather(
    broker: &Broker,
    draft: &Draft<'_>,
    marks: &Marks<'_>,
    queue: Arc<Queue>,
    message: Message,
) -> Result<(), AppendError> {
    let is_much = TOGETHER.with_borrow_mut(|together| {
        broker.store.gather(&mut together.records, draft, marks, queue)?;
        together.messages.push(message);
        Ok::<_, AppendError>(together.records.len() > MOST)
    })?;
    if is_much {
        append(broker);
    }
    Ok(())
}

/// Appends what came before another request.
pub(crate) fn append(broker: &Broker) {
    if TOGETHER.with_borrow(|together| !together.records.is_empty()) {
        with_all(|together| together.append(broker));
    }
}

/// Appends what is left, and answers all.
pub(crate) fn settle(broker: &Broker, settling: &mut Settling<'_>) {
    with_all(|together| {
        together.append(broker);
        let settings = broker.settings();
        let took = settling.received().elapsed();
        for (message, appended) in together.messages.drain(..).zip(together.appended.drain(..)) {
            let answering = settling.answering(message.ticket);
            match appended {
                Ok(appended) => {
                    broker.stats.put_took(took);
                    let place = Place {
                        id: OffsetMessageId { store_host: broker.store_host, offset: appended.physical_offset },
                        queue_id: message.queue_id,
                        queue_offset: appended.queue_offset,
                        unique_key: Some(Cow::Borrowed(&message.unique_key)),
                    };
                    StoredAnswer::Place(place).give(&settings, answering);
                }
                Err(error) => {
                    let refusal = Command::from(refusal::refusal(broker, &settings, &error));
                    answering.give(with_trace(&settings, refusal));
                }
            }
        }
    });
}

/// Works on what is gathered. After a panic nothing is: what is known of it may not fit together any more.
fn with_all(work: impl FnOnce(&mut Together)) {
    let mut together = TOGETHER.take();
    work(&mut together);
    TOGETHER.set(together);
}

impl Together {
    fn append(&mut self, broker: &Broker) {
        let Self { records, messages, appended } = self;
        let before = appended.len();
        broker.store.append_gathered(records, |stored| appended.push(stored));
        let stored = messages[before..].iter().zip(&appended[before..]);
        let mut stored = stored.filter_map(|(message, stored)| Some((message, stored.as_ref().ok()?))).peekable();
        while let Some((first, place)) = stored.next() {
            let (mut count, mut bytes) = (1, place.size);
            while let Some((_, next)) = stored.next_if(|(message, _)| message.counts_with(first)) {
                (count, bytes) = (count + 1, bytes + next.size);
            }
            first.count(broker, count, bytes, place.store_timestamp);
        }
    }
}

impl Message {
    fn counts_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.topic, &other.topic) && self.is_half == other.is_half
    }

    /// Counts as many messages of this one's kind.
    fn count(&self, broker: &Broker, count: usize, bytes: usize, now: i64) {
        if self.is_half {
            broker.stats.stored_each(names::HALF_TOPIC, count, bytes);
            broker.transactions.metrics.add(&self.topic.topic_name, count as i64, now);
        } else {
            self.topic.count_stored_each(&broker.stats, count, bytes);
        }
    }
}

/// With more bytes than this, what is gathered is appended.
const MOST: usize = 256 << 10;
