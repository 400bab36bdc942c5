//! Which handler a request goes to.

use std::future::ready;
use std::sync::Arc;

use apogee_remoting::server::{Answering, Peer, Reply, Service, Settling};
use apogee_remoting::{Command, RequestCode as Code, ResponseCode};

use crate::Broker;
use crate::answer::{Answer, NotDone, Refusal, when_possible};
use crate::saved_table::Saving;
use crate::thread::on_thread;
use crate::{
    assignment, client, config, expiry, filter, group, lock, offset, pull, query, registration, replication,
    request_mode, retry, rocksdb, schedule, send, stats, timer, topic, transaction,
};

/// The handlers behind one of the broker's two ports.
pub(crate) struct Router {
    pub(crate) broker: Arc<Broker>,
    /// The port `listenPort - 2`, which serves no request that may be held (trap 10).
    pub(crate) is_fast: bool,
}

impl Service for Router {
    /// The requests of which there are many write their answers themselves.
    fn answer(&self, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
        match request.request_code() {
            Code::SEND_MESSAGE | Code::SEND_MESSAGE_V2 | Code::SEND_BATCH_MESSAGE => {
                send::send(&self.broker, peer, request, answering)
            }
            // Its producer knows where the half is: that came earlier.
            Code::END_TRANSACTION => transaction::end(&self.broker, request, answering),
            code => {
                // It finds what came before it.
                send::append(&self.broker);
                match code {
                    Code::PULL_MESSAGE | Code::LITE_PULL_MESSAGE if !self.is_fast => {
                        pull::pull(&self.broker, peer, request, answering)
                    }
                    _ => self.call(peer, request),
                }
            }
        }
    }

    fn settle(&self, settling: &mut Settling<'_>) {
        send::settle(&self.broker, settling);
    }

    fn call(&self, peer: &Arc<Peer>, request: Command) -> Reply {
        let broker = &self.broker;
        match request.request_code() {
            Code::SEND_REPLY_MESSAGE | Code::SEND_REPLY_MESSAGE_V2 => send::reply(broker, peer, request),
            Code::RESUME_CHECK_HALF_MESSAGE => waits(broker, request, transaction::resume_check),
            Code::CONSUMER_SEND_MSG_BACK => retry::send_back(broker, request),

            Code::HEART_BEAT => client::heartbeat(broker, peer, request),
            Code::UNREGISTER_CLIENT => now(client::unregister(broker, peer, &request)),
            Code::CHECK_CLIENT_CONFIG => now(filter::check(broker, &request)),
            Code::REGISTER_FILTER_SERVER => now(filter::register_server(broker, peer, &request)),
            Code::GET_CONSUMER_LIST_BY_GROUP => now(client::consumer_list(broker, &request)),
            Code::GET_CONSUMER_CONNECTION_LIST => now(client::consumer_connections(broker, &request)),
            Code::GET_PRODUCER_CONNECTION_LIST => now(client::producer_connections(broker, &request)),
            Code::GET_ALL_PRODUCER_INFO => client::all_producers(broker).into(),
            Code::GET_CONSUMER_RUNNING_INFO => client::running_info(broker, &request),
            Code::CONSUME_MESSAGE_DIRECTLY => client::consume_directly(broker, request),
            Code::INVOKE_BROKER_TO_GET_CONSUMER_STATUS => client::consumer_status(broker, &request),

            Code::QUERY_CONSUMER_OFFSET => now(offset::query(broker, &request)),
            Code::UPDATE_CONSUMER_OFFSET => now(offset::update(broker, &request)),
            Code::SEARCH_OFFSET_BY_TIMESTAMP => waits(broker, request, offset::search),
            Code::GET_MAX_OFFSET => now(offset::max(broker, &request)),
            Code::GET_MIN_OFFSET => now(offset::min(broker, &request)),
            Code::GET_EARLIEST_MSG_STORETIME => waits(broker, request, offset::earliest_time),
            Code::GET_ALL_CONSUMER_OFFSET => offset::get_all(broker).into(),
            Code::INVOKE_BROKER_TO_RESET_OFFSET => waits(broker, request, offset::reset),
            Code::CLONE_GROUP_OFFSET => now(offset::clone(broker, &request)),
            Code::QUERY_CORRECTION_OFFSET => now(offset::correction(broker, &request)),
            Code::GET_ALL_DELAY_OFFSET => schedule::get_offsets(broker).into(),
            Code::GET_TIMER_CHECK_POINT => waits(broker, request, timer::get_check_point),
            Code::GET_TIMER_METRICS => waits(broker, request, timer::get_metrics),

            Code::QUERY_ASSIGNMENT => assignment::query(broker, &request),
            Code::SET_MESSAGE_REQUEST_MODE => waits(broker, request, request_mode::set),
            Code::GET_ALL_MESSAGE_REQUEST_MODE => request_mode::get_all(broker).into(),
            Code::NOTIFY_MIN_BROKER_ID_CHANGE => now(replication::notice_min_broker_id(broker, &request)),
            Code::EXCHANGE_BROKER_HA_INFO => waits(broker, request, replication::exchange_addresses),
            Code::GET_BROKER_HA_STATUS => replication::get_status(broker).into(),
            Code::RESET_MASTER_FLUSH_OFFSET => waits(broker, request, replication::reset_master_flushed),

            Code::LOCK_BATCH_MQ => lock::lock(broker, &request),
            Code::UNLOCK_BATCH_MQ => now(lock::unlock(broker, &request)),

            Code::UPDATE_AND_CREATE_TOPIC => registered(broker, request, topic::update),
            Code::UPDATE_AND_CREATE_TOPIC_LIST => registered(broker, request, topic::update_list),
            Code::GET_ALL_TOPIC_CONFIG => now(topic::get_all(broker, &request)),
            Code::GET_TOPIC_CONFIG => now(topic::get(broker, &request)),
            Code::DELETE_TOPIC_IN_BROKER => waits(broker, request, topic::delete),
            Code::GET_SYSTEM_TOPIC_LIST_FROM_BROKER => topic::own(broker).into(),
            Code::CLEAN_UNUSED_TOPIC => waits(broker, request, topic::clean_unused),

            Code::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => saved(broker, request, group::update),
            Code::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST => saved(broker, request, group::update_list),
            Code::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => now(group::get_all(broker, &request)),
            Code::GET_SUBSCRIPTIONGROUP_CONFIG => waits(broker, request, group::get),
            Code::DELETE_SUBSCRIPTIONGROUP => waits(broker, request, group::delete),
            Code::UPDATE_AND_GET_GROUP_FORBIDDEN => waits(broker, request, group::forbid),
            Code::QUERY_TOPIC_CONSUME_BY_WHO => now(group::consumers_of(broker, &request)),
            Code::QUERY_TOPICS_BY_CONSUMER => now(group::topics_of(broker, &request)),
            Code::QUERY_SUBSCRIPTION_BY_CONSUMER => now(group::subscription(broker, &request)),

            Code::QUERY_MESSAGE => reads(broker, request, query::by_key),
            Code::VIEW_MESSAGE_BY_ID => reads(broker, request, query::view),
            Code::QUERY_CONSUME_QUEUE => waits(broker, request, query::units),

            Code::UPDATE_BROKER_CONFIG => waits(broker, request, config::update),
            Code::GET_BROKER_CONFIG => config::get(broker).into(),
            Code::SET_COMMITLOG_READ_MODE => waits(broker, request, config::set_read_mode),
            Code::DELETE_EXPIRED_COMMITLOG => expiry::by_hand(broker).into(),
            Code::CLEAN_EXPIRED_CONSUMEQUEUE => waits(broker, request, expiry::queues),
            Code::GET_BROKER_RUNTIME_INFO => waits(broker, request, |broker, _| Ok(stats::runtime_info(broker))),
            Code::GET_TOPIC_STATS_INFO => waits(broker, request, stats::topic),
            Code::GET_CONSUME_STATS => waits(broker, request, stats::consume),
            Code::GET_BROKER_CONSUME_STATS => waits(broker, request, stats::consume_all),
            Code::CHECK_ROCKSDB_CQ_WRITE_PROGRESS => rocksdb::check_queues().into(),
            Code::EXPORT_ROCKSDB_CONFIG_TO_JSON => now(rocksdb::export(&request)),
            Code::VIEW_BROKER_STATS_DATA => now(stats::view(broker, &request)),
            Code::QUERY_CONSUME_TIME_SPAN => waits(broker, request, stats::time_span),

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
                | Code::SEND_REPLY_MESSAGE
                | Code::SEND_REPLY_MESSAGE_V2
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

/// A handler that reads or writes files does so on a thread that may wait.
fn waits(broker: &Arc<Broker>, request: Command, handle: fn(&Broker, &Command) -> Answer) -> Reply {
    let broker = Arc::clone(broker);
    Reply::later(on_thread(move || handle(&broker, &request).unwrap_or_else(Command::from)))
}

/// A handler that changes a table: what it answers when the change is on disk.
type Change = fn(&Broker, &Command) -> Result<(Command, Saving), NotDone>;

async fn change(broker: &Broker, request: &Command, handle: Change) -> Answer {
    let (answer, saving) = when_possible(|| ready(handle(broker, request))).await?;
    saving.done().await?;
    Ok(answer)
}

fn saved(broker: &Arc<Broker>, request: Command, handle: Change) -> Reply {
    let broker = Arc::clone(broker);
    Reply::later(async move { change(&broker, &request, handle).await.unwrap_or_else(Command::from) })
}

/// The same, answered when the name servers know of the change: whoever made it asks them for the route next.
fn registered(broker: &Arc<Broker>, request: Command, handle: Change) -> Reply {
    let broker = Arc::clone(broker);
    Reply::later(async move {
        let answer = change(&broker, &request, handle).await;
        if answer.is_ok() {
            registration::settled(&broker).await;
        }
        answer.unwrap_or_else(Command::from)
    })
}

/// A handler that reads what may not be in memory, with others that do.
fn reads(broker: &Arc<Broker>, request: Command, handle: fn(&Broker, &Command) -> Answer) -> Reply {
    let (broker, readers) = (Arc::clone(broker), broker.readers.clone());
    Reply::later(async move {
        let read = readers.read(move || handle(&broker, &request).unwrap_or_else(Command::from)).await;
        read.unwrap_or_else(|busy| Refusal::from(busy).into())
    })
}
