//! Which request is handled where.

use std::sync::Arc;

use apogee_remoting::server::{Peer, Reply, Service};
use apogee_remoting::{Command, RequestCode, ResponseCode};

use crate::name_server::NameServer;
use crate::{broker, cluster_test, kv, settings, topic};

impl Service for NameServer {
    fn call(&self, peer: &Arc<Peer>, request: Command) -> Reply {
        if let Some(upstream) = &self.cluster_test {
            return cluster_test::answer(upstream, request);
        }
        match request.request_code() {
            RequestCode::GET_ROUTEINFO_BY_TOPIC => topic::route(self, &request).into(),
            RequestCode::REGISTER_BROKER => broker::register(self, peer, &request).into(),
            RequestCode::QUERY_DATA_VERSION => broker::query_data_version(self, &request).into(),
            RequestCode::BROKER_HEARTBEAT => broker::heartbeat(self, &request).into(),
            RequestCode::UNREGISTER_BROKER => broker::unregister(self, &request).into(),
            RequestCode::GET_BROKER_MEMBER_GROUP => broker::member_group(self, &request).into(),
            RequestCode::GET_BROKER_CLUSTER_INFO => broker::cluster_info(self).into(),
            RequestCode::WIPE_WRITE_PERM_OF_BROKER => broker::wipe_write_permission(self, &request).into(),
            RequestCode::ADD_WRITE_PERM_OF_BROKER => broker::add_write_permission(self, &request).into(),
            RequestCode::GET_ALL_TOPIC_LIST_FROM_NAMESERVER => topic::list_all(self).into(),
            RequestCode::GET_TOPICS_BY_CLUSTER => topic::list_of_cluster(self, &request).into(),
            RequestCode::GET_SYSTEM_TOPIC_LIST_FROM_NS => topic::list_system(self).into(),
            RequestCode::GET_UNIT_TOPIC_LIST => topic::list_unit(self).into(),
            RequestCode::GET_HAS_UNIT_SUB_TOPIC_LIST => topic::list_unit_sub(self).into(),
            RequestCode::GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST => topic::list_unit_sub_only(self).into(),
            RequestCode::REGISTER_TOPIC_IN_NAMESRV => topic::register(self, &request).into(),
            RequestCode::DELETE_TOPIC_IN_NAMESRV => topic::delete(self, &request).into(),
            RequestCode::PUT_KV_CONFIG => kv::put(self, &request),
            RequestCode::GET_KV_CONFIG => kv::get(self, &request).into(),
            RequestCode::DELETE_KV_CONFIG => kv::delete(self, &request),
            RequestCode::GET_KVLIST_BY_NAMESPACE => kv::list(self, &request).into(),
            RequestCode::UPDATE_NAMESRV_CONFIG => settings::update(self, &request),
            RequestCode::GET_NAMESRV_CONFIG => settings::get(self).into(),
            RequestCode(code) => unsupported(code).into(),
        }
    }

    /// Under overload routes may wait; what keeps the brokers in the tables, or an operator needs, may not.
    fn may_refuse(&self, request: &Command) -> bool {
        request.request_code() == RequestCode::GET_ROUTEINFO_BY_TOPIC
    }

    fn closed(&self, peer: &Arc<Peer>) {
        self.connection_closed(peer.id());
    }
}

/// The answer to a code that no handler takes, in the reference's words.
fn unsupported(code: i32) -> Command {
    Command::error(ResponseCode::REQUEST_CODE_NOT_SUPPORTED, format!(" request type {code} not supported"))
}
