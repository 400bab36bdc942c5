//! Asking a consumer, on behalf of an admin: codes 307 and 309.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::protocol::consumer_status::{
    ConsumeMessageDirectlyResultRequestHeader, GetConsumerRunningInfoRequestHeader,
};
use apogee_remoting::server::{CallError, Peer, Reply};
use apogee_remoting::{Command, ResponseCode};

use crate::Broker;
use crate::answer::Refusal;
use crate::thread::on_thread;

/// How long a client may take for its answer, as in the reference.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// First version of consumers that answer these requests (`V3_1_8_SNAPSHOT`).
const ANSWERS: i32 = 62;

/// What a consumer tells of itself (307).
pub(crate) fn running_info(broker: &Broker, request: &Command) -> Reply {
    let found = request.header().map_err(Refusal::from).and_then(|header: GetConsumerRunningInfoRequestHeader<'_>| {
        Consumer::find(broker, header.consumer_group, Some(header.client_id))
    });
    match found {
        Ok(consumer) => Reply::later(consumer.ask(forwarded(request))),
        Err(refusal) => Command::from(refusal).into(),
    }
}

/// Has a consumer consume one message, and answers with what became of it (309).
pub(crate) fn consume_directly(broker: &Arc<Broker>, request: Command) -> Reply {
    let broker = Arc::clone(broker);
    Reply::later(async move {
        match on_thread(move || with_message(&broker, &request)).await {
            Ok((consumer, question)) => consumer.ask(question).await,
            Err(refusal) => refusal.into(),
        }
    })
}

/// The request for the consumer, with the message and what the broker knows of topic and group.
fn with_message(broker: &Broker, request: &Command) -> Result<(Consumer, Command), Refusal> {
    let header: ConsumeMessageDirectlyResultRequestHeader<'_> = request.header()?;
    let refused = |remark: String| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let id = header.msg_id.unwrap_or_default();
    let place: OffsetMessageId = id.parse().map_err(|_| refused(format!("the message id {id:?} is no offset id")))?;
    let not_found = || refused(format!("can not find message by the offset, {}", place.offset));
    let record = broker.store.record_at(place.offset)?.ok_or_else(not_found)?;
    let consumer = Consumer::find(broker, header.consumer_group, header.client_id)?;

    let mut question = forwarded(request).with_body(record);
    let fields = question.fields.get_or_insert_default();
    fields.set("brokerName", &broker.settings().broker.broker_name);
    if let Some(topic) = header.topic.and_then(|topic| broker.topics.get(topic)) {
        fields.set("topicSysFlag", &topic.topic_sys_flag.to_string());
    }
    if let Some(group) = broker.groups.get(header.consumer_group) {
        fields.set("groupSysFlag", &group.group_sys_flag.to_string());
    }
    Ok((consumer, question))
}

/// The admin's request as the consumer gets it.
fn forwarded(request: &Command) -> Command {
    Command { fields: request.fields.clone(), ..Command::request(request.request_code()) }
}

/// A consumer that can be asked.
struct Consumer {
    /// Group and client id, for remarks.
    name: String,
    peer: Arc<Peer>,
}

impl Consumer {
    fn find(broker: &Broker, group: &str, client_id: Option<&str>) -> Result<Self, Refusal> {
        let id = client_id.unwrap_or("null");
        let refused = |remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
        let found = broker.consumers.group(group).and_then(|group| group.client(id));
        let client = found.ok_or_else(|| refused(format!("The Consumer <{group}> <{id}> not online")))?;
        if client.version < ANSWERS {
            return Err(refused(format!(
                "The Consumer <{id}> Version <{}> too low to finish, please upgrade it to V3_1_8_SNAPSHOT",
                client.version
            )));
        }
        Ok(Self { name: format!("<{group}> <{id}>"), peer: client.peer })
    }

    /// Its answer, whatever it is.
    async fn ask(self, question: Command) -> Command {
        let name = self.name;
        match self.peer.request(question, PATIENCE).await {
            Ok(answer) => answer,
            Err(error @ CallError::Timeout(..)) => {
                Command::error(ResponseCode::CONSUME_MSG_TIMEOUT, format!("consumer {name} Timeout: {error}"))
            }
            Err(error) => {
                Command::error(ResponseCode::SYSTEM_ERROR, format!("invoke consumer {name} Exception: {error}"))
            }
        }
    }
}
