//! REGISTER_BROKER (103): a broker announces itself and its topics.

use std::sync::Arc;

use apogee_remoting::Command;
use apogee_remoting::protocol::register::{RegisterBrokerRequestHeader, RegisterBrokerResponseHeader};
use apogee_remoting::server::Peer;

use super::body::Announced;
use crate::kv::ORDER_TOPIC_CONFIG;
use crate::name_server::NameServer;
use crate::respond;
use crate::route::{Outcome, Registration};

/// Enters the broker into the tables. A slave learns its master's addresses from the answer.
pub fn register(server: &NameServer, peer: &Arc<Peer>, request: &Command) -> Command {
    let header = match request.header::<RegisterBrokerRequestHeader>() {
        Ok(header) => header,
        Err(error) => return respond::system_error(error.to_string()),
    };
    let body = request.body.bytes();
    if header.body_crc32 != 0 && header.body_crc32 != masked_crc(&body) {
        return refused("crc32 not match");
    }
    let announced = match Announced::read(&body, header.compressed, request.version) {
        Ok(announced) => announced,
        Err(error) => return respond::system_error(format!("Failed to decode RegisterBrokerBody: {error}")),
    };

    let settings = server.settings.current();
    let registration = Registration {
        cluster: header.cluster_name,
        broker: header.broker_name,
        id: header.broker_id,
        address: header.broker_addr,
        ha_address: header.ha_server_addr,
        zone: request.field(ZONE_NAME),
        timeout: header.heartbeat_timeout_millis,
        acting_master: header.enable_acting_master,
        version: announced.version,
        topics: announced.topics,
        mappings: announced.mappings,
        filter_servers: announced.filter_servers,
        connection: peer.id(),
        replaces_topics: settings.delete_topic_with_broker_registration,
    };
    let outcome = server.register_broker(peer, &registration);
    let registered = match outcome {
        Outcome::Registered(registered) => registered,
        Outcome::Superseded => {
            tracing::warn!(
                broker = header.broker_name,
                id = header.broker_id,
                address = header.broker_addr,
                "another broker is registered with this name and id and a newer state: registration passed over"
            );
            crate::route::Registered::default()
        }
        Outcome::Partial => {
            tracing::warn!(
                broker = header.broker_name,
                id = header.broker_id,
                address = header.broker_addr,
                "first registration with a single topic refused"
            );
            return refused("register broker failed");
        }
    };
    server.notify(registered.notice);
    let response = respond::success().with_header(&RegisterBrokerResponseHeader {
        ha_server_addr: registered.ha_address.as_deref(),
        master_addr: registered.master_address.as_deref(),
    });
    match server.kv.namespace(ORDER_TOPIC_CONFIG).filter(|_| settings.return_order_topic_config_to_broker) {
        Some(table) => response.with_body(apogee_remoting::json::to_vec(&table)),
        None => response,
    }
}

/// A refusal with the (empty) response header that the reference attaches.
fn refused(reason: &'static str) -> Command {
    respond::system_error(reason).with_header(&RegisterBrokerResponseHeader { ha_server_addr: None, master_addr: None })
}

/// The reference drops the sign bit of checksums (trap 15).
fn masked_crc(body: &[u8]) -> i32 {
    (crc32fast::hash(body) & 0x7FFF_FFFF) as i32
}

/// Field that names a broker's zone, outside of the header class.
const ZONE_NAME: &str = "__ZONE_NAME";
