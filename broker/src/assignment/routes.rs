//! The queues of topics on all brokers, as the name servers know them.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::route::TopicRouteData;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use dashmap::DashMap;

use crate::Broker;
use crate::names::RETRY_PREFIX;
use crate::topic::PERM_READ;

/// How long a name server may take for its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the name servers said last, by topic. Only topics that they know are here.
#[derive(Default)]
pub(crate) struct Routes {
    topics: DashMap<String, Known>,
}

struct Known {
    /// When a name server was asked last, ms.
    asked: i64,
    /// In the order that all brokers put them in: by broker and number.
    queues: Arc<[MessageQueue]>,
}

impl Routes {
    /// The readable queues of a topic, not much older than `loadBalancePollNameServerInterval`; `None` for a topic that no name
    /// server knows, or when none answers.
    pub(crate) async fn queues(&self, broker: &Broker, topic: &str) -> Option<Arc<[MessageQueue]>> {
        let interval = broker.settings().broker.load_balance_poll_name_server_interval;
        if let Some(queues) = self.recent(topic, broker.now(), interval) {
            return Some(queues);
        }
        match ask(broker, topic).await {
            Ok(queues) => {
                let known = Known { asked: broker.now(), queues: Arc::clone(&queues) };
                self.topics.insert(topic.to_owned(), known);
                Some(queues)
            }
            Err(Unanswered::NoSuchTopic) if !topic.starts_with(RETRY_PREFIX) => {
                self.topics.remove(topic);
                None
            }
            Err(_) => self.topics.get(topic).map(|known| Arc::clone(&known.queues)),
        }
    }

    /// What is known, unless it is time to ask again. Of several who come at that time one asks.
    fn recent(&self, topic: &str, now: i64, interval: i64) -> Option<Arc<[MessageQueue]>> {
        let mut known = self.topics.get_mut(topic)?;
        if known.queues.is_empty() || now - known.asked >= interval {
            known.asked = now;
            return None;
        }
        Some(Arc::clone(&known.queues))
    }
}

enum Unanswered {
    NoSuchTopic,
    NoAnswer,
}

async fn ask(broker: &Broker, topic: &str) -> Result<Arc<[MessageQueue]>, Unanswered> {
    let request = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", topic);
    let answer = broker.name_servers.call_any(request, PATIENCE).await.map_err(|error| {
        tracing::warn!(topic, %error, "no name server tells the queues of a topic");
        Unanswered::NoAnswer
    })?;
    match answer.response_code() {
        ResponseCode::SUCCESS => {}
        ResponseCode::TOPIC_NOT_EXIST => return Err(Unanswered::NoSuchTopic),
        _ => return Err(Unanswered::NoAnswer),
    }
    let route: TopicRouteData = json::from_slice(&answer.body.bytes()).map_err(|error| {
        tracing::warn!(topic, %error, "the queues of a topic cannot be read");
        Unanswered::NoAnswer
    })?;
    let mut queues = Vec::new();
    for data in route.queue_datas.iter().filter(|data| data.perm & PERM_READ != 0) {
        queues.extend((0..data.read_queue_nums).map(|queue_id| MessageQueue {
            broker_name: data.broker_name.clone(),
            queue_id,
            topic: topic.to_owned(),
        }));
    }
    queues.sort_unstable();
    Ok(queues.into())
}
