//! An operator has a transaction that was given up checked again: code 323.

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::protocol::transaction::ResumeCheckHalfMessageRequestHeader;
use apogee_remoting::{Command, ResponseCode};

use super::{HALF_TOPIC, QUEUE};
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// Puts a message back to the halves, as one that was never checked (323).
pub(crate) fn resume_check(broker: &Broker, request: &Command) -> Answer {
    let header: ResumeCheckHalfMessageRequestHeader<'_> = request.header()?;
    let error = |remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let no_half = || error("Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC.");
    let id: OffsetMessageId = header.msg_id.unwrap_or_default().parse().map_err(|_| no_half())?;
    let bytes = broker.store.record_at(id.offset)?.ok_or_else(no_half)?;
    let record = Record::parse(&bytes).map_err(|_| no_half())?;
    let topic = record.properties.get_str(key::REAL_TOPIC).ok_or_else(no_half)?;
    if record.properties.get(key::PGROUP).is_none() {
        return Err(no_half());
    }
    let mut properties = PropertiesBuf::from_text(record.draft().properties);
    properties.set(key::TRANSACTION_CHECK_TIMES, "0");
    let half = Draft { topic: HALF_TOPIC, queue_id: QUEUE, properties: properties.as_bytes(), ..record.draft() };
    broker.store.append(&half).map_err(|refused| {
        tracing::error!(error = %refused, "a half message is not put back");
        error("Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed.")
    })?;
    broker.transactions.metrics.add(topic, 1, broker.now());
    Ok(Command::response(ResponseCode::SUCCESS))
}
