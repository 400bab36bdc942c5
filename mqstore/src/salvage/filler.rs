//! Records that stand where damage was.

use std::net::{Ipv4Addr, SocketAddr};

use apogee_remoting::message::record::{Draft, LEAST_SIZE, PROPERTY_CRC_LENGTH, Placement};
use apogee_remoting::message::sys_flag::TRANSACTION_ROLLBACK;

/// Bytes of the record that fills the next part of `left` bytes; `None` when so few cannot be a record.
pub(super) fn part(left: usize) -> Option<usize> {
    if left > MOST + LEAST { Some(MOST) } else { (left > LEAST_SIZE).then_some(left) }
}

/// A record of `size` bytes that no queue and no index takes up. It carries a checksum over all of itself when it has room for it.
pub(super) fn record(size: usize, physical_offset: i64, store_timestamp: i64) -> Vec<u8> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut draft = Draft {
        topic: TOPIC,
        queue_id: 0,
        flag: 0,
        sys_flag: TRANSACTION_ROLLBACK,
        born_timestamp: store_timestamp,
        born_host: nowhere,
        store_host: nowhere,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: &[],
        body_crc: None,
        properties: &[],
    };
    let property_crc = size >= LEAST_SIZE + TOPIC.len() + PROPERTY_CRC_LENGTH;
    draft.topic = &TOPIC[..TOPIC.len().min(size - LEAST_SIZE)];
    let body = vec![0; size - draft.encoded_len(property_crc)];
    draft.body = &body;
    let mut bytes = Vec::new();
    draft.encode(&mut bytes, property_crc).expect("a short topic and no properties fit their fields");
    Placement { queue_offset: 0, physical_offset, store_timestamp }.write(&mut bytes, property_crc);
    bytes
}

const TOPIC: &str = "SALVAGED";
/// Most bytes of one of them: readers need not be ready for more than a large message.
const MOST: usize = 1 << 20;
/// What is left behind one can be a record.
const LEAST: usize = 256;

#[cfg(test)]
mod tests {
    use apogee_remoting::message::record::Record;

    use super::*;

    #[test]
    fn any_size_is_a_record_that_verifies() {
        assert_eq!((part(91), part(92), part(MOST + 300)), (None, Some(92), Some(MOST)));
        for size in (92..200).chain([5000]) {
            let bytes = record(size, 77, 5);
            let record = Record::parse(&bytes).unwrap();
            assert_eq!((record.size(), record.physical_offset, record.store_timestamp), (size, 77, 5));
            assert_eq!(record.verify(size >= 91 + 8 + 20), Ok(()));
        }
    }
}
