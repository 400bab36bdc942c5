//! How old a group's messages are: code 303.

use apogee_remoting::protocol::stats::{QueryConsumeTimeSpanBody, QueryConsumeTimeSpanRequestHeader, QueueTimeSpan};
use apogee_remoting::{Command, ResponseCode, json};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::queue;
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// When the oldest, the newest and the last consumed message of each queue were stored, and how far the group is
/// behind (303). A time that does not exist is -1; a group that consumed nothing is behind by the age of the oldest message. It may
/// wait for the disk.
pub(crate) fn time_span(broker: &Broker, request: &Command) -> Answer {
    let header: QueryConsumeTimeSpanRequestHeader<'_> = request.header()?;
    let (topic, group) = (header.topic, header.group);
    let config = broker
        .topics
        .get(topic)
        .ok_or_else(|| Refusal::new(ResponseCode::TOPIC_NOT_EXIST, format!("topic[{topic}] not exist")))?;
    let spans: Result<_, Refusal> =
        (0..config.write_queue_nums).map(|queue_id| span(broker, group, topic, queue_id)).collect();
    let body = QueryConsumeTimeSpanBody { consume_time_span_set: spans? };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

fn span(broker: &Broker, group: &str, topic: &str, queue_id: i32) -> Result<QueueTimeSpan, Refusal> {
    let store_time = |offset| broker.store.store_time(topic, queue_id, offset);
    let consumed = broker.offsets.consumed(group, topic, queue_id).unwrap_or(-1);
    let next = consumed.max(broker.store.min_offset(topic, queue_id));
    let end = broker.store.max_offset(topic, queue_id);
    let oldest = broker.store.earliest_time(topic, queue_id)?;
    let newest = store_time(end - 1)?;
    let last_consumed = if consumed > 0 { store_time(consumed - 1)? } else { oldest };
    Ok(QueueTimeSpan {
        consume_time_stamp: last_consumed,
        consume_time_stamp_str: text(last_consumed),
        delay_time: if next < end { broker.now() - store_time(next)? } else { 0 },
        max_time_stamp: newest,
        max_time_stamp_str: text(newest),
        message_queue: queue(broker, topic, queue_id),
        min_time_stamp: oldest,
        min_time_stamp_str: text(oldest),
    })
}

/// A time (ms) as the reference writes it, in local time.
fn text(time: i64) -> String {
    let time = Timestamp::from_millisecond(time).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d#%H:%M:%S:%3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds() {
        let text = text(1_700_000_000_007);
        assert!(text.contains('#') && text.ends_with(":20:007"), "{text}");
    }
}
