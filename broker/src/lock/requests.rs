//! Locking and unlocking of queues: codes 41 and 42.

use apogee_remoting::protocol::lock::{LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::{Answer, Refusal};

/// Locks queues for a client (41) and answers with those that it holds now.
pub(crate) fn lock(broker: &Broker, request: &Command) -> Answer {
    let body: LockBatchRequestBody = json::from_slice(&request.body.bytes())?;
    if body.consumer_group.is_empty() || body.client_id.is_empty() {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "a lock needs a consumerGroup and a clientId"));
    }
    let locked = broker.locks.lock(&body.consumer_group, &body.client_id, body.mq_set, broker.now());
    let body = LockBatchResponseBody { lock_okmq_set: locked };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// Gives up a client's locks (42).
pub(crate) fn unlock(broker: &Broker, request: &Command) -> Answer {
    let body: UnlockBatchRequestBody = json::from_slice(&request.body.bytes())?;
    broker.locks.unlock(&body.consumer_group, &body.client_id, &body.mq_set);
    Ok(Command::response(ResponseCode::SUCCESS))
}
