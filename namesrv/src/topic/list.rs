//! Lists of topics: codes 206, 224, 304, 311 to 313.

use apogee_remoting::Command;
use apogee_remoting::protocol::topic::TopicList;

use crate::name_server::NameServer;
use crate::respond;
use crate::route::{Queues, Tables};

/// GET_ALL_TOPIC_LIST_FROM_NAMESERVER; refused when `enableAllTopicList` is off.
pub fn list_all(server: &NameServer) -> Command {
    answer(server, server.settings.current().enable_all_topic_list, Tables::all_topics)
}

/// GET_TOPICS_BY_CLUSTER; refused when `enableTopicList` is off, as the lists of unit topics are.
pub fn list_of_cluster(server: &NameServer, request: &Command) -> Command {
    let cluster = request.field("cluster").unwrap_or_default();
    answer(server, enabled(server), |tables| tables.topics_of_cluster(cluster))
}

/// GET_SYSTEM_TOPIC_LIST_FROM_NS: names of clusters and brokers; never refused.
pub fn list_system(server: &NameServer) -> Command {
    answer(server, true, Tables::system_topics)
}

/// GET_UNIT_TOPIC_LIST.
pub fn list_unit(server: &NameServer) -> Command {
    answer(server, enabled(server), |tables| tables.topics_where(Queues::is_unit))
}

/// GET_HAS_UNIT_SUB_TOPIC_LIST.
pub fn list_unit_sub(server: &NameServer) -> Command {
    answer(server, enabled(server), |tables| tables.topics_where(Queues::is_unit_sub))
}

/// GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST.
pub fn list_unit_sub_only(server: &NameServer) -> Command {
    answer(server, enabled(server), |tables| tables.topics_where(|queues| !queues.is_unit() && queues.is_unit_sub()))
}

fn enabled(server: &NameServer) -> bool {
    server.settings.current().enable_topic_list
}

fn answer(server: &NameServer, enabled: bool, list: impl FnOnce(&Tables) -> TopicList) -> Command {
    if enabled { respond::body(&server.routes.read(list)) } else { respond::system_error("disable") }
}
