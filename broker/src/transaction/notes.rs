//! Notes of which halves ended.

use apogee_config::BrokerSettings;
use apogee_remoting::message::record::{Draft, Record};
use apogee_store::AppendError;

use super::halves::Halves;
use super::{OP_HALF_TOPIC, QUEUE};
use crate::Broker;

/// Writes down the ends that are not noted yet, in messages of about `transactionOpMsgMaxSize` bytes.
///
/// # Errors
/// The store refuses; what is not written stays for another try.
pub(super) fn write(broker: &Broker, halves: &mut Halves) -> Result<(), AppendError> {
    let limit = size_limit(&broker.settings());
    while !halves.unwritten().is_empty() {
        let (count, body) = body(halves.unwritten(), limit);
        let appended = broker.store.append(&Draft {
            topic: OP_HALF_TOPIC,
            queue_id: QUEUE,
            flag: 0,
            sys_flag: 0,
            born_timestamp: broker.now(),
            born_host: broker.store_host,
            store_host: broker.store_host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: &body,
            body_crc: None,
            properties: PROPERTIES,
        })?;
        broker.stats.stored(OP_HALF_TOPIC, 1, appended.size);
        halves.noted(count, appended.queue_offset);
    }
    Ok(())
}

/// Whether there is enough for a message.
pub(super) fn are_full(settings: &BrokerSettings, halves: &Halves) -> bool {
    halves.unwritten().len() * LEAST_DIGITS >= size_limit(settings)
}

/// The halves that a note lists.
pub(super) fn read<'a>(record: &Record<'a>) -> impl Iterator<Item = i64> + use<'a> {
    // Notes of 4.x list one half, without a comma.
    let body = std::str::from_utf8(record.body).unwrap_or_default();
    body.split(',').filter_map(|half| half.parse().ok())
}

/// The first of these halves, about `limit` bytes of them.
fn body(halves: &[i64], limit: usize) -> (usize, Vec<u8>) {
    let mut body = Vec::with_capacity(limit.min(halves.len() * 8));
    let mut count = 0;
    for half in halves {
        if count > 0 && body.len() >= limit {
            break;
        }
        body.extend_from_slice(itoa::Buffer::new().format(*half).as_bytes());
        body.push(b',');
        count += 1;
    }
    (count, body)
}

fn size_limit(settings: &BrokerSettings) -> usize {
    usize::try_from(settings.broker.transaction_op_msg_max_size).unwrap_or(0)
}

const PROPERTIES: &[u8] = b"WAIT\x01true\x02TAGS\x01d\x02";
/// A digit and a comma.
const LEAST_DIGITS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_lists_halves_up_to_its_size() {
        assert_eq!(body(&[0, 1, 25], 4096), (3, b"0,1,25,".to_vec()));
        assert_eq!(body(&[100, 200, 300], 5), (2, b"100,200,".to_vec()));
        assert_eq!(body(&[100, 200], 0), (1, b"100,".to_vec()));
    }
}
