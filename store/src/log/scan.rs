//! Walking over the log's bytes to find where its good records end.

use std::io;
use std::time::Duration;

use apogee_remoting::message::record::{BLANK_HEAD, Entry, MAGIC_V1, Record, RecordError};
use memchr::memchr_iter;
use tracing::{error, warn};

use super::passed::Passed;
use super::segment::Segment;
use super::segments::Segments;
use crate::progress::Progress;
use crate::queue::is_topic_name;

/// What the scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Physical offset behind the last good record.
    pub(super) end: i64,
    /// Store time of that record, ms.
    pub(super) last_timestamp: i64,
    /// Bad bytes with good records behind them: from, to.
    pub(super) damage: Vec<(i64, i64)>,
    /// Whether what follows the end is all zero, as far as an entry's head goes.
    pub(super) clean_end: bool,
}

/// A place where a good entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Good<T = ()> {
    /// A record, and what was seen in it.
    Record {
        size: usize,
        timestamp: i64,
        seen: T,
    },
    Blank,
}

/// Reads the log's files without mapping them: a disk that cannot read answers an error.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    segments: &'a Segments,
    require_property_crc: bool,
    /// The log was closed: zeros are its end, and nothing good is looked for behind them.
    ends_at_zeros: bool,
    buffer: Vec<u8>,
    buffer_at: i64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(segments: &'a Segments, require_property_crc: bool) -> Self {
        Self { segments, require_property_crc, ends_at_zeros: false, buffer: Vec::new(), buffer_at: 0 }
    }

    /// Takes zeros for the end of the log: after a clean stop.
    pub(super) fn ending_at_zeros(mut self, ends_at_zeros: bool) -> Self {
        self.ends_at_zeros = ends_at_zeros;
        self
    }

    /// The store time of the record at a place, if a good one stands there.
    pub(super) fn record_at(&mut self, at: i64) -> io::Result<Option<i64>> {
        Ok(match self.entry(at)? {
            Ok(Good::Record { timestamp, .. }) => Some(timestamp),
            _ => None,
        })
    }

    /// Walks from a place where an entry starts to the end of the good records.
    ///
    /// Bad bytes with good records behind them do not end the walk: they are reported and passed over. A record behind
    /// them that is older than one before them counts as good unless it is of a former end of the log ([`Passed`]).
    ///
    /// It ends at the latest with the entry before `until`. How far it has come is told after each `tell_every`.
    pub(super) fn run(&mut self, from: i64, newest: i64, until: i64, tell_every: Duration) -> io::Result<Found> {
        let (mut end, mut clean_end) = (from, true);
        let mut passed = Passed::new(from, newest);
        // bad bytes were the last thing passed but for older records
        let mut is_behind_damage = false;
        let to = self.segments.list().last().map_or(from, |last| last.end()).min(until);
        let mut progress = Progress::new("checking the commit log", from, to, tell_every);
        while end < until && self.segments.find(end).is_some() {
            progress.at(end);
            let why = match self.entry(end)? {
                Ok(Good::Record { timestamp, .. })
                    if is_behind_damage && self.is_former(end, timestamp, &mut passed, end)? =>
                {
                    "a record of a former end of the log".to_owned()
                }
                Ok(Good::Record { size, timestamp, .. }) => {
                    end += size as i64;
                    is_behind_damage &= timestamp < passed.newest;
                    passed.newest = passed.newest.max(timestamp);
                    continue;
                }
                Ok(Good::Blank) => {
                    end = self.next_start(end);
                    continue;
                }
                Err(_) if self.ends_at_zeros && self.is_zero(end)? && !self.goes_on_behind(end)? => break,
                Err(why) => why.to_string(),
            };
            let Some(next) = self.resume(end, &mut passed)? else {
                clean_end = self.is_zero(end)?;
                if !clean_end {
                    warn!(at = end, %why, "the commit log ends here: what follows is no whole record");
                }
                break;
            };
            error!(from = end, to = next, %why, "the commit log is damaged here: these bytes are not served");
            passed.damage.push((end, next));
            end = next;
            is_behind_damage = true;
        }
        Ok(Found { end, last_timestamp: passed.newest, damage: passed.damage, clean_end })
    }

    /// The first good record behind bad bytes that follows on what was passed before them.
    pub(super) fn resume(&mut self, bad: i64, passed: &mut Passed) -> io::Result<Option<i64>> {
        let Some(mut segment) = self.segments.find(bad) else { return Ok(None) };
        let mut at = (bad - segment.start()) as usize + 1;
        loop {
            if let Some(found) = self.resume_in(&segment, at, bad, passed)? {
                return Ok(Some(found));
            }
            let Some(next) = self.segments.find(segment.end()) else { return Ok(None) };
            segment = next;
            at = 0;
        }
    }

    fn resume_in(&mut self, segment: &Segment, from: usize, bad: i64, passed: &mut Passed) -> io::Result<Option<i64>> {
        let size = self.segments.file_size();
        let mut chunk = vec![0; CHUNK.min(size)];
        let mut at = from;
        while let Some(data) = segment.next_data(at)?.filter(|data| data + HEAD <= size) {
            let length = chunk.len().min(size - data);
            let chunk = &mut chunk[..length];
            segment.read_exact(data, chunk)?;
            for magic in memchr_iter(MAGIC_V1.to_be_bytes()[0], chunk) {
                // the place of the record's own physical offset must say this very place
                let Some(start) = magic.checked_sub(4) else { continue };
                let place = segment.start() + (data + start) as i64;
                if chunk.get(start + 28..start + HEAD) == Some(&place.to_be_bytes()[..])
                    && let Some(timestamp) = self.record_at(place)?
                    && !self.is_former(place, timestamp, passed, bad)?
                {
                    return Ok(Some(place));
                }
            }
            // overlapping, so that no head is cut in two
            at = if data + length == size { size } else { data + length - HEAD + 1 };
        }
        Ok(None)
    }

    /// What stands at a place: a good entry, or why it is none.
    fn entry(&mut self, at: i64) -> io::Result<Result<Good, RecordError>> {
        self.entry_with(at, |_| ())
    }

    /// The same, with what `see` makes of a record.
    pub(super) fn entry_with<T>(
        &mut self,
        at: i64,
        see: impl FnOnce(&Record<'_>) -> T,
    ) -> io::Result<Result<Good<T>, RecordError>> {
        let require_property_crc = self.require_property_crc;
        let mut needed = BLANK_HEAD;
        loop {
            let bytes = self.bytes(at, needed)?;
            let available = bytes.len();
            match Entry::read(bytes) {
                Err(RecordError::Incomplete { needed: more, .. }) if more > needed && available >= needed => {
                    needed = more;
                    if self.left_in_file(at) < needed {
                        return Ok(Err(RecordError::Incomplete { needed, available: self.left_in_file(at) }));
                    }
                }
                Err(why) => return Ok(Err(why)),
                Ok(Entry::Blank(_)) => return Ok(Ok(Good::Blank)),
                Ok(Entry::Record(record)) => {
                    return Ok(check(&record, at, require_property_crc).map(|()| Good::Record {
                        size: record.size(),
                        timestamp: record.store_timestamp,
                        seen: see(&record),
                    }));
                }
            }
        }
    }

    /// The bytes from a place on, at least so many where the file has them.
    fn bytes(&mut self, at: i64, needed: usize) -> io::Result<&[u8]> {
        let end = self.buffer_at + self.buffer.len() as i64;
        let wanted = needed.min(self.left_in_file(at));
        if at < self.buffer_at || at + wanted as i64 > end {
            let length = needed.max(CHUNK).min(self.left_in_file(at));
            self.buffer.resize(length, 0);
            self.buffer_at = at;
            if let Some(segment) = self.segments.find(at) {
                let read = segment.read_exact((at - segment.start()) as usize, &mut self.buffer);
                read.inspect_err(|_| self.buffer.clear())?;
            }
        }
        Ok(&self.buffer[(at - self.buffer_at) as usize..])
    }

    fn left_in_file(&self, at: i64) -> usize {
        (self.next_start(at) - at) as usize
    }

    /// Physical offset of the file behind the one that holds a place.
    pub(super) fn next_start(&self, at: i64) -> i64 {
        self.segments.next_start(at)
    }

    /// Whether there is something in the file behind the one that holds a place: then the log does not end here.
    fn goes_on_behind(&mut self, at: i64) -> io::Result<bool> {
        let next = self.next_start(at);
        Ok(self.segments.find(next).is_some() && !self.is_zero(next)?)
    }

    fn is_zero(&mut self, at: i64) -> io::Result<bool> {
        let bytes = self.bytes(at, BLANK_HEAD)?;
        Ok(bytes[..BLANK_HEAD.min(bytes.len())].iter().all(|byte| *byte == 0))
    }
}

/// Whether a record is the one that was stored here, as far as that can be told: the checksum covers the body only, so
/// the other fields must at least make sense.
///
/// # Errors
/// It is not; why.
pub fn check(record: &Record<'_>, at: i64, require_property_crc: bool) -> Result<(), RecordError> {
    let senseless = |field| Err(RecordError::Field(field));
    if record.physical_offset != at {
        return senseless("physical offset");
    }
    if record.queue_id < 0 {
        return senseless("queue id");
    }
    if record.queue_offset < 0 {
        return senseless("queue offset");
    }
    if !is_topic_name(record.topic) {
        return senseless("topic");
    }
    if !are_properties(record.properties.as_bytes()) {
        return senseless("properties");
    }
    record.verify(require_property_crc)
}

/// Whether bytes can be the properties of a record. Where the end of a record did not come to disk, it is zero. The log
/// takes no others: what is acknowledged is found again.
pub(super) fn are_properties(bytes: &[u8]) -> bool {
    bytes.last() != Some(&0) && std::str::from_utf8(bytes).is_ok()
}

const CHUNK: usize = 1 << 20;
/// Bytes of a record up to and with its physical offset.
const HEAD: usize = 36;
