//! The delay levels of a store whose configuration is not given: as its units tell them, which say when a message is to be
//! delivered.

use std::collections::HashMap;

use apogee_remoting::message::record::Record;
use apogee_store::dispatch::DelayLevels;

use crate::error::Error;
use crate::layout::Layout;
use crate::log::Walk;
use crate::queue::{Extension, QueueFiles, QueueReader};

/// The default ones but for those that most units of a level tell.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn detected(layout: &Layout, queues: &QueueFiles) -> Result<DelayLevels, Error> {
    let mut levels = DelayLevels::default();
    for (kind, id) in queues.ids(TOPIC)? {
        let mut extension = Extension::open(&layout.root, TOPIC, id)?;
        if let Some(delay) = told(layout, &queues.queue(kind, TOPIC, id)?, &mut extension)? {
            levels.set(id.saturating_add(1), delay);
        }
    }
    Ok(levels)
}

/// The delay that most of the last units of a queue tell, ms.
fn told(layout: &Layout, queue: &QueueReader, extension: &mut Extension) -> Result<Option<i64>, Error> {
    let log = layout.log()?;
    let mut walk = Walk::whole(&log);
    let end = queue.end()?;
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for place in (end - MOST).max(queue.first())..end {
        let Some(unit) = queue.entry(place)?.map(|entry| entry.unit) else { continue };
        let Ok(bytes) = walk.record_at(unit.physical_offset)? else { continue };
        let Ok(record) = Record::parse(&bytes) else { continue };
        let delivery = match unit.extension_address() {
            Some(address) => extension.entry(address)?.map_or(0, |entry| entry.tags_code),
            None => unit.tags_code,
        };
        let delay = delivery.saturating_sub(record.store_timestamp);
        // a level is counted in seconds; a recovery of 4.9.4 writes no time at all
        if record.topic == TOPIC && delay > 0 && delay % 1000 == 0 {
            *counts.entry(delay).or_default() += 1;
        }
    }
    Ok(counts.into_iter().max_by_key(|(delay, count)| (*count, *delay)).map(|(delay, _)| delay))
}

const TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// Units looked at in each queue.
const MOST: i64 = 16;
