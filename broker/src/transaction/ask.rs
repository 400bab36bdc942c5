//! Asking producers what became of a transaction: code 39.

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::message::properties::{Properties, PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Placement};
use apogee_remoting::protocol::transaction::CheckTransactionStateRequestHeader;
use apogee_remoting::{Command, RequestCode};
use apogee_store::Appended;

use super::HALF_TOPIC;
use crate::Broker;

/// Asks any producer of the half's group (39). It answers with the end of the transaction, in its own time.
pub(super) fn ask(broker: &Broker, half: &Draft<'_>, stored: &Appended) {
    let properties = Properties::new(half.properties);
    let group = properties.get_str(key::PGROUP).unwrap_or_default();
    let question = question(broker, half, stored);
    let mut clients = broker.producers.clients(group);
    fastrand::shuffle(&mut clients);
    // A client that is gone, or that does not read, cannot be asked; another may.
    if !clients.iter().any(|client| client.peer.send(question.clone()).is_ok()) {
        tracing::warn!(group, offset = stored.queue_offset, "no producer can be asked what became of its transaction");
    }
}

/// The message goes along, for the topic that it is meant for.
fn question(broker: &Broker, half: &Draft<'_>, stored: &Appended) -> Command {
    let properties = Properties::new(half.properties);
    let id = properties.get_str(key::UNIQ_KEY);
    let place = OffsetMessageId { store_host: half.store_host, offset: stored.physical_offset }.to_string();
    let header = CheckTransactionStateRequestHeader {
        topic: Some(HALF_TOPIC),
        tran_state_table_offset: stored.queue_offset,
        commit_log_offset: stored.physical_offset,
        msg_id: id,
        transaction_id: id,
        offset_msg_id: Some(&place),
    };
    // The reference waits neither for the disk nor for slaves where it stores a half again, and tells the producer so.
    let mut told = PropertiesBuf::from_text(half.properties);
    told.set(key::WAIT, "false");
    let message = Draft {
        topic: properties.get_str(key::REAL_TOPIC).unwrap_or(half.topic),
        queue_id: properties.get_number(key::REAL_QID).unwrap_or(half.queue_id),
        properties: told.as_bytes(),
        ..*half
    };
    let mut body = Vec::new();
    if let Err(error) = message.encode(&mut body, false) {
        // Its topic was stored once already.
        tracing::error!(%error, "a half message cannot be sent to its producer");
    } else {
        let placement = Placement {
            queue_offset: stored.queue_offset,
            physical_offset: stored.physical_offset,
            store_timestamp: stored.store_timestamp,
        };
        placement.write(&mut body, false);
    }
    Command::request(RequestCode::CHECK_TRANSACTION_STATE)
        .with_header(&header)
        .with_field("bname", &broker.settings().broker.broker_name)
        .with_body(body)
        .one_way()
}
