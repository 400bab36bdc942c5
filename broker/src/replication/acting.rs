//! A slave that acts for its master while that is gone (`enableSlaveActingMaster`).
//!
//! Of the brokers of a name that live, the one with the smallest id delivers delayed messages and looks after transactions, so
//! that neither stops with the master. Its log stays the master's: what it would store, it sends to brokers of other names, if
//! it may (`enableRemoteEscape`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use apogee_remoting::client::CallError;
use apogee_remoting::json::{self, JsonError};
use apogee_remoting::message::properties::{Properties, key};
use apogee_remoting::message::record::Draft;
use apogee_remoting::protocol::route::TopicRouteData;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use thiserror::Error;

use super::{MASTER_ID, Replication};
use crate::Broker;
use crate::topic::PERM_WRITE;

impl Replication {
    /// Whether this broker does what only one broker of its name may do: as its master, or in the master's place.
    pub(crate) fn acts(&self) -> bool {
        *self.acting.borrow()
    }

    /// Ends when it does.
    pub(crate) async fn acting(&self) {
        // Its sender is in `self`.
        let _ = self.acting.subscribe().wait_for(|acts| *acts).await;
    }

    /// Whether this broker's log is its own, so that it may store messages.
    pub(crate) fn owns_log(&self) -> bool {
        self.replica.is_none()
    }
}

/// Why no other broker took a message.
#[derive(Debug, Error)]
pub(crate) enum NotTaken {
    #[error("this slave acts for its master and may not send to other brokers (enableRemoteEscape)")]
    NotAllowed,
    #[error("no master of another name takes messages of topic {0}")]
    Nobody(String),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the route does not parse: {0}")]
    Route(#[from] JsonError),
    #[error("{address} answers {code}: {remark}")]
    Refused { address: String, code: ResponseCode, remark: String },
}

/// Sends a message to a broker of another name that has its topic. The queue is chosen anew.
///
/// # Errors
/// It is not stored there, as far as is known.
pub(crate) async fn send_elsewhere(broker: &Broker, draft: &Draft<'_>) -> Result<(), NotTaken> {
    let settings = broker.settings();
    if !settings.broker.enable_remote_escape {
        return Err(NotTaken::NotAllowed);
    }
    let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", draft.topic);
    let answer = broker.name_servers.call_any(query, TIMEOUT).await?;
    if answer.response_code() != ResponseCode::SUCCESS {
        return Err(refused("the name server", &answer));
    }
    let route: TopicRouteData = json::from_slice(&answer.body.bytes())?;
    let queues = route.queue_datas.iter().filter(|queues| {
        queues.perm & PERM_WRITE != 0
            && queues.write_queue_nums > 0
            && queues.broker_name != settings.broker.broker_name
    });
    let targets: Vec<_> =
        queues.filter_map(|queues| Some((address_of(&route, &queues.broker_name)?, queues))).collect();
    let number = broker.replication.sent_elsewhere.fetch_add(1, Ordering::Relaxed);
    let Some((address, queues)) = targets.get(number % targets.len().max(1)) else {
        return Err(NotTaken::Nobody(draft.topic.to_owned()));
    };
    let properties = String::from_utf8_lossy(draft.properties);
    let group = Properties::new(draft.properties).get_str(key::PGROUP).map(str::to_owned);
    let group = group
        .unwrap_or_else(|| format!("InnerProducerGroup_{}_{}", settings.broker.broker_name, settings.broker.broker_id));
    let header = SendMessageRequestHeader {
        producer_group: Some(&group),
        topic: draft.topic,
        default_topic: Some(draft.topic),
        default_topic_queue_nums: Some(queues.write_queue_nums),
        queue_id: (number / targets.len()) as i32 % queues.write_queue_nums,
        sys_flag: draft.sys_flag,
        born_timestamp: draft.born_timestamp,
        flag: draft.flag,
        properties: Some(&properties),
        reconsume_times: Some(draft.reconsume_times),
        unit_mode: Some(false),
        batch: Some(false),
        max_reconsume_times: None,
    };
    let request = Command::request(RequestCode::SEND_MESSAGE).with_header(&header).with_body(draft.body.to_vec());
    let answer = broker.client.call(address, request, TIMEOUT).await?;
    if STORED.contains(&answer.response_code()) { Ok(()) } else { Err(refused(address, &answer)) }
}

fn refused(who: &str, answer: &Command) -> NotTaken {
    let remark = answer.remark.as_deref().unwrap_or_default().to_owned();
    NotTaken::Refused { address: who.to_owned(), code: answer.response_code(), remark }
}

fn address_of<'a>(route: &'a TopicRouteData, broker_name: &str) -> Option<&'a str> {
    let broker = route.broker_datas.iter().find(|broker| broker.broker_name == broker_name)?;
    broker.broker_addrs.get(&MASTER_ID).map(String::as_str)
}

/// What a broker answers that has a message, on its disk and its slaves in time or not: it is not sent again.
const STORED: [ResponseCode; 4] = [
    ResponseCode::SUCCESS,
    ResponseCode::FLUSH_DISK_TIMEOUT,
    ResponseCode::SLAVE_NOT_AVAILABLE,
    ResponseCode::FLUSH_SLAVE_TIMEOUT,
];
const TIMEOUT: Duration = Duration::from_secs(3);
