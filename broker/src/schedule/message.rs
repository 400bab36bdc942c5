//! Storing messages where they were meant for, many at a time.

use std::io;
use std::sync::LazyLock;

use apogee_remoting::message::properties::{Name, PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_store::queue::Unit;
use apogee_store::{AppendError, Store};
use bytes::Bytes;
use thiserror::Error;

use crate::names;
use crate::replication::NotTaken;

/// What deliveries need and who hears of them.
pub(super) struct Delivery<'a, F> {
    pub(super) store: &'a Store,
    /// New version of the offsets after so many changes.
    pub(super) version_step: u64,
    /// Told the topic, the number and the bytes of messages delivered into this store.
    pub(super) delivered: F,
    /// Takes the messages of a broker whose store is not its own.
    pub(super) elsewhere: Option<&'a Elsewhere<'a>>,
}

/// Has another broker store a message.
pub(super) type Elsewhere<'a> = dyn Fn(&Draft<'_>) -> Result<(), NotTaken> + 'a;

/// A message that cannot be delivered now.
#[derive(Debug, Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
}

impl<F: FnMut(&str, usize, usize)> Delivery<'_, F> {
    /// Delivers messages in their order, until it is stopped. Tells how many are done with, those among them that nobody
    /// can deliver, and why not the next one.
    pub(super) fn deliver(&mut self, units: &[(i64, Unit)], is_stopped: impl Fn() -> bool) -> (usize, Option<Refused>) {
        let mut refused = None;
        let mut records = Vec::with_capacity(units.len());
        let mut reader = self.store.records();
        for (_, unit) in units {
            match reader.record_of(*unit) {
                Ok(record) => records.push(record),
                Err(error) => {
                    refused = Some(error.into());
                    break;
                }
            }
        }
        let drafts = records.iter().zip(units).enumerate();
        let drafts: Vec<_> =
            drafts.filter_map(|(at, (record, (_, unit)))| Some((at, again(record.as_ref(), *unit)?))).collect();
        let taken = match self.elsewhere {
            Some(elsewhere) => send_all(&drafts, elsewhere, is_stopped),
            None => self.store_all(units, &drafts, is_stopped),
        };
        match taken {
            Taken::All => (records.len(), refused),
            Taken::UpTo(at, refused) => (at, refused),
        }
    }

    fn store_all(
        &mut self,
        units: &[(i64, Unit)],
        drafts: &[(usize, Draft<'_>)],
        is_stopped: impl Fn() -> bool,
    ) -> Taken {
        let mut rest = drafts;
        while let Some((first, _)) = rest.first() {
            if is_stopped() {
                return Taken::UpTo(*first, None);
            }
            let (stored, refused) = self.store.append_each(rest.iter().map(|(_, draft)| *draft));
            let (done, behind) = rest.split_at(stored.len());
            let sizes = done.iter().zip(&stored).map(|((_, draft), stored)| (draft.topic, stored.size));
            self.count(sizes);
            rest = behind;
            let (Some(error), Some((at, _))) = (refused, behind.first()) else { continue };
            match error {
                // They do not change with time.
                AppendError::Draft(_) | AppendError::Properties | AppendError::Queue { .. } => {
                    lost::<()>(units[*at].1, &error.to_string());
                    rest = &behind[1..];
                }
                error => return Taken::UpTo(*at, Some(error.into())),
            }
        }
        Taken::All
    }

    /// Tells of messages that were delivered, of those of a topic together.
    fn count<'a>(&mut self, delivered: impl Iterator<Item = (&'a str, usize)>) {
        let mut run = ("", 0, 0);
        for (topic, size) in delivered {
            if topic != run.0 && run.1 > 0 {
                (self.delivered)(run.0, run.1, run.2);
                run = (topic, 0, 0);
            }
            run = (topic, run.1 + 1, run.2 + size);
        }
        if run.1 > 0 {
            (self.delivered)(run.0, run.1, run.2);
        }
    }
}

/// How many of some messages are done with.
enum Taken {
    All,
    /// Those before one of them; why not that one, unless it was the stop.
    UpTo(usize, Option<Refused>),
}

fn send_all(drafts: &[(usize, Draft<'_>)], elsewhere: &Elsewhere<'_>, is_stopped: impl Fn() -> bool) -> Taken {
    for (at, draft) in drafts {
        if is_stopped() {
            return Taken::UpTo(*at, None);
        }
        let mut properties = PropertiesBuf::from_text(draft.properties);
        // There it would wait again.
        properties.retain(|name| !AGAIN.iter().any(|again| name == again.as_bytes()));
        if let Err(error) = elsewhere(&Draft { properties: properties.as_bytes(), ..*draft }) {
            return Taken::UpTo(*at, Some(error.into()));
        }
    }
    Taken::All
}

/// The message of a record for the queue that it is meant for. `None` for one that nobody can deliver.
fn again(record: Option<&Bytes>, unit: Unit) -> Option<Draft<'_>> {
    let Some(bytes) = record else {
        tracing::warn!(offset = unit.physical_offset, "a delayed message is no longer in the log");
        return None;
    };
    let record = match Record::parse(bytes) {
        Ok(record) => record,
        Err(error) => return lost(unit, &error.to_string()),
    };
    let [topic, queue_id] = TARGET.each_ref().map(|name| str::from_utf8(record.properties.find(name)?).ok());
    let (Some(topic), Some(queue_id)) = (topic, queue_id.and_then(|id| id.trim().parse().ok())) else {
        return lost(unit, "it does not say what queue it is for");
    };
    if topic == names::HALF_TOPIC || topic == names::SCHEDULE_TOPIC {
        return lost(unit, "no message is delayed for this topic");
    }
    // Its properties stay as they were sent, the delay included.
    Some(Draft { topic, queue_id, ..record.draft() })
}

fn lost<T>(unit: Unit, why: &str) -> Option<T> {
    tracing::error!(offset = unit.physical_offset, why, "a delayed message cannot be delivered and is passed over");
    None
}

static TARGET: LazyLock<[Name; 2]> = LazyLock::new(|| [&b"REAL_TOPIC\x01"[..], b"REAL_QID\x01"].map(Name::new));
/// What makes a message wait.
const AGAIN: [&str; 3] = [key::DELAY, key::TIMER_DELIVER_MS, key::TIMER_DELAY_SEC];
