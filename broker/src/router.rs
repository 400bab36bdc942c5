//! Which handler a request goes to.

use std::sync::Arc;

use apogee_remoting::server::{Peer, Reply, Service};
use apogee_remoting::{Command, RequestCode as Code, ResponseCode};

use crate::Broker;
use crate::answer::Answer;
use crate::{
    client, config, expiry, group, lock, offset, pull, query, registration, retry, schedule, send, stats, topic,
    transaction,
};

/// The handlers behind one of the broker's two ports.
pub(crate) struct Router {
    pub(crate) broker: Arc<Broker>,
    /// The port `listenPort - 2`, which serves no request that may be held (trap 10).
    pub(crate) is_fast: bool,
}

impl Service for Router {
    fn call(&self, peer: &Arc<Peer>, request: Command) -> Reply {
        let broker = &self.broker;
        match request.request_code() {
            Code::SEND_MESSAGE | Code::SEND_MESSAGE_V2 | Code::SEND_BATCH_MESSAGE => send::send(broker, peer, &request),
            Code::END_TRANSACTION => transaction::end(broker, &request),
            Code::RESUME_CHECK_HALF_MESSAGE => now(transaction::resume_check(broker, &request)),
            Code::CONSUMER_SEND_MSG_BACK => now(retry::send_back(broker, &request)),
            Code::PULL_MESSAGE | Code::LITE_PULL_MESSAGE if !self.is_fast => pull::pull(broker, peer, request),

            Code::HEART_BEAT => client::heartbeat(broker, peer, &request),
            Code::UNREGISTER_CLIENT => now(client::unregister(broker, peer, &request)),
            Code::CHECK_CLIENT_CONFIG => now(client::check_config(broker, &request)),
            Code::GET_CONSUMER_LIST_BY_GROUP => now(client::consumer_list(broker, &request)),
            Code::GET_CONSUMER_CONNECTION_LIST => now(client::consumer_connections(broker, &request)),
            Code::GET_PRODUCER_CONNECTION_LIST => now(client::producer_connections(broker, &request)),

            Code::QUERY_CONSUMER_OFFSET => now(offset::query(broker, &request)),
            Code::UPDATE_CONSUMER_OFFSET => now(offset::update(broker, &request)),
            Code::SEARCH_OFFSET_BY_TIMESTAMP => now(offset::search(broker, &request)),
            Code::GET_MAX_OFFSET => now(offset::max(broker, &request)),
            Code::GET_MIN_OFFSET => now(offset::min(broker, &request)),
            Code::GET_EARLIEST_MSG_STORETIME => now(offset::earliest_time(broker, &request)),
            Code::GET_ALL_CONSUMER_OFFSET => offset::get_all(broker).into(),
            Code::GET_ALL_DELAY_OFFSET => schedule::get_offsets(broker).into(),

            Code::LOCK_BATCH_MQ => now(lock::lock(broker, &request)),
            Code::UNLOCK_BATCH_MQ => now(lock::unlock(broker, &request)),

            Code::UPDATE_AND_CREATE_TOPIC => registered(broker, topic::update(broker, &request)),
            Code::UPDATE_AND_CREATE_TOPIC_LIST => registered(broker, topic::update_list(broker, &request)),
            Code::GET_ALL_TOPIC_CONFIG => now(topic::get_all(broker, &request)),
            Code::GET_TOPIC_CONFIG => now(topic::get(broker, &request)),
            Code::DELETE_TOPIC_IN_BROKER => now(topic::delete(broker, &request)),

            Code::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => now(group::update(broker, &request)),
            Code::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST => now(group::update_list(broker, &request)),
            Code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => now(group::get_all(broker, &request)),
            Code::GET_SUBSCRIPTIONGROUP_CONFIG => now(group::get(broker, &request)),
            Code::DELETE_SUBSCRIPTIONGROUP => now(group::delete(broker, &request)),

            Code::QUERY_MESSAGE => query::by_key(broker, request),
            Code::VIEW_MESSAGE_BY_ID => now(query::view(broker, &request)),

            Code::UPDATE_BROKER_CONFIG => now(config::update(broker, &request)),
            Code::GET_BROKER_CONFIG => config::get(broker).into(),
            Code::DELETE_EXPIRED_COMMITLOG => expiry::by_hand(broker).into(),
            Code::GET_BROKER_RUNTIME_INFO => stats::runtime_info(broker).into(),
            Code::GET_TOPIC_STATS_INFO => now(stats::topic(broker, &request)),
            Code::GET_CONSUME_STATS => now(stats::consume(broker, &request)),

            other => {
                Command::error(ResponseCode::REQUEST_CODE_NOT_SUPPORTED, format!(" request type {other} not supported"))
                    .into()
            }
        }
    }

    /// Messages may be refused when too much is in hand; what keeps clients connected and admins informed may not.
    fn may_refuse(&self, request: &Command) -> bool {
        matches!(
            request.request_code(),
            Code::SEND_MESSAGE
                | Code::SEND_MESSAGE_V2
                | Code::SEND_BATCH_MESSAGE
                | Code::PULL_MESSAGE
                | Code::LITE_PULL_MESSAGE
                | Code::QUERY_MESSAGE
                | Code::VIEW_MESSAGE_BY_ID
        )
    }

    fn closed(&self, peer: &Arc<Peer>) {
        client::connection_closed(&self.broker, peer);
    }
}

fn now(answer: Answer) -> Reply {
    answer.unwrap_or_else(Command::from).into()
}

/// An answer that waits until the name servers know of the change: whoever made it asks them for the route next.
fn registered(broker: &Arc<Broker>, answer: Answer) -> Reply {
    match answer {
        Ok(answer) => {
            let broker = Arc::clone(broker);
            Reply::later(async move {
                registration::settled(&broker).await;
                answer
            })
        }
        Err(refusal) => Command::from(refusal).into(),
    }
}
