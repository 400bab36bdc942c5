//! Each table on its own.

use std::sync::Arc;

use apogee_remoting::protocol::assignment::MessageRequestModeSerializeWrapper;
use apogee_remoting::protocol::group::{
    GetAllSubscriptionGroupRequestHeader, GetAllSubscriptionGroupResponseHeader, SubscriptionGroupWrapper,
};
use apogee_remoting::protocol::offset::{
    ConsumerOffsetSerializeWrapper, GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
};
use apogee_remoting::protocol::schedule::{DelayOffsetSerializeWrapper, TimerMetricsSerializeWrapper};
use apogee_remoting::protocol::topic::{
    GetAllTopicConfigRequestHeader, GetAllTopicConfigResponseHeader, TopicConfigAndMappingSerializeWrapper,
    TopicConfigSerializeWrapper,
};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use serde::de::DeserializeOwned;

use super::ask;
use super::pages::{PAGE_SIZE, Page, gather};
use crate::offset::Ahead;
use crate::replication::attach::bounds;
use crate::thread::on_thread;
use crate::timer::CheckPoint;
use crate::{Broker, names, schedule, tasks};

/// Topics (21).
pub(super) async fn topics(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let own_end = broker.store.max_physical_offset();
    let log_end = bounds(broker, master).await?.max;
    let (data_version, pages) = gather(|first, known| async move {
        let header = GetAllTopicConfigRequestHeader {
            topic_seq: Some(first),
            data_version: Some(&known),
            max_topic_num: Some(PAGE_SIZE),
        };
        let answer =
            ask(broker, master, Command::request(RequestCode::GET_ALL_TOPIC_CONFIG).with_header(&header)).await?;
        let body: TopicConfigAndMappingSerializeWrapper = parse(&answer)?;
        let total = answer.header::<GetAllTopicConfigResponseHeader>().ok().and_then(|header| header.total_topic_num);
        let count = body.topic_config_table.len();
        Ok(Page { version: body.data_version, content: body.topic_config_table, count, total })
    })
    .await?;
    let theirs =
        TopicConfigSerializeWrapper { data_version, topic_config_table: pages.into_iter().flatten().collect() };
    // A master that lost its log does not show what was deleted.
    if own_end <= log_end {
        forget_deleted(broker, master, &theirs, log_end).await?;
    }
    let saving = loop {
        match broker.topics.take_over(&theirs) {
            Ok(saving) => break saving,
            Err(deletion) => deletion.done().await.map_err(|error| error.to_string())?,
        }
    };
    saving.done().await.map_err(|error| error.to_string())
}

/// Removes queues and offsets of topics that were deleted at the master, whose log ended at `log_end` before it was asked for
/// its topics: one of the same name begins at 0 there, and so it does here.
async fn forget_deleted(
    broker: &Arc<Broker>,
    master: &str,
    theirs: &TopicConfigSerializeWrapper,
    log_end: i64,
) -> Result<(), String> {
    let known = broker.topics.snapshot();
    if known.data_version.order(&theirs.data_version).is_ge() {
        return Ok(());
    }
    let mut gone: Vec<String> = known.topic_config_table.into_keys().collect();
    gone.retain(|topic| !theirs.topic_config_table.contains_key(topic) && !names::is_system_topic(topic));
    // A master that is deleting a topic leaves it out of its table first, and may still have the queues. One whose table is
    // not the whole of it keeps them.
    for is_last in [false, true] {
        let mut left = Vec::new();
        for topic in gone {
            if has_queues(broker, master, &topic).await? {
                left.push(topic);
                continue;
            }
            let deleting = Arc::clone(broker);
            let deleted = on_thread(move || {
                tracing::info!(topic, "a topic was deleted at the master: its queues are removed");
                deleting.offsets.remove_topic(&topic);
                deleting.stats.remove_topic(&topic);
                deleting.store.delete_topic_before(&topic, log_end)
            });
            deleted.await.map_err(|error| error.to_string())?;
        }
        if is_last || left.is_empty() {
            break;
        }
        tokio::time::sleep(super::LOOK).await;
        gone = left;
    }
    Ok(())
}

/// Whether the master has messages in one of the queues that this slave has of a topic.
async fn has_queues(broker: &Broker, master: &str, topic: &str) -> Result<bool, String> {
    for queue_id in broker.store.queue_ids(topic) {
        if max_offset(broker, master, topic, queue_id).await? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The queue offset behind the last message that the master has in a queue (30).
pub(super) async fn max_offset(broker: &Broker, master: &str, topic: &str, queue_id: i32) -> Result<i64, String> {
    let header = GetMaxOffsetRequestHeader { topic, queue_id, committed: true };
    let answer = ask(broker, master, Command::request(RequestCode::GET_MAX_OFFSET).with_header(&header)).await?;
    let header: GetMaxOffsetResponseHeader = answer.header().map_err(|error| format!("{master}: {error}"))?;
    Ok(header.offset)
}

/// Groups (201).
pub(super) async fn groups(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let (data_version, pages) = gather(|first, known| async move {
        let header = GetAllSubscriptionGroupRequestHeader {
            group_seq: Some(first),
            data_version: Some(&known),
            max_group_num: Some(PAGE_SIZE),
        };
        let request = Command::request(RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG).with_header(&header);
        let answer = ask(broker, master, request).await?;
        let body: SubscriptionGroupWrapper = parse(&answer)?;
        let header = answer.header::<GetAllSubscriptionGroupResponseHeader>();
        let total = header.ok().and_then(|header| header.total_group_num);
        Ok(Page { version: body.data_version, count: body.subscription_group_table.len(), content: body, total })
    })
    .await?;
    let mut groups = SubscriptionGroupWrapper { data_version, ..SubscriptionGroupWrapper::default() };
    for page in pages {
        groups.subscription_group_table.extend(page.subscription_group_table);
        groups.forbidden_table.extend(page.forbidden_table);
    }
    broker.groups.take_over(groups).done().await.map_err(|error| error.to_string())
}

/// Where groups are with queues (43). A master that was gone learns where they came with this slave meanwhile, as from a client
/// (15).
pub(super) async fn offsets(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let answer = ask(broker, master, Command::request(RequestCode::GET_ALL_CONSUMER_OFFSET)).await?;
    let ahead = broker.offsets.take_over(parse::<ConsumerOffsetSerializeWrapper>(&answer)?);
    let saving = Arc::clone(broker);
    on_thread(move || tasks::save_offsets(&saving)).await;
    let mut result = Ok(());
    for Ahead { group, topic, queue_id, offset } in &ahead {
        // One that does not answer is not waited for again and again.
        if result.is_ok() {
            let header = UpdateConsumerOffsetRequestHeader {
                consumer_group: group,
                topic,
                queue_id: *queue_id,
                commit_offset: *offset,
            };
            let request = Command::request(RequestCode::UPDATE_CONSUMER_OFFSET).with_header(&header);
            // One that refuses it knows better: the topic is gone, or the group was reset.
            let answer = broker.client.call(master, request, super::TIMEOUT).await;
            result = answer.map(drop).map_err(|error| error.to_string());
        }
        if result.is_err() {
            drop(broker.offsets.note_committed_here(group, topic, *queue_id));
        }
    }
    result
}

/// How far delay levels are delivered (45).
pub(super) async fn delay_offsets(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let answer = ask(broker, master, Command::request(RequestCode::GET_ALL_DELAY_OFFSET)).await?;
    broker.schedule.offsets.take_over(parse::<DelayOffsetSerializeWrapper>(&answer)?);
    schedule::save(broker).await;
    Ok(())
}

/// Which groups pull and which pop (402). A master of 4.9.x knows no such modes.
pub(super) async fn request_modes(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let request = Command::request(RequestCode::GET_ALL_MESSAGE_REQUEST_MODE);
    let answer = broker.client.call(master, request, super::TIMEOUT).await.map_err(|error| error.to_string())?;
    if answer.response_code() == ResponseCode::REQUEST_CODE_NOT_SUPPORTED {
        return Ok(());
    }
    let modes = parse::<MessageRequestModeSerializeWrapper>(&answer)?;
    let saving = Arc::clone(broker);
    on_thread(move || saving.request_modes.take_over(modes)).await.map_err(|error| error.to_string())
}

/// How many messages wait for the master's timer wheel (61). A master without a wheel answers an error.
pub(super) async fn timer_metrics(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let Some(answer) = ask_timer(broker, master, RequestCode::GET_TIMER_METRICS).await? else { return Ok(()) };
    let theirs = parse::<TimerMetricsSerializeWrapper>(&answer)?;
    let saving = Arc::clone(broker);
    on_thread(move || saving.timer.take_over_metrics(&theirs)).await.map_err(|error| error.to_string())
}

/// How far the master's timer wheel is (60).
pub(super) async fn timer_check_point(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let Some(answer) = ask_timer(broker, master, RequestCode::GET_TIMER_CHECK_POINT).await? else { return Ok(()) };
    let theirs = CheckPoint::parse(&answer.body.bytes())?;
    let saving = Arc::clone(broker);
    on_thread(move || saving.timer.take_over(theirs)).await.map_err(|error| error.to_string())
}

/// What the master says of its timer wheel, where it has one and this broker may have one.
async fn ask_timer(broker: &Broker, master: &str, code: RequestCode) -> Result<Option<Command>, String> {
    if !broker.settings().store.timer_wheel_enable {
        return Ok(None);
    }
    let answer = broker.client.call(master, Command::request(code), super::TIMEOUT).await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(Some(answer).filter(|answer| answer.response_code() == ResponseCode::SUCCESS))
}

pub(super) fn parse<T: DeserializeOwned>(answer: &Command) -> Result<T, String> {
    json::from_slice(&answer.body.bytes()).map_err(|error| error.to_string())
}
