//! Each table on its own.

use std::sync::Arc;

use apogee_remoting::protocol::assignment::MessageRequestModeSerializeWrapper;
use apogee_remoting::protocol::group::{
    GetAllSubscriptionGroupRequestHeader, GetAllSubscriptionGroupResponseHeader, SubscriptionGroupWrapper,
};
use apogee_remoting::protocol::offset::{ConsumerOffsetSerializeWrapper, UpdateConsumerOffsetRequestHeader};
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
use crate::thread::on_thread;
use crate::timer::CheckPoint;
use crate::{Broker, schedule, tasks};

/// Topics (21).
pub(super) async fn topics(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
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
    let topic_config_table = pages.into_iter().flatten().collect();
    let saving = broker.topics.take_over(TopicConfigSerializeWrapper { data_version, topic_config_table });
    saving.done().await.map_err(|error| error.to_string())
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

/// Where groups are with queues (43). A master that was gone learns where they came with this slave meanwhile, as from a client (15).
pub(super) async fn offsets(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let answer = ask(broker, master, Command::request(RequestCode::GET_ALL_CONSUMER_OFFSET)).await?;
    let ahead = broker.offsets.take_over(parse::<ConsumerOffsetSerializeWrapper>(&answer)?);
    let saving = Arc::clone(broker);
    on_thread(move || tasks::save_offsets(&saving)).await;
    let mut result = Ok(());
    for Ahead { group, topic, queue_id, offset } in &ahead {
        let header = UpdateConsumerOffsetRequestHeader {
            consumer_group: group,
            topic,
            queue_id: *queue_id,
            commit_offset: *offset,
        };
        let request = Command::request(RequestCode::UPDATE_CONSUMER_OFFSET).with_header(&header);
        // One that refuses it knows better: the topic is gone, or the group was reset.
        if let Err(error) = broker.client.call(master, request, super::TIMEOUT).await {
            broker.offsets.note_committed_here(group, topic, *queue_id);
            result = Err(error.to_string());
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

/// How far the master's timer wheel is, and how many messages wait for it (60, 61). A master without a wheel answers errors.
pub(super) async fn timer(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    if !broker.settings().store.timer_wheel_enable {
        return Ok(());
    }
    let ask = async |code| {
        let answer = broker.client.call(master, Command::request(code), super::TIMEOUT).await;
        let answer = answer.map_err(|error| error.to_string())?;
        Ok::<_, String>(Some(answer).filter(|answer| answer.response_code() == ResponseCode::SUCCESS))
    };
    let check_point = match ask(RequestCode::GET_TIMER_CHECK_POINT).await? {
        Some(answer) => Some(CheckPoint::parse(&answer.body.bytes())?),
        None => None,
    };
    let metrics = ask(RequestCode::GET_TIMER_METRICS).await?;
    let metrics = metrics.as_ref().map(parse::<TimerMetricsSerializeWrapper>).transpose()?;
    let saving = Arc::clone(broker);
    let saved = on_thread(move || {
        check_point.map_or(Ok(()), |theirs| saving.timer.take_over(theirs))?;
        metrics.map_or(Ok(()), |theirs| saving.timer.take_over_metrics(&theirs))
    });
    saved.await.map_err(|error| error.to_string())
}

pub(super) fn parse<T: DeserializeOwned>(answer: &Command) -> Result<T, String> {
    json::from_slice(&answer.body.bytes()).map_err(|error| error.to_string())
}
