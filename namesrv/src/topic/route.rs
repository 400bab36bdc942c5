//! GET_ROUTEINFO_BY_TOPIC (105): where a topic lives. By far the most frequent request.

use apogee_remoting::command::VERSION_4_9_4;
use apogee_remoting::{Command, ResponseCode, header};

use crate::kv::ORDER_TOPIC_CONFIG;
use crate::name_server::NameServer;
use crate::respond;

header! {
    /// What is read of the request: GetRouteInfoRequestHeader and the two fields of zone-aware clients. The
    /// reference takes an absent topic for one without a route.
    pub struct RouteQuery<'a> {
        /// The topic.
        pub topic: Option<&'a str> = "topic",
        /// Whether integer keys in the answer shall be quoted.
        pub standard: Option<bool> = "acceptStandardJsonOnly",
        /// Whether only brokers of the zone shall be answered.
        pub in_zone: Option<bool> = "__ZONE_MODE",
        /// The zone.
        pub zone: Option<&'a str> = "__ZONE_NAME",
    }
}

/// Answers with the ready-made route of the topic.
pub fn route(server: &NameServer, request: &Command) -> Command {
    if !server.is_ready() {
        return respond::system_error("name server not ready");
    }
    let query = match request.header::<RouteQuery>() {
        Ok(query) => query,
        Err(error) => return respond::system_error(error.to_string()),
    };
    let order = |topic: &str| {
        let wanted = server.settings.current().order_message_enable;
        if wanted { server.kv.get(ORDER_TOPIC_CONFIG, topic) } else { None }
    };
    let says_standard = query.standard == Some(true);
    let zone = query.zone.filter(|zone| query.in_zone == Some(true) && !zone.trim().is_empty());
    let body = query.topic.and_then(|topic| match zone {
        // The reference quotes no keys here, whatever was asked for. Clients that know zones read both; one that
        // says it does not gets what it can read.
        Some(zone) => server.routes.route_in_zone(topic, zone, says_standard, order(topic)),
        None => server.routes.route(topic, says_standard || request.version >= VERSION_4_9_4, || order(topic)),
    });
    body.map_or_else(|| no_route(query.topic), |body| respond::success().with_body(body))
}

/// TOPIC_NOT_EXIST in the reference's words, which clients show to their users.
pub fn no_route(topic: Option<&str>) -> Command {
    let topic = respond::printed(topic);
    Command::error(
        ResponseCode::TOPIC_NOT_EXIST,
        format!(
            "No topic route info in name server for the topic: {topic}\n\
             See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
        ),
    )
}
