//! Looking up messages and units of queues: codes 12, 33 and 321. All may wait for the disk.

mod by_key;
mod units;

use apogee_remoting::protocol::query::ViewMessageRequestHeader;
use apogee_remoting::{Command, ResponseCode};

use crate::Broker;
use crate::answer::{Answer, Refusal};

pub(crate) use by_key::by_key;
pub(crate) use units::units;

/// The message at a place of the log (33).
pub(crate) fn view(broker: &Broker, request: &Command) -> Answer {
    let header: ViewMessageRequestHeader<'_> = request.header()?;
    let offset = header.offset;
    let not_found =
        || Refusal::new(ResponseCode::SYSTEM_ERROR, format!("can not find message by the offset, {offset}"));
    let record = broker.store.record_at(offset)?.ok_or_else(not_found)?;
    Ok(Command::response(ResponseCode::SUCCESS).with_body(record))
}
