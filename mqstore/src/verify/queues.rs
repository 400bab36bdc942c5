//! Records against queue units, and units against records.
//!
//! Every record of the log is looked for in its queue. A unit that no record claimed is then found by counting, and only
//! queues where the count does not come out are looked at unit by unit.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use apogee_remoting::json;
use apogee_remoting::message::record::Record;
use apogee_store::queue::Unit;
use serde_json::Value;

use super::extension;
use super::report::Report;
use crate::error::Error;
use crate::expected::{Place, Rules};
use crate::log::{LogFiles, Walk};
use crate::queue::{QueueFiles, QueueReader};

/// The queues, as far as records led to them.
pub(super) struct QueueCheck<'a> {
    root: &'a Path,
    files: &'a QueueFiles,
    rules: &'a Rules,
    unclean: bool,
    queues: HashMap<String, HashMap<i32, Queue>>,
    /// Blocks of units in memory.
    blocks: usize,
    /// Records of topics without queues.
    unqueued: BTreeMap<String, u64>,
    /// Records that a topic of the same name had before it was deleted.
    former: u64,
}

/// A queue while the log is walked.
struct Queue {
    reader: QueueReader,
    max: i64,
    /// Physical offset of its record 0, -1 when it has it no more: records before it are of a former life of the topic.
    begins: i64,
    block: Vec<Unit>,
    block_at: i64,
    /// Units that records claimed.
    claimed: u64,
}

impl<'a> QueueCheck<'a> {
    pub(super) fn new(root: &'a Path, files: &'a QueueFiles, rules: &'a Rules, unclean: bool) -> Self {
        let (queues, unqueued) = (HashMap::new(), BTreeMap::new());
        Self { root, files, rules, unclean, queues, blocks: 0, unqueued, former: 0 }
    }

    /// Looks for the units of a record.
    pub(super) fn record(&mut self, record: &Record<'_>, report: &mut Report) -> Result<(), Error> {
        for place in self.rules.places(record) {
            self.claim(&place, record, report)?;
        }
        Ok(())
    }

    fn claim(&mut self, place: &Place<'_>, record: &Record<'_>, report: &mut Report) -> Result<(), Error> {
        let Place { topic, queue_id, offset, unit: expected } = *place;
        let (root, unclean) = (self.root, self.unclean);
        if let Some(count) = self.unqueued.get_mut(topic) {
            *count += 1;
            return Ok(());
        }
        self.make_room();
        let Some(queue) = self.queue(topic, queue_id)? else {
            self.unqueued.insert(topic.to_owned(), 1);
            return Ok(());
        };
        let loaded = queue.block.is_empty();
        let found = queue.unit(offset)?;
        let loads = usize::from(loaded && !queue.block.is_empty());
        if let Some(found) = found
            && (found.physical_offset, found.size) == (expected.physical_offset, expected.size)
        {
            queue.claimed += 1;
            let code = match found.extension_address() {
                None => Some((found.tags_code, record.store_timestamp)),
                Some(address) => extension::entry(root, topic, queue_id, address),
            };
            if code != Some((expected.tags_code, record.store_timestamp)) {
                let place = queue.place(offset);
                let text =
                    format!("{place}: tags code {}, by the record it is {}", found.tags_code, expected.tags_code);
                report.problem("queue", text)?;
            }
        } else if record.physical_offset < queue.begins {
            self.former += 1;
        } else if offset >= queue.max && unclean {
            report.pending("records that are put into their queues", 1);
        } else {
            let at = record.physical_offset;
            let instead = match found.filter(|unit| unit.is_written()) {
                Some(found) => format!("leads to {} ({} bytes), not", found.physical_offset, found.size),
                None => "does not lead".to_owned(),
            };
            let text = format!("{}: {instead} to the record at {at} ({} bytes)", queue.place(offset), expected.size);
            report.problem("queue", text)?;
        }
        self.blocks += loads;
        Ok(())
    }

    /// The queue, when its topic has one.
    fn queue(&mut self, topic: &str, queue_id: i32) -> Result<Option<&mut Queue>, Error> {
        if !self.queues.get(topic).is_some_and(|queues| queues.contains_key(&queue_id)) {
            // a topic is a name of a directory
            let is_name = !topic.contains('/') && topic != "." && topic != "..";
            let has_queues = is_name && !self.files.ids(topic)?.is_empty();
            if !has_queues {
                return Ok(None);
            }
            let reader = self.files.queue(topic, queue_id)?;
            let max = reader.max_offset()?;
            // an empty queue begins before everything
            let begins = reader.unit(0)?.filter(|unit| unit.is_record()).map_or(-1, |unit| unit.physical_offset);
            let queue = Queue { reader, max, begins, block: Vec::new(), block_at: 0, claimed: 0 };
            self.queues.entry(topic.to_owned()).or_default().insert(queue_id, queue);
        }
        Ok(self.queues.get_mut(topic).and_then(|queues| queues.get_mut(&queue_id)))
    }

    /// Forgets the blocks in memory when they have become many: of a hundred thousand queues each has its turn.
    fn make_room(&mut self) {
        if self.blocks >= MOST_BLOCKS {
            self.blocks = 0;
            for queue in self.queues.values_mut().flat_map(HashMap::values_mut) {
                queue.block = Vec::new();
            }
        }
    }

    /// Once the log was walked to its end: looks for units that lead nowhere.
    pub(super) fn finish(mut self, log: &LogFiles, log_end: i64, report: &mut Report) -> Result<(), Error> {
        let (log_min, files) = (log.min_offset(), self.files);
        let (mut count, mut units) = (0_u64, 0_u64);
        files.for_each(|topic, id, reader| {
            count += 1;
            for fault in reader.faults() {
                report.problem("queue", fault)?;
            }
            let claimed = self.queues.get(topic).and_then(|queues| queues.get(&id)).map_or(0, |queue| queue.claimed);
            let mut leading = 0;
            let mut ended = false;
            reader.for_each(|offset, unit| {
                if unit.is_record() && unit.physical_offset >= log_min {
                    leading += 1;
                }
                let is_zero = unit == Unit { physical_offset: 0, size: 0, tags_code: 0 };
                let fault = match () {
                    () if unit.is_written() && ended => "a unit behind the end of the queue",
                    () if !unit.is_written() && !is_zero => "no unit",
                    () => "",
                };
                ended |= !unit.is_written();
                if fault.is_empty() {
                    return Ok(());
                }
                let (path, byte) = (reader.path_of(offset), reader.byte_of(offset));
                report.problem("queue", format_args!("{} byte {byte}: {fault}", path.display()))
            })?;
            units += leading;
            if leading != claimed {
                self.each_unit(log, log_end, topic, id, &reader, report)?;
            }
            Ok(())
        })?;
        report.line(format_args!("queues: {count} with {units} units"))?;
        self.without_queues(report)?;
        if self.former > 0 {
            report.line(format_args!("{} records of topics that were deleted and made again", self.former))?;
        }
        self.queues.clear();
        Ok(())
    }

    fn each_unit(
        &self,
        log: &LogFiles,
        log_end: i64,
        topic: &str,
        id: i32,
        reader: &QueueReader,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut walk = Walk::new(log, log.min_offset(), log_end);
        reader.for_each(|offset, unit| {
            if !unit.is_record() || unit.physical_offset < log.min_offset() {
                return Ok(());
            }
            let why = if unit.end() > log_end {
                format!("behind the end of the log, {log_end}")
            } else {
                match walk.record_at(unit.physical_offset)? {
                    Err(why) => why,
                    Ok(bytes) => match Record::parse(&bytes) {
                        Ok(record) if self.is_of(&record, topic, id, offset, unit) => return Ok(()),
                        _ => "the record there is not of this place".to_owned(),
                    },
                }
            };
            let (path, byte, to) = (reader.path_of(offset), reader.byte_of(offset), unit.physical_offset);
            report.problem("queue", format_args!("{} byte {byte}: leads to {to}: {why}", path.display()))
        })
    }

    fn is_of(&self, record: &Record<'_>, topic: &str, id: i32, offset: i64, unit: Unit) -> bool {
        let is_here = |place: &Place<'_>| (place.topic, place.queue_id, place.offset) == (topic, id, offset);
        self.rules.places(record).iter().any(|place| is_here(place) && place.unit.size == unit.size)
    }

    /// What it means that topics have records and no queues.
    fn without_queues(&mut self, report: &mut Report) -> Result<(), Error> {
        let unqueued = std::mem::take(&mut self.unqueued);
        let (known, batch) = (topics_of(self.root), batch_topics_of(self.root)?);
        for (topic, count) in unqueued {
            if batch.contains(&topic) {
                report
                    .line(format_args!("{count} records of {topic}, which has batch queues: these are not checked"))?;
            } else if !self.files.exist() || self.unclean {
                report.pending("records that are put into their queues", count);
            } else if known.as_ref().is_some_and(|known| known.contains(&topic)) {
                report.problem("queue", format_args!("topic {topic} has {count} records and no queue"))?;
            } else {
                report.line(format_args!("{count} records of {topic}, which was deleted"))?;
            }
        }
        Ok(())
    }
}

impl Queue {
    fn unit(&mut self, offset: i64) -> Result<Option<Unit>, Error> {
        if offset < 0 {
            return Ok(None);
        }
        let in_block =
            |queue: &Self| usize::try_from(offset - queue.block_at).ok().and_then(|n| queue.block.get(n).copied());
        if let Some(unit) = in_block(self) {
            return Ok(Some(unit));
        }
        self.block = self.reader.read(offset, BLOCK)?;
        self.block_at = offset;
        Ok(in_block(self))
    }

    fn place(&self, offset: i64) -> String {
        format!("{} byte {}", self.reader.path_of(offset).display(), self.reader.byte_of(offset))
    }
}

/// Names in topics.json; `None` when it cannot be read.
pub(crate) fn topics_of(root: &Path) -> Option<Vec<String>> {
    Some(topic_table(root)?.into_iter().map(|(name, _)| name).collect())
}

/// Names of the topics whose records are in batch queues: those that topics.json says to be so, and those that have some.
///
/// # Errors
/// A directory cannot be read.
pub(crate) fn batch_topics_of(root: &Path) -> Result<Vec<String>, Error> {
    let is_batch = |topic: &Value| topic["attributes"]["queue.type"] == "BatchCQ";
    let mut topics = crate::queue::directories(&root.join("batchconsumequeue"))?;
    topics.extend(topic_table(root).into_iter().flatten().filter(|(_, topic)| is_batch(topic)).map(|(name, _)| name));
    Ok(topics)
}

fn topic_table(root: &Path) -> Option<serde_json::Map<String, Value>> {
    let bytes = std::fs::read(root.join("config/topics.json")).ok()?;
    let mut table: Value = json::from_slice(&bytes).ok()?;
    match table.get_mut("topicConfigTable")?.take() {
        Value::Object(topics) => Some(topics),
        _ => None,
    }
}

/// Units read at once, and how many such blocks are kept: 64 MiB.
const BLOCK: i64 = 170;
const MOST_BLOCKS: usize = 16_384;
