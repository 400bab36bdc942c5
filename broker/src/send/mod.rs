//! Sending: codes 10, 310 and 320.

mod batch;
mod check;
mod properties;
mod refusal;
mod single;

use std::sync::Arc;
use std::time::Duration;

use apogee_config::{BrokerRole, BrokerSettings, FlushDiskType};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::server::{Peer, Reply};
use apogee_remoting::{Command, ResponseCode};
use tokio::time::timeout;

use crate::answer::Refusal;
use crate::{Broker, registration};

pub(crate) use refusal::refusal;

/// A message or a batch that is in the log.
struct Stored {
    answer: Command,
    /// Physical offset behind it.
    end: i64,
    /// Whether the producer wants its answer only when the message is where the broker's role says.
    waits: bool,
    /// Whether the topic was made for it: then the producer, or a consumer that it tells, asks for the route next.
    is_topic_new: bool,
}

/// Stores the message or the batch of a request and answers with its place.
pub(crate) fn send(broker: &Arc<Broker>, peer: &Peer, request: &Command) -> Reply {
    let settings = broker.settings();
    if settings.store.broker_role == BrokerRole::Slave {
        let remark = "[REJECTREQUEST]system busy, start flow control for a while";
        return Command::error(ResponseCode::SYSTEM_BUSY, remark).into();
    }
    let stored = SendMessageRequestHeader::of(request).map_err(Refusal::from).and_then(|message| {
        if message.batch == Some(true) {
            batch::send(broker, &settings, peer, &message, request)
        } else {
            single::send(broker, &settings, peer, &message, request)
        }
    });
    match stored {
        Ok(stored) => {
            let answer = with_trace(&settings, stored.answer);
            let limit = (stored.waits && settings.store.flush_disk_type == FlushDiskType::SyncFlush)
                .then(|| Duration::from_millis(settings.store.sync_flush_timeout.max(1) as u64));
            if limit.is_none() && !stored.is_topic_new {
                return answer.into();
            }
            let broker = Arc::clone(broker);
            Reply::later(async move {
                let answer = match limit {
                    Some(limit) => settle(&broker, answer, stored.end, limit).await,
                    None => answer,
                };
                if stored.is_topic_new {
                    registration::settled(&broker).await;
                }
                answer
            })
        }
        Err(refusal) => with_trace(&settings, refusal.into()).into(),
    }
}

/// The client reads both from every answer, refusals included (trap 12).
fn with_trace(settings: &BrokerSettings, mut answer: Command) -> Command {
    let fields = answer.fields.get_or_insert_default();
    fields.push("MSG_REGION", &settings.broker.region_id);
    fields.push("TRACE_ON", if settings.broker.trace_on { "true" } else { "false" });
    answer
}

/// Waits until a message is durable. One that is not in time is stored all the same, and the producer is told so.
async fn settle(broker: &Broker, answer: Command, end: i64, limit: Duration) -> Command {
    match timeout(limit, broker.store.flushed(end)).await {
        Ok(Ok(())) => answer,
        Ok(Err(_)) | Err(_) => Command { code: ResponseCode::FLUSH_DISK_TIMEOUT.0, ..answer },
    }
}
