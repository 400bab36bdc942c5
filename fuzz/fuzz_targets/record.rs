//! Stored records, of any bytes: read within their bounds, verified, written again to what they were.
#![no_main]

use apogee_remoting::message::record::{Draft, Entry, Placement, Record, entries};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Entry::Record(record)) = Entry::read(bytes) {
        assert!(record.size() <= bytes.len());
        let _ = (record.verify(false), record.verify(true), record.end());
        rewrite(&record, false);
        rewrite(&record, true);
    }
    let sizes = entries(bytes).map_while(Result::ok).map(|record| record.size());
    assert!(sizes.sum::<usize>() <= bytes.len());
});

fn rewrite(record: &Record<'_>, property_crc: bool) {
    let draft = Draft {
        topic: record.topic,
        queue_id: record.queue_id,
        flag: record.flag,
        sys_flag: record.sys_flag,
        born_timestamp: record.born_timestamp,
        born_host: record.born_host,
        store_host: record.store_host,
        reconsume_times: record.reconsume_times,
        prepared_transaction_offset: record.prepared_transaction_offset,
        body: record.body,
        body_crc: None,
        properties: record.properties.as_bytes(),
    };
    let mut written = Vec::new();
    if draft.encode(&mut written, property_crc).is_err() {
        assert!(written.is_empty() && property_crc, "what was stored can be stored");
        return;
    }
    assert_eq!(written.len(), draft.encoded_len(property_crc));
    let placement = Placement {
        queue_offset: record.queue_offset,
        physical_offset: record.physical_offset,
        store_timestamp: record.store_timestamp,
    };
    placement.write(&mut written, property_crc);
    let again = Record::parse(&written).expect("our own record");
    assert_eq!(again.verify(property_crc), Ok(()));
    assert_eq!((again.topic, again.body, again.flag), (record.topic, record.body, record.flag));
    assert_eq!((again.queue_offset, again.physical_offset), (record.queue_offset, record.physical_offset));
    assert_eq!((again.store_timestamp, again.born_timestamp), (record.store_timestamp, record.born_timestamp));
    assert_eq!(again.born_host.ip().to_canonical(), record.born_host.ip().to_canonical());
    assert!(again.properties.as_bytes().starts_with(record.properties.as_bytes()));
}
