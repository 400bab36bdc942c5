//! Comparing queues: the units that lead into the common part of the log.

use std::collections::BTreeSet;

use apogee_store::queue::Unit;

use super::{Common, Side};
use crate::error::Error;
use crate::output::Output;
use crate::queue::QueueReader;

/// Says where the first difference is.
pub(super) fn differ(a: &Side, b: &Side, common: Common, output: &mut Output) -> Result<bool, Error> {
    let (in_a, in_b) = (a.layout.queues()?, b.layout.queues()?);
    let topics: BTreeSet<_> = in_a.topics()?.into_iter().chain(in_b.topics()?).collect();
    for topic in topics {
        let ids: BTreeSet<_> = in_a.ids(&topic)?.into_iter().chain(in_b.ids(&topic)?).collect();
        for id in ids {
            let mut units =
                [Units::new(in_a.queue(&topic, id)?, common)?, Units::new(in_b.queue(&topic, id)?, common)?];
            loop {
                let [found_a, found_b] = [units[0].next()?, units[1].next()?];
                if found_a != found_b {
                    output.line(format_args!(
                        "queue {topic} {id}: first difference: {} in A, {} in B",
                        show(found_a),
                        show(found_b)
                    ))?;
                    if let Some((_, unit)) = found_a.or(found_b) {
                        output.line(format_args!("  {}", a.record_with(unit.physical_offset)?))?;
                    }
                    return Ok(true);
                }
                if found_a.is_none() {
                    break;
                }
            }
        }
    }
    Ok(false)
}

fn show(found: Option<(i64, Unit)>) -> String {
    match found {
        None => "no unit".to_owned(),
        Some((offset, Unit { physical_offset, size, tags_code })) => {
            format!("offset {offset} leads to {physical_offset} ({size} bytes, tags code {tags_code})")
        }
    }
}

/// Units of a queue that lead into the common part.
struct Units {
    reader: QueueReader,
    next: i64,
    max: i64,
    block: std::vec::IntoIter<Unit>,
    common: Common,
}

impl Units {
    fn new(reader: QueueReader, common: Common) -> Result<Self, Error> {
        let max = reader.max_offset()?;
        let next = reader.offset_of(common.from, max)?;
        Ok(Self { reader, next, max, block: Vec::new().into_iter(), common })
    }

    fn next(&mut self) -> Result<Option<(i64, Unit)>, Error> {
        while self.next < self.max {
            let Some(unit) = self.block.next() else {
                let units = self.reader.read(self.next, AT_ONCE)?;
                if units.is_empty() {
                    break;
                }
                self.block = units.into_iter();
                continue;
            };
            self.next += 1;
            if unit.is_record() && (self.common.from..self.common.to).contains(&unit.physical_offset) {
                return Ok(Some((self.next - 1, unit)));
            }
        }
        Ok(None)
    }
}

const AT_ONCE: i64 = 3000;
