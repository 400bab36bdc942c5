//! Topics that an operator announces or takes away: codes 217, 216.

use apogee_remoting::Command;
use apogee_remoting::json;
use apogee_remoting::protocol::route::TopicRouteData;
use apogee_remoting::protocol::topic::RegisterTopicRequestHeader;

use crate::name_server::NameServer;
use crate::respond;
use crate::route::Queues;

/// REGISTER_TOPIC_IN_NAMESRV: announces a topic on brokers that are registered. With an unknown broker among them
/// nothing happens, and the answer is SUCCESS all the same, as with the reference.
pub fn register(server: &NameServer, request: &Command) -> Command {
    respond::or_refuse(|| {
        let header = request.header::<RegisterTopicRequestHeader>()?;
        let body = request.body.bytes();
        if !body.is_empty() {
            let route: TopicRouteData = json::from_slice(&body)?;
            let queues: Vec<_> = route
                .queue_datas
                .into_iter()
                .map(|data| {
                    let queues = Queues {
                        read: data.read_queue_nums,
                        write: data.write_queue_nums,
                        perm: data.perm,
                        sys_flag: data.topic_sys_flag,
                    };
                    (data.broker_name, queues)
                })
                .collect();
            if !server.routes.register_topic(header.topic, &queues) {
                tracing::warn!(topic = header.topic, "topic not announced: no brokers named, or unknown ones");
            }
        }
        Ok(respond::success())
    })
}

/// DELETE_TOPIC_IN_NAMESRV: forgets a topic, in one cluster or everywhere, until a broker registers it again.
pub fn delete(server: &NameServer, request: &Command) -> Command {
    if let Some(topic) = request.field("topic") {
        let cluster = request.field("clusterName").filter(|cluster| !cluster.is_empty());
        server.routes.delete_topic(topic, cluster);
    }
    respond::success()
}
