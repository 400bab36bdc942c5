//! Locks that hold on most brokers of a set (`lockInStrictMode`), so that two masters of one name never serve two consumers
//! of a queue in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::protocol::lock::{LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody};
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::protocol::register::{GetBrokerMemberGroupRequestHeader, GetBrokerMemberGroupResponseBody};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use tokio::task::JoinSet;

use crate::Broker;

/// How long another broker or a name server may take for its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Brokers that have to agree.
pub(super) fn quorum(broker: &Broker) -> usize {
    let settings = broker.settings();
    if !settings.broker.lock_in_strict_mode {
        return 1;
    }
    usize::try_from(settings.store.total_replicas).unwrap_or(1) / 2 + 1
}

/// Of the queues that are locked here, those that most of the set locked for the same client.
pub(super) async fn agreed(
    broker: &Arc<Broker>,
    mut body: LockBatchRequestBody,
    quorum: usize,
) -> BTreeSet<MessageQueue> {
    body.only_this_broker = true;
    let request = Command::request(RequestCode::LOCK_BATCH_MQ).with_body(json::to_vec(&body));
    let mut votes: BTreeMap<MessageQueue, usize> = body.mq_set.into_iter().map(|queue| (queue, 1)).collect();
    let mut calls = call_others(broker, request).await;
    while let Some(answer) = calls.join_next().await {
        let Some(answer) = answer.ok().flatten() else { continue };
        match json::from_slice::<LockBatchResponseBody>(&answer.body.bytes()) {
            Ok(locked) => {
                for queue in locked.lock_okmq_set {
                    votes.entry(queue).and_modify(|votes| *votes += 1);
                }
            }
            Err(error) => tracing::warn!(%error, "what another broker locked cannot be read"),
        }
    }
    votes.retain(|_, votes| *votes >= quorum);
    votes.into_keys().collect()
}

/// Gives locks back on the other brokers of the set, in their own time.
pub(super) fn give_back(broker: &Arc<Broker>, mut body: UnlockBatchRequestBody) {
    body.only_this_broker = true;
    let request = Command::request(RequestCode::UNLOCK_BATCH_MQ).with_body(json::to_vec(&body));
    let broker = Arc::clone(broker);
    // Nobody waits for it: one that does not hear of it lets the locks expire.
    drop(tokio::spawn(async move { call_others(&broker, request).await.join_all().await }));
}

/// Sends a request to the other brokers of this one's name, all at once. `None` for one that did not do it.
async fn call_others(broker: &Arc<Broker>, request: Command) -> JoinSet<Option<Command>> {
    let mut calls = JoinSet::new();
    for address in others(broker).await {
        let (broker, request) = (Arc::clone(broker), request.clone());
        calls.spawn(async move {
            match broker.client.call(&address, request, PATIENCE).await {
                Ok(answer) if answer.response_code() == ResponseCode::SUCCESS => Some(answer),
                Ok(answer) => {
                    tracing::warn!(address, remark = ?answer.remark, "another broker refuses locks");
                    None
                }
                Err(error) => {
                    tracing::warn!(address, %error, "another broker is not asked for locks");
                    None
                }
            }
        });
    }
    calls
}

/// Addresses of the other brokers of this one's name, as the name servers know them.
async fn others(broker: &Broker) -> Vec<String> {
    let settings = broker.settings.load_full();
    let config = &settings.broker;
    let header = GetBrokerMemberGroupRequestHeader {
        cluster_name: &config.broker_cluster_name,
        broker_name: &config.broker_name,
    };
    let request = Command::request(RequestCode::GET_BROKER_MEMBER_GROUP).with_header(&header);
    let known = match broker.name_servers.call_any(request, PATIENCE).await {
        Ok(answer) => {
            json::from_slice::<GetBrokerMemberGroupResponseBody>(&answer.body.bytes()).map_err(|e| e.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    match known {
        Ok(body) => {
            let members = body.broker_member_group.unwrap_or_default().broker_addrs;
            members.into_iter().filter(|(id, _)| *id != config.broker_id).map(|(_, address)| address).collect()
        }
        Err(error) => {
            tracing::warn!(error, "no name server tells the other brokers of the set");
            Vec::new()
        }
    }
}
