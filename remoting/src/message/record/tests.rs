use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::message::sys_flag::{BORN_HOST_V6, STORE_HOST_V6};

fn draft() -> Draft<'static> {
    Draft {
        topic: "Topic",
        queue_id: 3,
        flag: 7,
        sys_flag: 0x8,
        born_timestamp: 1,
        born_host: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 40000),
        store_host: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 10911),
        reconsume_times: 2,
        prepared_transaction_offset: 99,
        body: b"body",
        body_crc: None,
        properties: b"TAGS\x01a\x02",
    }
}

const PLACE: Placement = Placement { queue_offset: 5, physical_offset: 1234, store_timestamp: 42 };

fn encoded(draft: &Draft<'_>, property_crc: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    draft.encode(&mut bytes, property_crc).unwrap();
    assert_eq!(bytes.len(), draft.encoded_len(property_crc));
    PLACE.write(&mut bytes, property_crc);
    bytes
}

#[test]
fn every_byte_is_where_the_layout_says() {
    let bytes = encoded(&draft(), false);
    let mut expected = Vec::new();
    expected.extend_from_slice(&107_i32.to_be_bytes());
    expected.extend_from_slice(&MAGIC_V1.to_be_bytes());
    expected.extend_from_slice(&crc(b"body").to_be_bytes());
    expected.extend_from_slice(&[0, 0, 0, 3, 0, 0, 0, 7]);
    expected.extend_from_slice(&5_i64.to_be_bytes());
    expected.extend_from_slice(&1234_i64.to_be_bytes());
    expected.extend_from_slice(&8_i32.to_be_bytes());
    expected.extend_from_slice(&1_i64.to_be_bytes());
    expected.extend_from_slice(&[127, 0, 0, 1, 0, 0, 0x9C, 0x40]);
    expected.extend_from_slice(&42_i64.to_be_bytes());
    expected.extend_from_slice(&[10, 0, 0, 1, 0, 0, 0x2A, 0x9F]);
    expected.extend_from_slice(&2_i32.to_be_bytes());
    expected.extend_from_slice(&99_i64.to_be_bytes());
    expected.extend_from_slice(b"\0\0\0\x04body\x05Topic\0\x07TAGS\x01a\x02");
    assert_eq!(bytes, expected);
}

#[test]
fn a_long_topic_makes_the_second_version() {
    for (length, magic) in [(127, MAGIC_V1), (128, MAGIC_V2), (255, MAGIC_V2)] {
        let topic = "t".repeat(length);
        let bytes = encoded(&Draft { topic: &topic, ..draft() }, false);
        assert_eq!(bytes[4..8], magic.to_be_bytes());
        assert_eq!(Record::parse(&bytes).unwrap().topic, topic);
    }
}

#[test]
fn hosts_of_both_kinds() {
    let v6: SocketAddr = "[2001:db8::1]:9".parse().unwrap();
    let mapped: SocketAddr = "[::ffff:10.0.0.1]:10911".parse().unwrap();
    let bytes = encoded(&Draft { born_host: v6, store_host: mapped, sys_flag: STORE_HOST_V6, ..draft() }, false);
    let record = Record::parse(&bytes).unwrap();
    assert_eq!((record.sys_flag, record.born_host, record.store_host), (BORN_HOST_V6, v6, draft().store_host));
    assert_eq!(record.store_timestamp, 42);
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let long = vec![b'a'; 32768];
    let topic = "t".repeat(32768);
    let mut bytes = vec![1];
    let properties = Draft { properties: &long, ..draft() };
    assert_eq!(properties.encode(&mut bytes, false), Err(DraftError::PropertiesTooLong(32768)));
    let properties = Draft { properties: &long[..32748], ..draft() };
    assert_eq!(properties.encode(&mut bytes, true), Err(DraftError::PropertiesTooLong(32768)));
    let topic = Draft { topic: &topic, ..draft() };
    assert_eq!(topic.encode(&mut bytes, false), Err(DraftError::TopicTooLong(32768)));
    assert_eq!(bytes, [1]);
}

#[test]
fn checksums_find_changes() {
    let plain = encoded(&draft(), false);
    assert_eq!(Record::parse(&plain).unwrap().verify(false), Ok(()));
    assert_eq!(Record::parse(&plain).unwrap().verify(true), Err(RecordError::NoPropertyCrc));
    let bytes = encoded(&draft(), true);
    assert_eq!(Record::parse(&bytes).unwrap().verify(true), Ok(()));
    for at in 8..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let found = Record::parse(&damaged).and_then(|record| record.verify(true));
        assert!(found.is_err(), "byte {at}");
    }
}

#[test]
fn blanks_and_other_bytes_are_told_apart() {
    let blank = [&100_i32.to_be_bytes()[..], &MAGIC_BLANK.to_be_bytes(), &[0; 92]].concat();
    assert_eq!(Entry::read(&blank), Ok(Entry::Blank(100)));
    assert_eq!(Entry::read(&[0; 8]), Err(RecordError::Magic(0)));
    assert_eq!(Entry::read(&[0; 7]), Err(RecordError::Incomplete { needed: 8, available: 7 }));
    let bytes = encoded(&draft(), false);
    assert_eq!(Entry::read(&bytes[..100]), Err(RecordError::Incomplete { needed: 107, available: 100 }));
    for size in [-1, 0, 90, i32::MIN] {
        let mut damaged = bytes.clone();
        damaged[..4].copy_from_slice(&i32::to_be_bytes(size));
        assert_eq!(Entry::read(&damaged), Err(RecordError::Size(size)));
    }
}

#[test]
fn a_damaged_body_is_told_from_a_good_one_after_it_was_stored_once_more() {
    for damage in [0, 1] {
        let mut first = encoded(&draft(), false);
        let body = first.len() - "body\x05Topic\0\x07TAGS\x01a\x02".len();
        first[body] ^= damage;
        let again = encoded(&Record::parse(&first).unwrap().draft(), true);
        assert_eq!(Record::parse(&again).unwrap().verify(true).is_ok(), damage == 0);
    }
}

proptest! {
    #[test]
    fn decodes_what_it_encoded(
        queue_id: i32, flag: i32, sys_flag: i32, born_timestamp: i64, born_port: u16,
        v6: [bool; 2], reconsume_times: i32, prepared_transaction_offset: i64,
        body in proptest::collection::vec(any::<u8>(), 0..100),
        topic in "[a-zA-Z%_-]{0,150}",
        properties in proptest::collection::vec(any::<u8>(), 0..100),
        property_crc: bool,
    ) {
        let host = |v6: bool, port| SocketAddr::new(if v6 { "2001:db8::7".parse().unwrap() } else { "10.1.2.3".parse().unwrap() }, port);
        let draft = Draft {
            topic: &topic, queue_id, flag, sys_flag, born_timestamp, born_host: host(v6[0], born_port),
            store_host: host(v6[1], 10911), reconsume_times, prepared_transaction_offset, body: &body, body_crc: None,
            properties: &properties,
        };
        let mut bytes = encoded(&draft, property_crc);
        let size = bytes.len();
        bytes.extend_from_slice(&encoded(&draft, property_crc));
        let records: Vec<_> = entries(&bytes).map(Result::unwrap).collect();
        prop_assert_eq!(records.len(), 2);
        let record = records[0];
        prop_assert_eq!(record.as_bytes(), &bytes[..size]);
        prop_assert_eq!(record.verify(property_crc), Ok(()));
        prop_assert_eq!((record.topic, record.body), (topic.as_str(), body.as_slice()));
        prop_assert!(record.properties.as_bytes().starts_with(&properties));
        prop_assert_eq!((record.queue_id, record.flag, record.born_timestamp), (queue_id, flag, born_timestamp));
        prop_assert_eq!((record.born_host, record.store_host), (draft.born_host, draft.store_host));
        prop_assert_eq!((record.queue_offset, record.physical_offset, record.store_timestamp), (5, 1234, 42));
        prop_assert_eq!((record.reconsume_times, record.prepared_transaction_offset), (reconsume_times, prepared_transaction_offset));
        prop_assert_eq!(record.end(), 1234 + size as i64);
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), head: bool) {
        if head && bytes.len() >= 8 {
            let size = bytes.len() as i32;
            bytes[..4].copy_from_slice(&size.to_be_bytes());
            bytes[4..8].copy_from_slice(&MAGIC_V1.to_be_bytes());
        }
        for record in entries(&bytes).flatten() {
            let _ = record.verify(true);
        }
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0usize..107, value: u8) {
        let mut bytes = encoded(&draft(), false);
        bytes[at] = value;
        if let Ok(record) = Record::parse(&bytes) {
            let _ = record.verify(false);
        }
    }
}
