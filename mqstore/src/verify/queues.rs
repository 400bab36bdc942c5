//! Records against queue units, and units against records.
//!
//! Every record of the log is looked for in its queue. A unit that no record claimed is then found by counting, and only
//! queues where the count does not come out are looked at unit by unit.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use apogee_remoting::message::record::Record;
use apogee_store::QueueKind;
use apogee_store::queue::{Entry, Unit};

use super::report::Report;
use crate::error::Error;
use crate::expected::{Place, Rules};
use crate::log::{LogFiles, Walk};
use crate::queue::{Extension, QueueFiles, QueueReader};

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
    extension: Extension,
    /// Place behind its last unit, and offset behind its last message.
    end: i64,
    max: i64,
    /// Physical offset of its record 0, -1 when it has it no more: records before it are of a former life of the topic.
    begins: i64,
    block: Vec<Entry>,
    block_at: i64,
    /// Place behind the unit found last.
    next: i64,
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
        let Place { topic, queue_id, entry: expected } = *place;
        let unclean = self.unclean;
        let is_former = self.rules.is_of_deleted(topic, record.physical_offset);
        if let Some(count) = self.unqueued.get_mut(topic).filter(|_| !is_former) {
            *count += 1;
            return Ok(());
        }
        self.make_room();
        let Some(queue) = self.queue(topic, queue_id)? else {
            if is_former {
                self.former += 1;
            } else {
                self.unqueued.insert(topic.to_owned(), 1);
            }
            return Ok(());
        };
        let loaded = queue.block.is_empty();
        let (at, found) = queue.find(expected.offset)?;
        let loads = usize::from(loaded && !queue.block.is_empty());
        if let Some(found) = found
            && (found.unit.physical_offset, found.unit.size) == (expected.unit.physical_offset, expected.unit.size)
        {
            queue.claimed += 1;
            if let Some(fault) = queue.difference(found, expected)? {
                report.problem("queue", format_args!("{}: {fault}", queue.place(at)))?;
            }
        } else if is_former || record.physical_offset < queue.begins {
            self.former += 1;
        } else if expected.offset >= queue.max && unclean {
            report.pending("records that are put into their queues", 1);
        } else {
            let to = record.physical_offset;
            let instead = match found.map(|found| found.unit).filter(|unit| unit.is_written()) {
                Some(found) => format!("leads to {} ({} bytes), not", found.physical_offset, found.size),
                None => "does not lead".to_owned(),
            };
            let text = format!("{}: {instead} to the record at {to} ({} bytes)", queue.place(at), expected.unit.size);
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
            let Some((kind, _)) =
                is_name.then(|| self.files.ids(topic)).transpose()?.and_then(|ids| ids.first().copied())
            else {
                return Ok(None);
            };
            let reader = self.files.queue(kind, topic, queue_id)?;
            let extension = Extension::open(self.root, topic, queue_id)?;
            let queue = Queue::new(reader, extension)?;
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
            if let Some(fault) = self.wrong_kind(topic, reader.kind()) {
                report.problem("queue", fault)?;
            }
            reader.for_each(|place, entry| {
                let unit = entry.unit;
                if unit.is_record() && unit.physical_offset >= log_min {
                    leading += 1;
                }
                let is_batch = reader.kind() == QueueKind::Batch;
                let nothing = Unit { physical_offset: 0, size: 0, tags_code: 0 };
                let is_zero =
                    unit == nothing && !(is_batch && (entry.offset, entry.count, entry.store_timestamp) != (0, 0, 0));
                let fault = match () {
                    () if unit.is_written() && ended => "a unit behind the end of the queue",
                    () if !unit.is_written() && !is_zero => "no unit",
                    () => "",
                };
                ended |= !unit.is_written();
                if fault.is_empty() {
                    return Ok(());
                }
                let (path, byte) = (reader.path_of(place), reader.byte_of(place));
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
            report.line(format_args!("{} records of topics before they were deleted", self.former))?;
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
        reader.for_each(|place, entry| {
            let unit = entry.unit;
            if !unit.is_record() || unit.physical_offset < log.min_offset() {
                return Ok(());
            }
            let why = if unit.end() > log_end {
                format!("behind the end of the log, {log_end}")
            } else {
                match walk.record_at(unit.physical_offset)? {
                    Err(why) => why,
                    Ok(bytes) => match Record::parse(&bytes) {
                        Ok(record) if self.is_of(&record, topic, id, entry) => return Ok(()),
                        _ => "the record there is not of this place".to_owned(),
                    },
                }
            };
            let (path, byte, to) = (reader.path_of(place), reader.byte_of(place), unit.physical_offset);
            report.problem("queue", format_args!("{} byte {byte}: leads to {to}: {why}", path.display()))
        })
    }

    fn is_of(&self, record: &Record<'_>, topic: &str, id: i32, entry: Entry) -> bool {
        let is_here =
            |place: &Place<'_>| (place.topic, place.queue_id, place.entry.offset) == (topic, id, entry.offset);
        self.rules.places(record).iter().any(|place| is_here(place) && place.entry.unit.size == entry.unit.size)
    }

    /// A broker does not open such a store.
    fn wrong_kind(&self, topic: &str, kind: QueueKind) -> Option<String> {
        let expected = self.rules.topics.kind(topic);
        (expected != kind).then(|| {
            format!("topic {topic} has queues of type {}, and is of type {}: rebuild", kind.name(), expected.name())
        })
    }

    /// What it means that topics have records and no queues.
    fn without_queues(&mut self, report: &mut Report) -> Result<(), Error> {
        let unqueued = std::mem::take(&mut self.unqueued);
        for (topic, count) in unqueued {
            if !self.files.exist() || self.unclean {
                report.pending("records that are put into their queues", count);
            } else if self.rules.topics.has(&topic) == Some(true) {
                report.problem("queue", format_args!("topic {topic} has {count} records and no queue"))?;
            } else {
                report.line(format_args!("{count} records of {topic}, which was deleted"))?;
            }
        }
        Ok(())
    }
}

impl Queue {
    fn new(reader: QueueReader, extension: Extension) -> Result<Self, Error> {
        let end = reader.end()?;
        let max = reader.offset_at(end, end)?;
        // an empty queue begins before everything
        let first = reader.entry(0)?.filter(|entry| entry.unit.is_record() && entry.offset == 0);
        let begins = first.map_or(-1, |entry| entry.unit.physical_offset);
        Ok(Self { reader, extension, end, max, begins, block: Vec::new(), block_at: 0, next: 0, claimed: 0 })
    }

    /// The unit for the message at an offset, and its place.
    fn find(&mut self, offset: i64) -> Result<(i64, Option<Entry>), Error> {
        if offset < 0 {
            return Ok((0, None));
        }
        let mut place = offset;
        if self.reader.kind() == QueueKind::Batch {
            place = self.next;
            if self.entry(place)?.is_none_or(|entry| entry.offset != offset) {
                place = self.reader.place_of(offset, self.end)?;
            }
        }
        self.next = place.saturating_add(1);
        Ok((place, self.entry(place)?))
    }

    fn entry(&mut self, place: i64) -> Result<Option<Entry>, Error> {
        let in_block =
            |queue: &Self| usize::try_from(place - queue.block_at).ok().and_then(|n| queue.block.get(n).copied());
        if let Some(entry) = in_block(self) {
            return Ok(Some(entry));
        }
        self.block = self.reader.read(place, BLOCK)?;
        self.block_at = place;
        Ok(in_block(self))
    }

    /// How a unit, with what its extension has, differs from what its record says.
    fn difference(&mut self, found: Entry, expected: Entry) -> Result<Option<String>, Error> {
        let Entry { offset, count, unit, store_timestamp } = expected;
        let (mut tags_code, mut stored) = (found.unit.tags_code, found.store_timestamp);
        if let Some(address) = found.unit.extension_address() {
            let Some(extension) = self.extension.entry(address)? else {
                return Ok(Some(format!("no entry at byte {address} of consumequeue_ext")));
            };
            (tags_code, stored) = (extension.tags_code, extension.store_timestamp);
        } else if self.reader.kind() == QueueKind::Simple {
            stored = store_timestamp;
        }
        let fault = if tags_code != unit.tags_code {
            format!("tags code {tags_code}, by the record it is {}", unit.tags_code)
        } else if stored != store_timestamp {
            format!("stored at {stored}, by the record {store_timestamp}")
        } else if (found.offset, found.count) != (offset, count) {
            format!("{} messages from {} on, by the record {count} from {offset} on", found.count, found.offset)
        } else {
            return Ok(None);
        };
        Ok(Some(fault))
    }

    fn place(&self, place: i64) -> String {
        format!("{} byte {}", self.reader.path_of(place).display(), self.reader.byte_of(place))
    }
}

/// Units read at once, and how many such blocks are kept: 64 MiB.
const BLOCK: i64 = 170;
const MOST_BLOCKS: usize = 16_384;
