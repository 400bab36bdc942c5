//! Walking over the log, record by record, past what is damaged.

use apogee_remoting::message::record::{BLANK_HEAD, Entry as Stored, MAGIC_V1, Record, RecordError};
use apogee_store::check_record;
use bytes::Bytes;
use memchr::memchr_iter;

use super::files::LogFiles;
use crate::error::Error;

/// What stands in the log, one behind another.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A record that verifies.
    Record(Bytes),
    /// The rest of a file, with the length that it says to have.
    Blank { at: i64, length: usize },
    /// Bytes [from, to) that are no record, with a record or a later file behind them.
    Damage { from: i64, to: i64, why: String },
}

/// Goes from a place where an entry starts to the end of the records.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    log: &'a LogFiles,
    at: i64,
    /// The walk ends here at the latest.
    end: i64,
    /// Store time of the last record, ms.
    newest: i64,
    chunk: Bytes,
    chunk_at: i64,
    /// Why what follows the last record is none; `None` while walking and when only zeros follow.
    torn: Option<String>,
}

impl<'a> Walk<'a> {
    /// From `from` on, before `end`.
    pub(crate) fn new(log: &'a LogFiles, from: i64, end: i64) -> Self {
        Self { log, at: from, end, newest: 0, chunk: Bytes::new(), chunk_at: 0, torn: None }
    }

    /// Over the whole log.
    pub(crate) fn whole(log: &'a LogFiles) -> Self {
        Self::new(log, log.min_offset(), log.end_of_files())
    }

    /// Physical offset of the next entry: at the end of the walk, that of the log.
    pub(crate) fn position(&self) -> i64 {
        self.at
    }

    /// Once the walk ended: why what is written behind the last record is no record.
    pub(crate) fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// The next entry.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, Error> {
        if self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        let why = match self.look(at)? {
            Ok(Good::Record(bytes, time)) => {
                self.at += bytes.len() as i64;
                self.newest = time;
                return Ok(Some(Entry::Record(bytes)));
            }
            Ok(Good::Blank(length)) => {
                self.at = self.log.next_start(at);
                return Ok(Some(Entry::Blank { at, length }));
            }
            Err(why) => why,
        };
        match self.resume(at + 1, self.newest)? {
            Resume::At(to) => {
                self.at = to;
                Ok(Some(Entry::Damage { from: at, to, why }))
            }
            Resume::Nowhere { data } => {
                let is_zero = !data && self.bytes(at, BLANK_HEAD)?.iter().all(|byte| *byte == 0);
                self.torn = (!is_zero).then_some(why);
                self.end = at;
                Ok(None)
            }
        }
    }

    /// The next record.
    ///
    /// # Errors
    /// As [`Walk::next`].
    pub(crate) fn next_record(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(entry) = self.next()? {
            if let Entry::Record(bytes) = entry {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The record at a place, or why none starts there.
    ///
    /// # Errors
    /// As [`Walk::next`].
    pub(crate) fn record_at(&mut self, at: i64) -> Result<Result<Bytes, String>, Error> {
        Ok(match self.look(at)? {
            Ok(Good::Record(bytes, _)) => Ok(bytes),
            Ok(Good::Blank(_)) => Err("the rest of the file is blank".to_owned()),
            Err(why) => Err(why),
        })
    }

    fn look(&mut self, at: i64) -> Result<Result<Good, String>, Error> {
        if self.log.find(at).is_none() {
            return Ok(Err(format!("file {:020} is missing", self.log.next_start(at) - self.log.file_size() as i64)));
        }
        let mut needed = BLANK_HEAD;
        loop {
            let bytes = self.bytes(at, needed)?;
            match Stored::read(&bytes) {
                Err(RecordError::Incomplete { needed: more, available })
                    if more > available && more > needed && more <= self.log.left_in_file(at) =>
                {
                    needed = more;
                }
                Err(why) => return Ok(Err(why.to_string())),
                Ok(Stored::Blank(length)) => return Ok(Ok(Good::Blank(length))),
                Ok(Stored::Record(record)) => {
                    let (size, time) = (record.size(), record.store_timestamp);
                    return Ok(verified(&record, at)
                        .map(|()| Good::Record(bytes.slice(..size), time))
                        .map_err(|why| why.to_string()));
                }
            }
        }
    }

    /// The first record that verifies from a place on and is not older than `not_older`: behind the end of a log that
    /// was once cut there may be records of its former end.
    pub(crate) fn resume(&mut self, from: i64, not_older: i64) -> Result<Resume, Error> {
        let mut at = from;
        let mut data_found = false;
        while at < self.end {
            let Some(data) = self.log.next_data(at)? else {
                match self.log.find_behind(at) {
                    Some(next) => at = next.start,
                    None => break,
                }
                continue;
            };
            let chunk = self.log.read(data, CHUNK)?;
            data_found |= chunk.iter().any(|byte| *byte != 0);
            for magic in memchr_iter(MAGIC_V1.to_be_bytes()[0], &chunk) {
                // a record says its own place
                let Some(start) = magic.checked_sub(4) else { continue };
                let place = data + start as i64;
                if chunk.get(start + 28..start + HEAD) == Some(&place.to_be_bytes()[..])
                    && matches!(self.look(place)?, Ok(Good::Record(_, time)) if time >= not_older)
                {
                    return Ok(Resume::At(place));
                }
            }
            // overlapping, so that no head is cut in two
            let end = data + chunk.len() as i64;
            let is_last = chunk.len() < CHUNK || self.log.left_in_file(data) == chunk.len();
            at = if is_last { self.log.next_start(data) } else { end - HEAD as i64 + 1 };
        }
        Ok(Resume::Nowhere { data: data_found })
    }

    /// The bytes from a place on, at least so many where the file has them.
    fn bytes(&mut self, at: i64, needed: usize) -> Result<Bytes, Error> {
        let end = self.chunk_at + self.chunk.len() as i64;
        let wanted = needed.min(self.log.left_in_file(at));
        if at < self.chunk_at || at + wanted as i64 > end {
            self.chunk = self.log.read(at, needed.max(CHUNK).min(self.log.left_in_file(at)))?.into();
            self.chunk_at = at;
        }
        Ok(self.chunk.slice((at - self.chunk_at) as usize..))
    }
}

/// Something good.
enum Good {
    Record(Bytes, i64),
    Blank(usize),
}

/// Where records go on behind damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    At(i64),
    /// Nowhere; whether anything but zeros follows.
    Nowhere {
        data: bool,
    },
}

/// Whether a record is the one that was stored here, with all that can be checked: also the checksum over the whole record
/// where there is one.
pub(crate) fn verified(record: &Record<'_>, at: i64) -> Result<(), RecordError> {
    match check_record(record, at, true) {
        Err(RecordError::NoPropertyCrc) => Ok(()),
        checked => checked,
    }
}

const CHUNK: usize = 1 << 20;
/// Bytes of a record up to and with its physical offset.
const HEAD: usize = 36;

impl LogFiles {
    /// Physical offset behind the last record: looks at the newest files only.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn find_end(&self) -> Result<i64, Error> {
        for file in self.list().iter().rev() {
            let mut walk = Walk::new(self, file.start, self.end_of_files());
            let mut any = false;
            while let Some(entry) = walk.next()? {
                any |= matches!(entry, Entry::Record(_));
            }
            if any {
                return Ok(walk.position());
            }
        }
        Ok(self.min_offset())
    }
}
