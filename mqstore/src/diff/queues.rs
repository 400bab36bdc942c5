//! Comparing queues: the units that lead into the common part of the log.

use std::collections::BTreeSet;

use apogee_store::queue::{Entry, Unit};

use super::{Common, Side};
use crate::error::Error;
use crate::output::Output;
use crate::queue::{Extension, QueueFiles, QueueReader};

/// Says where the first difference is.
pub(super) fn differ(a: &Side, b: &Side, common: Common, output: &mut Output) -> Result<bool, Error> {
    let (in_a, in_b) = (a.layout.queues()?, b.layout.queues()?);
    let topics: BTreeSet<_> = in_a.topics()?.into_iter().chain(in_b.topics()?).collect();
    for topic in topics {
        let mut queues = [in_a.ids(&topic)?, in_b.ids(&topic)?].concat();
        queues.sort_unstable_by_key(|(kind, id)| (kind.name(), *id));
        queues.dedup();
        for (kind, id) in queues {
            let units = |side: &Side, files: &QueueFiles| {
                let extension = Extension::open(&side.layout.root, &topic, id)?;
                Units::new(files.queue(kind, &topic, id)?, extension, common)
            };
            let mut units = [units(a, &in_a)?, units(b, &in_b)?];
            loop {
                let [found_a, found_b] = [units[0].next()?, units[1].next()?];
                if found_a != found_b {
                    output.line(format_args!(
                        "queue {topic} {id}: first difference: {} in A, {} in B",
                        show(found_a),
                        show(found_b)
                    ))?;
                    if let Some(entry) = found_a.or(found_b) {
                        output.line(format_args!("  {}", a.record_with(entry.unit.physical_offset)?))?;
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

fn show(found: Option<Entry>) -> String {
    let Some(Entry { offset, count, unit, .. }) = found else { return "no unit".to_owned() };
    let messages = if count > 1 { format!(", {count} messages") } else { String::new() };
    let Unit { physical_offset, size, tags_code } = unit;
    format!("offset {offset}{messages} leads to {physical_offset} ({size} bytes, tags code {tags_code})")
}

/// Units of a queue that lead into the common part, each with its own tags code.
struct Units {
    reader: QueueReader,
    extension: Extension,
    next: i64,
    end: i64,
    block: std::vec::IntoIter<Entry>,
    common: Common,
}

impl Units {
    fn new(reader: QueueReader, extension: Extension, common: Common) -> Result<Self, Error> {
        let end = reader.end()?;
        let next = reader.place_of_physical(common.from, end)?;
        Ok(Self { reader, extension, next, end, block: Vec::new().into_iter(), common })
    }

    fn next(&mut self) -> Result<Option<Entry>, Error> {
        while self.next < self.end {
            let Some(mut entry) = self.block.next() else {
                let entries = self.reader.read(self.next, AT_ONCE)?;
                if entries.is_empty() {
                    break;
                }
                self.block = entries.into_iter();
                continue;
            };
            self.next += 1;
            if entry.unit.is_record() && (self.common.from..self.common.to).contains(&entry.unit.physical_offset) {
                if let Some(place) = entry.unit.extension_address()
                    && let Some(extension) = self.extension.entry(place)?
                {
                    entry.unit.tags_code = extension.tags_code;
                }
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

const AT_ONCE: i64 = 3000;
