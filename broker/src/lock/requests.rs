//! Locking and unlocking of queues: codes 41 and 42.

use std::collections::BTreeSet;
use std::sync::Arc;

use apogee_remoting::protocol::lock::{LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody};
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode, json};

use super::strict;
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// Locks queues for a client (41) and answers with those that it holds now.
pub(crate) fn lock(broker: &Arc<Broker>, request: &Command) -> Reply {
    let mut body = match read(request) {
        Ok(body) => body,
        Err(refusal) => return Command::from(refusal).into(),
    };
    let wanted = std::mem::take(&mut body.mq_set);
    let locked = broker.locks.lock(&body.consumer_group, &body.client_id, wanted, broker.now());
    let quorum = if body.only_this_broker { 1 } else { strict::quorum(broker) };
    if quorum <= 1 {
        return answer(locked).into();
    }
    let broker = Arc::clone(broker);
    let body = LockBatchRequestBody { mq_set: locked, ..body };
    Reply::later(async move { answer(strict::agreed(&broker, body, quorum).await) })
}

/// Gives up a client's locks (42).
pub(crate) fn unlock(broker: &Arc<Broker>, request: &Command) -> Answer {
    let body: UnlockBatchRequestBody = json::from_slice(&request.body.bytes())?;
    broker.locks.unlock(&body.consumer_group, &body.client_id, &body.mq_set);
    if !body.only_this_broker && strict::quorum(broker) > 1 {
        strict::give_back(broker, body);
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

fn read(request: &Command) -> Result<LockBatchRequestBody, Refusal> {
    let body: LockBatchRequestBody = json::from_slice(&request.body.bytes())?;
    if body.consumer_group.is_empty() || body.client_id.is_empty() {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "a lock needs a consumerGroup and a clientId"));
    }
    Ok(body)
}

fn answer(locked: BTreeSet<MessageQueue>) -> Command {
    let body = LockBatchResponseBody { lock_okmq_set: locked };
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body))
}
