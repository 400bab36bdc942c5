//! Checking a subscription (46), and filter servers (301).

use std::sync::Arc;

use apogee_remoting::protocol::filter::{RegisterFilterServerRequestHeader, RegisterFilterServerResponseHeader};
use apogee_remoting::protocol::heartbeat::CheckClientRequestBody;
use apogee_remoting::server::Peer;
use apogee_remoting::{Command, ResponseCode, json};

use super::{SQL92, is_tag_type};
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// A client asks whether its subscription can be served.
pub(crate) fn check(broker: &Broker, request: &Command) -> Answer {
    let body: CheckClientRequestBody = json::from_slice(&request.body.bytes())?;
    let (kind, expression) = (&body.subscription_data.expression_type, &body.subscription_data.sub_string);
    if !is_tag_type(kind) {
        is_served(broker, kind)?;
        if kind != SQL92 {
            let remark = format!("there is no filter of type {kind}");
            return Err(Refusal::new(ResponseCode::SUBSCRIPTION_PARSE_FAILED, remark));
        }
        let parsed = broker.filters.compile(expression);
        parsed.map_err(|error| Refusal::new(ResponseCode::SUBSCRIPTION_PARSE_FAILED, error.to_string()))?;
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// Whether filters other than those of tags are served (`enablePropertyFilter`).
pub(crate) fn is_served(broker: &Broker, kind: &str) -> Result<(), Refusal> {
    if broker.settings().broker.enable_property_filter {
        return Ok(());
    }
    let remark = format!("The broker does not support consumer to filter message by {kind}");
    Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark))
}

/// A filter server tells where it is.
pub(crate) fn register_server(broker: &Broker, peer: &Arc<Peer>, request: &Command) -> Answer {
    let header: RegisterFilterServerRequestHeader<'_> = request.header()?;
    if broker.filter_servers.register(peer, header.filter_server_addr, broker.now()) {
        broker.topic_changes.note_other();
    }
    let settings = broker.settings();
    let answer = RegisterFilterServerResponseHeader {
        broker_name: &settings.broker.broker_name,
        broker_id: settings.broker.broker_id,
    };
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&answer))
}
