//! What admin tools and brokers ask about brokers, and the write permission of all their topics:
//! codes 106, 901, 205, 327.

use apogee_remoting::Command;
use apogee_remoting::protocol::register::GetBrokerMemberGroupResponseBody;
use apogee_remoting::protocol::route::{AddWritePermOfBrokerResponseHeader, WipeWritePermOfBrokerResponseHeader};

use crate::name_server::NameServer;
use crate::respond;
use crate::route::Tables;

/// GET_BROKER_CLUSTER_INFO: all brokers and clusters.
pub fn cluster_info(server: &NameServer) -> Command {
    respond::body(&server.routes.read(Tables::cluster_info))
}

/// GET_BROKER_MEMBER_GROUP: the brokers of one name. The remark is what the reference leaves over.
pub fn member_group(server: &NameServer, request: &Command) -> Command {
    let field = |name| request.field(name).unwrap_or_default();
    let group = server.routes.read(|tables| tables.member_group(field("clusterName"), field("brokerName")));
    respond::body(&GetBrokerMemberGroupResponseBody { broker_member_group: Some(group) })
        .with_remark("not set any response code")
}

/// WIPE_WRITE_PERM_OF_BROKER: closes all topics of a broker for writing, until the broker changes one of them.
pub fn wipe_write_permission(server: &NameServer, request: &Command) -> Command {
    let broker = request.field("brokerName").unwrap_or_default();
    let count = server.routes.wipe_write_permission(broker);
    tracing::info!(broker, count, "write permission wiped");
    respond::success().with_header(&WipeWritePermOfBrokerResponseHeader { wipe_topic_count: count as i32 })
}

/// ADD_WRITE_PERM_OF_BROKER: opens all topics of a broker for reading and writing.
pub fn add_write_permission(server: &NameServer, request: &Command) -> Command {
    let broker = request.field("brokerName").unwrap_or_default();
    let count = server.routes.add_write_permission(broker);
    tracing::info!(broker, count, "write permission added");
    respond::success().with_header(&AddWritePermOfBrokerResponseHeader { add_topic_count: count as i32 })
}
