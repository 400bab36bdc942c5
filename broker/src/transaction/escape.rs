//! Halves in the store of a slave that acts for its master: it can neither copy nor end them, so brokers of other names get
//! them and look after them from then on, as if the producer had sent them there.

use std::io;

use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::message::sys_flag;
use tokio::runtime::Handle;

use super::{GROUP, HALF_TOPIC, QUEUE, load};
use crate::{Broker, replication};

/// Hands over all halves that did not end, in their order; how far that came is noted for the master to go on from there. A
/// half that nobody takes is tried again by the next call, as are those behind it.
///
/// # Errors
/// A file of the store cannot be read.
pub(super) fn hand_over(broker: &Broker) -> io::Result<()> {
    // As the log is now: it grew by the master's hand.
    let halves = load::load(&broker.store, &broker.offsets)?;
    let mut next = halves.checked();
    let handed = hand_over_from(broker, &mut next, |half| halves.is_ended(half));
    if next != halves.checked() {
        broker.commit_offset(GROUP, HALF_TOPIC, QUEUE, next);
    }
    handed
}

fn hand_over_from(broker: &Broker, next: &mut i64, is_ended: impl Fn(i64) -> bool) -> io::Result<()> {
    loop {
        let units = broker.store.units(HALF_TOPIC, QUEUE, *next, AT_ONCE)?;
        if units.is_empty() {
            return Ok(());
        }
        for (offset, unit) in units {
            if !broker.replication.acts() || broker.transactions.is_stopped() {
                return Ok(());
            }
            if !is_ended(offset)
                && let Some(bytes) = broker.store.record_of(unit)?
                && let Err(error) = send(broker, &bytes)
            {
                tracing::warn!(offset, %error, "a half message stays with this slave, which acts for its master");
                return Ok(());
            }
            *next = offset + 1;
        }
    }
}

/// Sends a half as its producer did.
fn send(broker: &Broker, bytes: &[u8]) -> Result<(), replication::NotTaken> {
    let Ok(half) = Record::parse(bytes) else { return Ok(()) };
    let Some(topic) = half.properties.get_str(key::REAL_TOPIC) else { return Ok(()) };
    let mut properties = PropertiesBuf::from_text(half.draft().properties);
    properties.retain(|name| name != key::TRAN_PREPARED_QUEUE_OFFSET.as_bytes() && name != key::REAL_QID.as_bytes());
    properties.set(key::TRAN_MSG, "true");
    let draft = Draft {
        topic,
        sys_flag: half.sys_flag | sys_flag::TRANSACTION_PREPARED,
        properties: properties.as_bytes(),
        ..half.draft()
    };
    Handle::current().block_on(replication::send_elsewhere(broker, &draft))
}

const AT_ONCE: usize = 64;
