//! The file `queueEnds`: how far each queue was on disk at the last look, and which topics were deleted. It shows at the next start
//! what is no longer there: units that were lost, and queues whose files are gone; and what must not come back. The
//! reference does not know it.
//!
//! Others may have the store in between, and delete and make topics or cut the log. So the file also says of which topics and
//! of which log it speaks.
//!
//! Its content, in this order; whatever does not add up counts for nothing:
//!
//! - `apgends4`, and the CRC32 of all that follows (4 bytes);
//! - what stands in `lock` while who wrote this has the store: 8;
//! - version of the topics' table: number of changes 8, time 8;
//! - physical offset 8 and store time 8 of the last record, and of the last one that was on disk;
//! - physical offset before which no queue has records but those that are named: 8;
//! - number of topics that were deleted or created anew 4; for each: length of the topic 2, topic, physical offset 8 before which
//!   records are of its former life;
//! - for each queue: length of the topic 2, topic, queue number 4, queue offset 8 and physical offset 8 behind the last unit on
//!   disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use apogee_remoting::message::record::Record;
use bytes::{Buf, BufMut};
use tracing::warn;

use super::table::QueueTable;
use crate::dispatch::Progress;
use crate::files::{named, sync, sync_directory, write_all_at};
use crate::read::{RecordSource, record_at};

/// A queue, and how far it was on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEnd {
    /// Topic.
    pub topic: String,
    /// Number of the queue.
    pub queue_id: i32,
    /// Queue offset behind the last unit.
    pub max: i64,
    /// Physical offset behind the record of the last unit.
    pub max_physical: i64,
}

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Number of who wrote this in the file `lock` ([`crate::StoreLock::claim`]).
    pub claim: u64,
    /// Version of the topics' table ([`super::QueueKinds::version`]).
    pub version: (i64, i64),
    /// Physical offset and store time (ms) of the last record that was dispatched.
    pub last_record: (i64, i64),
    /// The same of the last one that was on disk, in the log and in its queue.
    pub synced_record: (i64, i64),
    /// Physical offset before which no queue has records but those of `ends`; 0 when that is not known.
    pub listed_before: i64,
    /// Topics that were deleted, each with the end of the log at that time, or created anew, with the end of a queue of before:
    /// records before it are of its former life.
    pub deleted: Vec<(String, i64)>,
    /// How far queues were.
    pub ends: Vec<KnownEnd>,
}

impl Known {
    /// Leaves out what is not of this log: somebody may have cut it since this was written. Gives the physical offset up to
    /// which it is the same, as far as is known.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn limit_to(&mut self, log: &dyn RecordSource) -> io::Result<i64> {
        let behind = |(at, stored): (i64, i64)| -> io::Result<Option<i64>> {
            let bytes = record_at(log, at)?;
            let record = bytes.as_deref().and_then(|bytes| Record::parse(bytes).ok());
            Ok(record.filter(|record| record.store_timestamp == stored).map(|record| at + record.size() as i64))
        };
        let same = behind(self.last_record)?;
        if same.is_some() || self.last_record == NO_RECORD {
            // what was stored behind it until the last stop is still there, too
            self.cut(log.max_offset());
            return Ok(same.unwrap_or(0));
        }
        let same = behind(self.synced_record)?.unwrap_or(0);
        self.cut(same);
        Ok(same)
    }

    /// Leaves out what is said of the log from a place on.
    pub fn cut(&mut self, end: i64) {
        for (_, log_end) in &mut self.deleted {
            *log_end = end.min(*log_end);
        }
        let is_out = |known: &KnownEnd| known.max_physical > end;
        // one that is left out has records before its end, too
        self.listed_before = if self.ends.iter().any(is_out) { 0 } else { self.listed_before.min(end) };
        self.ends.retain(|known| !is_out(known));
    }
}

/// The file.
#[derive(Debug)]
pub struct KnownEnds {
    path: PathBuf,
    /// As they are known now.
    claim: u64,
    last_record: (i64, i64),
    synced_record: (i64, i64),
    /// Checksum of what is in it; `None` when that is not known.
    written: Option<u32>,
}

impl KnownEnds {
    /// The file of the store in `root`, and what it says.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path) -> io::Result<(Self, Known)> {
        let path = root.join("queueEnds");
        let content = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            content => content.map_err(named(&path))?,
        };
        let known = decode(&content).unwrap_or_else(|| {
            if !content.is_empty() {
                warn!(path = %path.display(), "the file is damaged: units that queues lost are not noticed");
            }
            Known::default()
        });
        let Known { claim, last_record, synced_record, .. } = known;
        Ok((Self { path, claim, last_record, synced_record, written: None }, known))
    }

    /// Takes over the number with which this process has the store, for the next write.
    pub fn claimed(&mut self, claim: u64) {
        self.claim = claim;
    }

    /// Writes down how far the queues are on disk and what was deleted, unless that is what stands there. Says whether it stands
    /// there now: where it does not, what queues lose until the next time is not noticed.
    pub fn note(&mut self, queues: &QueueTable) -> bool {
        let written = self.write(&self.known(queues));
        if let Err(error) = &written {
            warn!(%error, "how far the queues are on disk is not written down");
        }
        written.is_ok()
    }

    /// The same before a topic's queues go, whose records before `log_end` are to make none again.
    ///
    /// # Errors
    /// It may not stand there.
    pub fn note_deleted(&mut self, queues: &QueueTable, topic: &str, log_end: i64) -> io::Result<()> {
        let mut known = self.known(queues);
        known.deleted.retain(|(other, _)| other != topic);
        known.deleted.push((topic.to_owned(), log_end));
        known.ends.retain(|end| end.topic != topic);
        self.write(&known)
    }

    fn known(&self, queues: &QueueTable) -> Known {
        Known {
            claim: self.claim,
            version: queues.version(),
            last_record: self.last_record,
            synced_record: self.synced_record,
            listed_before: self.synced_record.0,
            deleted: queues.deleted(),
            ends: queues.durable_ends(),
        }
    }

    /// Takes over how far records are dispatched, and on disk, for the next write.
    pub fn reached(&mut self, dispatched: Progress, synced: Option<Progress>) {
        for (record, progress) in [(&mut self.last_record, Some(dispatched)), (&mut self.synced_record, synced)] {
            if let Some(progress) = progress.filter(|progress| progress.store_timestamp > 0) {
                *record = (progress.last_record, progress.store_timestamp);
            }
        }
    }

    /// Forgets how far the queues are, for they are about to be removed or made again; `deleted` alone is kept.
    ///
    /// # Errors
    /// It may still stand there.
    pub fn forget(&mut self, deleted: Vec<(String, i64)>) -> io::Result<()> {
        let Self { claim, last_record, synced_record, .. } = *self;
        self.write(&Known { claim, last_record, synced_record, deleted, ..Known::default() })
    }

    /// Lets the file say this, unless it does already.
    ///
    /// # Errors
    /// It does not.
    pub fn write(&mut self, known: &Known) -> io::Result<()> {
        let content = encode(known);
        let sum = crc32fast::hash(&content);
        if self.written == Some(sum) {
            return Ok(());
        }
        self.written = None;
        let temporary = self.path.with_extension("tmp");
        let written = File::create(&temporary).and_then(|file| {
            write_all_at(&file, &content, 0)?;
            sync(&file)
        });
        written.and_then(|()| fs::rename(&temporary, &self.path)).map_err(named(&self.path))?;
        self.path.parent().map_or(Ok(()), sync_directory)?;
        self.written = Some(sum);
        Ok(())
    }
}

fn encode(known: &Known) -> Vec<u8> {
    let mut content = MAGIC.to_vec();
    content.put_u32(0);
    let put_topic = |content: &mut Vec<u8>, topic: &str| {
        content.put_u16(topic.len() as u16);
        content.put_slice(topic.as_bytes());
    };
    content.put_u64(known.claim);
    for (a, b) in [known.version, known.last_record, known.synced_record] {
        content.put_i64(a);
        content.put_i64(b);
    }
    content.put_i64(known.listed_before);
    content.put_u32(known.deleted.len() as u32);
    for (topic, log_end) in &known.deleted {
        put_topic(&mut content, topic);
        content.put_i64(*log_end);
    }
    for end in &known.ends {
        put_topic(&mut content, &end.topic);
        content.put_i32(end.queue_id);
        content.put_i64(end.max);
        content.put_i64(end.max_physical);
    }
    let crc = crc32fast::hash(&content[HEAD..]);
    content[MAGIC.len()..HEAD].copy_from_slice(&crc.to_be_bytes());
    content
}

fn decode(content: &[u8]) -> Option<Known> {
    let mut rest = content.strip_prefix(MAGIC)?;
    let crc = rest.try_get_u32().ok()?;
    if crc != crc32fast::hash(rest) {
        return None;
    }
    let claim = rest.try_get_u64().ok()?;
    let mut pair = || Some((rest.try_get_i64().ok()?, rest.try_get_i64().ok()?));
    let (version, last_record, synced_record) = (pair()?, pair()?, pair()?);
    let listed_before = rest.try_get_i64().ok()?;
    let mut known = Known { claim, version, last_record, synced_record, listed_before, ..Known::default() };
    for _ in 0..rest.try_get_u32().ok()? {
        known.deleted.push((topic(&mut rest)?, rest.try_get_i64().ok()?));
    }
    while !rest.is_empty() {
        let (topic, queue_id) = (topic(&mut rest)?, rest.try_get_i32().ok()?);
        let (max, max_physical) = (rest.try_get_i64().ok()?, rest.try_get_i64().ok()?);
        known.ends.push(KnownEnd { topic, queue_id, max, max_physical });
    }
    Some(known)
}

fn topic(rest: &mut &[u8]) -> Option<String> {
    let length = usize::from(rest.try_get_u16().ok()?);
    let (topic, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(std::str::from_utf8(topic).ok()?.to_owned())
}

const MAGIC: &[u8; 8] = b"apgends4";
const HEAD: usize = MAGIC.len() + 4;
const NO_RECORD: (i64, i64) = (0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_comes_back_and_damage_is_nothing() {
        let end = |topic: &str, queue_id| KnownEnd { topic: topic.to_owned(), queue_id, max: 7, max_physical: 900 };
        let deleted = vec![("gone".to_owned(), 800)];
        let ends = vec![end("T", 0), end("%LMQ%\u{e9}", 3)];
        let (last_record, synced_record) = ((840, 5), (830, 5));
        let known = Known { claim: 2, version: (3, 4), last_record, synced_record, listed_before: 6, deleted, ends };
        let content = encode(&known);
        assert_eq!(decode(&content).unwrap(), known);
        assert_eq!(decode(&encode(&Known::default())).unwrap(), Known::default());
        for at in 0..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 4;
            assert_eq!(decode(&damaged), None, "{at}");
            assert_eq!(decode(&content[..at]), None, "{at}");
        }
    }
    /// Whoever takes one that is not named for a queue without records would lose those of the one that is left out.
    #[test]
    fn queues_that_are_left_out_are_not_taken_for_empty_ones() {
        let end = |max_physical| KnownEnd { topic: "T".to_owned(), queue_id: 0, max: 7, max_physical };
        let known = Known { listed_before: 850, ends: vec![end(800), end(900)], ..Known::default() };
        for (at, listed_before, ends) in [(1000, 850, 2), (900, 850, 2), (899, 0, 1), (799, 0, 0)] {
            let mut known = known.clone();
            known.cut(at);
            assert_eq!((known.listed_before, known.ends.len()), (listed_before, ends), "{at}");
        }
        let mut known = Known { ends: vec![end(800)], ..known };
        known.cut(840);
        assert_eq!(known.listed_before, 840);
    }
}
