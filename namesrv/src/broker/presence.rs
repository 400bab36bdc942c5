//! Signs of life, and good-byes: codes 904, 322, 104.

use apogee_remoting::Command;
use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::register::{
    BrokerHeartbeatRequestHeader, QueryDataVersionRequestHeader, QueryDataVersionResponseHeader,
};

use crate::name_server::NameServer;
use crate::respond;

/// BROKER_HEARTBEAT: the broker is there. An unknown one gets SUCCESS too (trap 25).
pub fn heartbeat(server: &NameServer, request: &Command) -> Command {
    respond::or_refuse(|| {
        let header = request.header::<BrokerHeartbeatRequestHeader>()?;
        let now = server.now();
        server.routes.read(|tables| tables.heartbeat(header.cluster_name, header.broker_name, header.broker_addr, now));
        Ok(respond::success())
    })
}

/// QUERY_DATA_VERSION: whether the broker has to register again, because its topics have another version than
/// the one registered last. Counts as a sign of life.
pub fn query_data_version(server: &NameServer, request: &Command) -> Command {
    respond::or_refuse(|| {
        let header = request.header::<QueryDataVersionRequestHeader>()?;
        let asked: Option<DataVersion> = match &*request.body.bytes() {
            [] => None,
            body => Some(json::from_slice(body)?),
        };
        let now = server.now();
        let known = server.routes.read(|tables| {
            tables.heartbeat(header.cluster_name, header.broker_name, header.broker_addr, now);
            tables.version(header.cluster_name, header.broker_name, header.broker_addr)
        });
        let changed = known.is_none() || known != asked;
        let response = match known {
            Some(version) => respond::body(&version),
            None => respond::success(),
        };
        Ok(response.with_header(&QueryDataVersionResponseHeader { changed }))
    })
}

/// UNREGISTER_BROKER: the broker goes. An unknown one, or none at all, gets SUCCESS too (trap 25).
pub fn unregister(server: &NameServer, request: &Command) -> Command {
    if let (Some(broker), Some(address)) = (request.field("brokerName"), request.field("brokerAddr")) {
        let notice = server.routes.unregister(broker, address);
        server.notify(notice);
    }
    respond::success()
}
