//! Where the consumers of a group are with their queues: codes 223 and, to them, 221.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::protocol::consumer_status::{GetConsumerStatusBody, GetConsumerStatusRequestHeader};
use apogee_remoting::protocol::message_queue::MessageQueue;
use apogee_remoting::server::{Answer, Peer, Reply};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use tokio::time::{Instant, timeout_at};

use super::Client;
use crate::Broker;
use crate::answer::{NOT_SET, Refusal};

/// How long all consumers together may take for their answers.
const PATIENCE: Duration = Duration::from_secs(5);
/// First version of consumers that can be asked (`V3_0_7_SNAPSHOT`).
const ANSWERS: i32 = 28;

/// Asks the consumers of a group, or one of them, for their offsets in a topic (223). Those that do not answer are left out.
pub(crate) fn consumer_status(broker: &Broker, request: &Command) -> Reply {
    match ask(broker, request) {
        Ok(asked) => Reply::later(gather(asked)),
        Err(refusal) => Command::from(refusal).into(),
    }
}

/// The answers to come, by client.
type Asked = Vec<(String, Answer<Arc<Peer>>)>;

fn ask(broker: &Broker, request: &Command) -> Result<Asked, Refusal> {
    let header: GetConsumerStatusRequestHeader<'_> = request.header()?;
    let refused = |remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let group = broker
        .consumers
        .group(header.group)
        .ok_or_else(|| refused(format!("No Any Consumer online in the consumer group: [{}]", header.group)))?;
    let question = GetConsumerStatusRequestHeader { client_addr: None, ..header };
    let question = Command::request(RequestCode::GET_CONSUMER_STATUS_FROM_CLIENT).with_header(&question);
    let wanted = header.client_addr.filter(|id| !id.trim().is_empty());
    let mut asked = Vec::new();
    for Client { id, peer, version, .. } in group.clients() {
        if version < ANSWERS {
            return Err(refused(format!("the client does not support this feature. version={version}")));
        }
        if wanted.is_none_or(|wanted| wanted == id) {
            match peer.submit(question.clone()) {
                Ok(answer) => asked.push((id, answer)),
                Err(error) => tracing::warn!(client = id, %error, "a consumer cannot be asked for its offsets"),
            }
        }
    }
    Ok(asked)
}

async fn gather(asked: Asked) -> Command {
    let until = Instant::now() + PATIENCE;
    let mut consumer_table = BTreeMap::new();
    for (id, answer) in asked {
        match timeout_at(until, answer).await {
            Ok(Ok(answer)) => consumer_table.extend(offsets(&answer).map(|offsets| (id, offsets))),
            Ok(Err(error)) => tracing::warn!(client = id, %error, "a consumer does not tell its offsets"),
            Err(_) => tracing::warn!(client = id, "a consumer does not tell its offsets in time"),
        }
    }
    let body = GetConsumerStatusBody { consumer_table, ..GetConsumerStatusBody::default() };
    Command::response(ResponseCode::SUCCESS).with_remark(NOT_SET).with_body(json::to_vec(&body))
}

fn offsets(answer: &Command) -> Option<BTreeMap<MessageQueue, i64>> {
    if answer.response_code() != ResponseCode::SUCCESS {
        return None;
    }
    let body: Result<GetConsumerStatusBody, _> = json::from_slice(&answer.body.bytes());
    let body = body.inspect_err(|error| tracing::warn!(%error, "a consumer's offsets cannot be read"));
    body.ok().map(|body| body.message_queue_table)
}
