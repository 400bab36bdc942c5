//! Consume queue units as they are: code 321.

use std::fmt::Write as _;

use apogee_remoting::protocol::query::{
    ConsumeQueueData, QueryConsumeQueueRequestHeader, QueryConsumeQueueResponseBody,
};
use apogee_remoting::{Command, ResponseCode, json};
use apogee_store::queue::{ExtensionUnit, Unit};

use crate::Broker;
use crate::answer::{Answer, NOT_SET, Refusal};

/// Units of a queue from an index on, what their extension holds, what a group wants of the topic, and which units may pass
/// its filter (321). It may wait for the disk.
pub(crate) fn units(broker: &Broker, request: &Command) -> Answer {
    let header: QueryConsumeQueueRequestHeader<'_> = request.header()?;
    let (topic, queue_id, index) = (header.topic.unwrap_or_default(), header.queue_id, header.index);
    if !broker.store.queue_ids(topic).contains(&queue_id) {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, format!("{queue_id}@{topic} is not exist!")));
    }
    let (min, max) = (broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id));
    let answer = Command::response(ResponseCode::SUCCESS);
    if !(min..max).contains(&index) {
        return Ok(answer.with_remark(format!("Index {index} of {queue_id}@{topic} is not exist!")));
    }
    let mut body = QueryConsumeQueueResponseBody {
        max_queue_index: max,
        min_queue_index: min,
        ..QueryConsumeQueueResponseBody::default()
    };
    let (mut subscription, mut filter) = (None, None);
    if let Some(name) = header.consumer_group {
        subscription = broker.consumers.group(name).and_then(|group| group.subscription(topic));
        body.subscription_data = subscription.as_ref().map(|subscription| subscription.data.clone());
        body.filter_data = Some(if subscription.is_some() {
            filter = broker.filters.get(topic, name);
            let written = filter.as_ref().map(|filter| json::to_vec_pretty(&filter.written()));
            written.map_or_else(|| "null".to_owned(), |text| String::from_utf8_lossy(&text).into_owned())
        } else {
            format!("{name}@{topic} is not online!")
        });
    }
    let may_pass = |message: &ExtensionUnit| match subscription.as_ref().map(|subscription| &subscription.tags) {
        Some(Some(tags)) => tags.matches(message.tags_code),
        Some(None) => filter.as_ref().is_none_or(|filter| filter.may_pass(message)),
        None => false,
    };
    let count = usize::try_from(header.count).unwrap_or(0);
    let units = broker.store.extended_units(topic, queue_id, index, count)?;
    body.queue_data = Some(units.into_iter().map(|(_, unit, extension)| data(unit, extension, may_pass)).collect());
    Ok(answer.with_remark(NOT_SET).with_body(json::to_vec(&body)))
}

fn data(unit: Unit, extension: Option<ExtensionUnit>, may_pass: impl Fn(&ExtensionUnit) -> bool) -> ConsumeQueueData {
    let mut data = ConsumeQueueData {
        physic_offset: unit.physical_offset,
        physic_size: unit.size,
        tags_code: unit.tags_code,
        ..ConsumeQueueData::default()
    };
    if let Some(extension) = extension {
        data.eval = may_pass(&extension);
        data.extend_data_json = Some(as_json(&extension));
        data.bit_map = (!extension.bit_map.is_empty()).then(|| bits(&extension.bit_map));
    } else if unit.extension_address().is_some() {
        data.msg = Some(format!("Cq extend not exist!addr: {}", unit.tags_code));
    }
    data
}

/// The entry of an extension as the reference shows it, with signed bytes.
fn as_json(extension: &ExtensionUnit) -> String {
    let ExtensionUnit { tags_code, store_timestamp, bit_map } = extension;
    let map: Vec<_> = bit_map.iter().map(|byte| byte.cast_signed().to_string()).collect();
    let map = if map.is_empty() { String::new() } else { format!("\"filterBitMap\":[{}],", map.join(",")) };
    let size = extension.stored_size();
    format!(r#"{{{map}"msgStoreTime":{store_timestamp},"size":{size},"tagsCode":{tags_code}}}"#)
}

/// Bits from the last to the first, eight bytes a line counted from the first.
fn bits(map: &[u8]) -> String {
    let mut text = String::with_capacity(map.len() * 9);
    for (at, byte) in map.iter().enumerate().rev() {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:08b}");
        if at % 8 == 0 {
            text.push('\n');
        }
    }
    text
}
