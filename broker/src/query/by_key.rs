//! Messages by key.

use apogee_remoting::protocol::query::{QueryMessageRequestHeader, QueryMessageResponseHeader};
use apogee_remoting::{Command, ResponseCode};
use apogee_store::{IndexKind, KeyQuery};

use crate::Broker;
use crate::answer::{Answer, Refusal};

/// The messages of a topic with a key (12).
pub(crate) fn by_key(broker: &Broker, request: &Command) -> Answer {
    let header: QueryMessageRequestHeader<'_> = request.header()?;
    let settings = broker.settings();
    let by_unique_key = header.unique_key == Some(true);
    let max = if by_unique_key { settings.store.default_query_max_num } else { header.max_num };
    let max = usize::try_from(max.min(settings.store.max_msgs_num_batch))
        .map_err(|_| Refusal::new(ResponseCode::SYSTEM_ERROR, format!("the field maxNum is negative: {max}")))?;
    // Keys and unique keys share a name space; only tags have one of their own.
    let kind = if !by_unique_key && header.index_type == Some("T") { IndexKind::Tag } else { IndexKind::Key };
    let found = broker.store.query_by_key(&KeyQuery {
        topic: header.topic,
        key: header.key,
        kind,
        max,
        begin: header.begin_timestamp,
        end: header.end_timestamp,
    })?;
    let indexed = QueryMessageResponseHeader {
        index_last_update_timestamp: found.last_update_time,
        index_last_update_phyoffset: found.last_update_offset,
    };
    if found.records.is_empty() {
        let remark = "can not find message, maybe time range not correct";
        return Ok(Command::error(ResponseCode::QUERY_NOT_FOUND, remark).with_header(&indexed));
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&indexed).with_body(found.records))
}
