//! Taking up the transactions that a store holds.

use std::io;

use apogee_remoting::message::properties::key;
use apogee_remoting::message::record::Record;
use apogee_store::Store;

use super::halves::Halves;
use super::{GROUP, HALF_TOPIC, OP_HALF_TOPIC, QUEUE, notes};
use crate::offset::OffsetTable;

/// Reads the notes that still mean something, and which halves are copies of earlier ones.
pub(super) fn load(store: &Store, offsets: &OffsetTable) -> io::Result<Halves> {
    let checked = start(store, offsets, HALF_TOPIC);
    let first_note = start(store, offsets, OP_HALF_TOPIC);
    let mut halves = Halves::new(checked, first_note);
    each(store, OP_HALF_TOPIC, first_note, |offset, record| halves.found_note(offset, notes::read(record)))?;
    each(store, HALF_TOPIC, checked, |offset, record| {
        if let Some(original) = record.properties.get_number(key::TRAN_PREPARED_QUEUE_OFFSET) {
            halves.found_copy(original, offset);
        }
    })?;
    Ok(halves)
}

fn start(store: &Store, offsets: &OffsetTable, topic: &str) -> i64 {
    let (min, max) = (store.min_offset(topic, QUEUE), store.max_offset(topic, QUEUE));
    offsets.consumed(GROUP, topic, QUEUE).unwrap_or(min).min(max).max(min)
}

fn each(store: &Store, topic: &str, from: i64, mut act: impl FnMut(i64, &Record<'_>)) -> io::Result<()> {
    let mut next = from;
    loop {
        let units = store.units(topic, QUEUE, next, AT_ONCE)?;
        if units.is_empty() {
            return Ok(());
        }
        for (offset, unit) in units {
            next = offset + 1;
            // One that is gone or damaged says nothing.
            if let Some(bytes) = store.record_of(unit)?
                && let Ok(record) = Record::parse(&bytes)
            {
                act(offset, &record);
            }
        }
    }
}

const AT_ONCE: usize = 256;
