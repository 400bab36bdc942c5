//! Requests about groups: codes 200, 201, 207, 225, 352 and 353.

use apogee_remoting::protocol::group::{
    DeleteSubscriptionGroupRequestHeader, GetAllSubscriptionGroupRequestHeader, GetAllSubscriptionGroupResponseHeader,
    GetSubscriptionGroupConfigRequestHeader, GroupForbidden, SubscriptionGroupConfig, SubscriptionGroupList,
    UpdateGroupForbiddenRequestHeader,
};
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::{Answer, NotDone, Refusal};
use crate::saved_table::Saving;
use crate::{names, topic};

/// Creates or changes a group (200).
pub(crate) fn update(broker: &Broker, request: &Command) -> Result<(Command, Saving), NotDone> {
    let config: SubscriptionGroupConfig = json::from_slice(&request.body.bytes())?;
    apply(broker, vec![config])
}

/// Creates or changes several groups (225), all or none.
pub(crate) fn update_list(broker: &Broker, request: &Command) -> Result<(Command, Saving), NotDone> {
    let body: SubscriptionGroupList = json::from_slice(&request.body.bytes())?;
    apply(broker, body.group_config_list)
}

/// Deletes a group (207), with its offsets if the request says so.
pub(crate) fn delete(broker: &Broker, request: &Command) -> Answer {
    let header: DeleteSubscriptionGroupRequestHeader<'_> = request.header()?;
    broker.groups.remove(header.group_name)?;
    broker.stats.remove_group(header.group_name);
    if header.clean_offset {
        broker.offsets.remove_group(header.group_name);
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// All groups (201), whole or in pages.
pub(crate) fn get_all(broker: &Broker, request: &Command) -> Answer {
    let header: GetAllSubscriptionGroupRequestHeader<'_> = request.header()?;
    let settings = broker.settings();
    let mut body = broker.groups.snapshot();
    let total_group_num = body.subscription_group_table.len() as i32;
    let is_paged = header.group_seq.is_some() || header.max_group_num.is_some() || header.data_version.is_some();
    if settings.broker.enable_split_metadata && is_paged {
        let limit = header.max_group_num.unwrap_or(i32::MAX).min(settings.broker.split_metadata_size);
        let start = topic::page_start(header.group_seq, header.data_version, &body.data_version);
        let all = std::mem::take(&mut body.subscription_group_table);
        body.subscription_group_table = all.into_iter().skip(start).take(limit.max(0) as usize).collect();
        body.forbidden_table.retain(|group, _| body.subscription_group_table.contains_key(group));
    }
    let header = GetAllSubscriptionGroupResponseHeader { total_group_num: Some(total_group_num) };
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&header).with_body(json::to_vec(&body)))
}

/// One group (352).
pub(crate) fn get(broker: &Broker, request: &Command) -> Answer {
    let header: GetSubscriptionGroupConfigRequestHeader<'_> = request.header()?;
    let group = broker
        .groups
        .find_or_create(header.group, &broker.settings().broker)
        .ok_or(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker"))?;
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&*group)))
}

/// Forbids or allows a group to read a topic, or only says whether it may (353).
pub(crate) fn forbid(broker: &Broker, request: &Command) -> Answer {
    let header: UpdateGroupForbiddenRequestHeader<'_> = request.header()?;
    let (group, topic) = (header.group, header.topic);
    if let Some(readable) = header.readable {
        broker.groups.set_read_forbidden(group, topic, !readable)?;
    }
    let body = GroupForbidden {
        group: group.to_owned(),
        readable: Some(!broker.groups.is_read_forbidden(group, topic)),
        topic: topic.to_owned(),
    };
    // The empty remark is the reference's.
    Ok(Command::response(ResponseCode::SUCCESS).with_remark("").with_body(json::to_vec(&body)))
}

fn apply(broker: &Broker, configs: Vec<SubscriptionGroupConfig>) -> Result<(Command, Saving), NotDone> {
    for config in &configs {
        names::check_group(&config.group_name)
            .map_err(|remark| Refusal::new(ResponseCode::INVALID_PARAMETER, remark))?;
    }
    let saving = broker.groups.update(configs).map_err(|remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark))?;
    Ok((Command::response(ResponseCode::SUCCESS), saving))
}
