//! Requests about delayed messages: code 45.

use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;

/// How far each level is delivered (45).
pub(crate) fn get_offsets(broker: &Broker) -> Command {
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&broker.schedule.offsets.snapshot()))
}
