//! Appending several records at once: the lock is taken, and everybody told, once for all of them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::{BLANK_HEAD, Draft};
use parking_lot::MutexGuard;

use super::CommitLog;
use super::append::{Appended, Appender, Batch, offsets_of, trim};
use super::error::AppendError;
use crate::dispatch::{Known, Marks};
use crate::queue::Queue;

/// Records that are encoded one behind another, and not stored yet.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    records: Vec<Encoded>,
    /// Memory for where they went.
    placed: Vec<Appended>,
}

#[derive(Debug)]
struct Encoded {
    queue: Arc<Queue>,
    /// Queue offsets that it takes.
    offsets: i64,
    /// Where it is among the bytes.
    place: Range<usize>,
    known: Option<Known>,
}

impl Gathered {
    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        self.placed.clear();
        trim(&mut self.bytes);
    }
}

impl CommitLog {
    /// Puts a message with these marks behind those that were gathered.
    ///
    /// # Errors
    /// It cannot be stored, and was not put there.
    pub fn gather(
        &self,
        gathered: &mut Gathered,
        draft: &Draft<'_>,
        marks: &Marks<'_>,
        queue: Arc<Queue>,
    ) -> Result<(), AppendError> {
        let start = gathered.bytes.len();
        self.encode(draft, &mut gathered.bytes)?;
        let known = self.known(draft, marks, &queue);
        let place = start..gathered.bytes.len();
        gathered.records.push(Encoded { queue, offsets: offsets_of(draft), place, known });
        Ok(())
    }

    /// Stores what was gathered, in its order and each record as if it came alone, and says of one after the other where it went.
    /// Nothing is gathered afterwards.
    pub fn append_gathered(&self, gathered: &mut Gathered, mut stored: impl FnMut(Result<Appended, AppendError>)) {
        let Gathered { bytes, records, placed } = gathered;
        if records.is_empty() {
            return;
        }
        let mut rest = &records[..];
        while let Some(first) = rest.first() {
            let mut run = 1;
            let done = self.lock_for(first.place.len()).and_then(|appender| {
                let end = first.place.start + appender.room() - BLANK_HEAD;
                run = rest.iter().take_while(|record| record.place.end <= end).count();
                self.append_run(appender, bytes, &rest[..run], placed)
            });
            match done {
                Ok(()) => placed.iter().for_each(|appended| stored(Ok(*appended))),
                Err(error) => rest[..run].iter().for_each(|_| stored(Err(error.clone()))),
            }
            rest = &rest[run..];
        }
        self.tell_of_records(records.len());
        gathered.clear();
    }

    /// Stores several messages one behind another in one file, all or none.
    ///
    /// # Errors
    /// None was stored.
    pub fn append_all<'a>(
        &self,
        messages: impl IntoIterator<Item = (Draft<'a>, &'a Arc<Queue>)>,
    ) -> Result<Batch, AppendError> {
        self.gate.check()?;
        TOGETHER.with_borrow_mut(|gathered| {
            // what a panic has left
            gathered.clear();
            let appended = self.append_together(messages, gathered);
            gathered.clear();
            appended
        })
    }

    fn append_together<'a>(
        &self,
        messages: impl IntoIterator<Item = (Draft<'a>, &'a Arc<Queue>)>,
        gathered: &mut Gathered,
    ) -> Result<Batch, AppendError> {
        for (draft, queue) in messages {
            let marks = Marks::of(Properties::new(draft.properties));
            self.gather(gathered, &draft, &marks, Arc::clone(queue))?;
        }
        let Gathered { bytes, records, placed } = gathered;
        if records.is_empty() {
            return Ok(Batch::new());
        }
        self.check_size(bytes.len())?;
        self.append_run(self.lock_for(bytes.len())?, bytes, records, placed)?;
        self.tell_of_records(records.len());
        Ok(Batch::from_slice(placed))
    }

    /// Stores records for which there is room, and fills in where they are.
    fn append_run(
        &self,
        mut appender: MutexGuard<'_, Appender>,
        bytes: &mut [u8],
        records: &[Encoded],
        placed: &mut Vec<Appended>,
    ) -> Result<(), AppendError> {
        placed.clear();
        let mut ahead = 0;
        for Encoded { queue, offsets, place, .. } in records {
            let placement = Self::place(&appender, queue, *offsets, ahead);
            let record = &mut bytes[place.clone()];
            placement.write(record, self.options.property_crc);
            self.copy(&mut appender, record);
            placed.push(Appended::new(&placement, record.len()));
            ahead += record.len();
        }
        self.tell_all(placed, records);
        let last = appender.last_timestamp;
        self.publish(appender, last)
    }

    /// Tells those who work on the log's end of several records together: what is held for that is not held while records are
    /// copied.
    fn tell_all(&self, placed: &[Appended], records: &[Encoded]) {
        let Some(feed) = self.feed.get() else { return };
        let mut telling = feed.begin();
        for (appended, Encoded { queue, known, .. }) in placed.iter().zip(records) {
            if let Some(known) = known {
                telling.tell(appended, Arc::clone(queue), *known);
            }
        }
    }
}

thread_local! {
    /// Where messages that come together are encoded.
    static TOGETHER: RefCell<Gathered> = RefCell::default();
}

#[cfg(test)]
#[path = "together_tests.rs"]
mod tests;
