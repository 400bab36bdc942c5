//! Records of a read: neighbours in the log are one run, sliced and looked at together.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::limits::Amount;
use super::record;
use super::source::RecordSource;

/// The records that a read gathers.
pub(super) struct Runs<'a, S: ?Sized> {
    log: &'a S,
    records: Vec<Amount>,
    /// Of all records.
    amount: Amount,
    /// Runs and their bytes; none where the log's first files went while the read ran.
    closed: Vec<(Run, Bytes)>,
    /// The last one, not sliced yet.
    open: Option<Run>,
    /// What this process wrote, from a place of the log on: its slices share one owner, and need no look for their file.
    written: Option<(i64, Bytes)>,
}

struct Run {
    start: i64,
    bytes: usize,
    /// Which of the read's records they are.
    records: Range<usize>,
    /// This process wrote them, and they did not go through a disk.
    is_as_written: bool,
}

/// What can be served of a read's records.
#[derive(Default)]
pub(super) struct Sound {
    pub(super) runs: Vec<Bytes>,
    pub(super) amount: Amount,
}

impl<'a, S: RecordSource + ?Sized> Runs<'a, S> {
    /// For about so many records.
    pub(super) fn new(log: &'a S, count: usize) -> Self {
        let room = count.min(USUAL);
        Self {
            log,
            records: Vec::with_capacity(room),
            amount: Amount::default(),
            closed: Vec::new(),
            open: None,
            written: None,
        }
    }

    /// How much was gathered.
    pub(super) fn amount(&self) -> Amount {
        self.amount
    }

    /// One more record, at a place of the log.
    #[inline]
    pub(super) fn add(&mut self, place: i64, record: Amount) -> io::Result<()> {
        match &mut self.open {
            Some(run) if run.start + run.bytes as i64 == place => run.bytes += record.bytes,
            _ => self.begin(place, record.bytes)?,
        }
        self.records.push(record);
        self.amount += record;
        Ok(())
    }

    fn begin(&mut self, place: i64, bytes: usize) -> io::Result<()> {
        self.close()?;
        let at = self.records.len();
        self.open = Some(Run { start: place, bytes, records: at..at, is_as_written: self.log.is_as_written(place) });
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(mut run) = self.open.take() else { return Ok(()) };
        run.records.end = self.records.len();
        let bytes = if run.is_as_written { self.slice_written(&run)? } else { self.log.slice(run.start, run.bytes)? };
        self.closed.push((run, bytes.unwrap_or_default()));
        Ok(())
    }

    /// The bytes of a run that this process wrote: of the stretch that the one before is of, where it is in it.
    fn slice_written(&mut self, run: &Run) -> io::Result<Option<Bytes>> {
        let within = |(start, bytes): &(i64, Bytes)| {
            let at = usize::try_from(run.start - start).ok()?;
            (at + run.bytes <= bytes.len()).then(|| bytes.slice(at..at + run.bytes))
        };
        if let Some(bytes) = self.written.as_ref().and_then(within) {
            return Ok(Some(bytes));
        }
        self.written = self.log.window(run.start, run.bytes)?.map(|bytes| (run.start, bytes));
        Ok(self.written.as_ref().and_then(within))
    }

    /// Looks at the records; what is none is not served.
    pub(super) fn finish(mut self) -> io::Result<Sound> {
        self.close()?;
        // All ends in one go, so that the processor waits for the memory of many at once. Where one is not as written,
        // each record is looked at.
        if self.closed.iter().all(|(run, bytes)| run.is_as_written && self.has_its_ends(run, bytes)) {
            let runs = self.closed.into_iter().map(|(_, bytes)| bytes).collect();
            return Ok(Sound { runs, amount: self.amount });
        }
        let mut sound = Sound::default();
        self.closed.iter().for_each(|(run, bytes)| self.look(run, bytes, &mut sound));
        Ok(sound)
    }

    /// Whether a run's first and last record are in its bytes as the queue says: where it is as this process wrote it, they
    /// speak for those between. Each look waits for memory.
    fn has_its_ends(&self, run: &Run, bytes: &[u8]) -> bool {
        let is_there = |at: usize, record: &Amount| has_record(bytes, run, at, record.bytes);
        let [first, others @ ..] = &self.records[run.records.clone()] else { return true };
        is_there(0, first) && others.last().is_none_or(|last| is_there(run.bytes - last.bytes, last))
    }

    /// Serves those records of a run that are there. What was closed cleanly is not read at the start, so this is the first
    /// look at it. Bytes that do not even say that they are this record would make the reader lose those behind them.
    fn look(&self, run: &Run, bytes: &Bytes, sound: &mut Sound) {
        if bytes.is_empty() {
            return;
        }
        let (mut from, mut at) = (0, 0);
        for record in &self.records[run.records.clone()] {
            if has_record(bytes, run, at, record.bytes) {
                sound.amount += *record;
            } else {
                tracing::error!(
                    place = run.start + at as i64,
                    size = record.bytes,
                    "the commit log is damaged here: the record is not served"
                );
                sound.push(bytes.slice(from..at));
                from = at + record.bytes;
            }
            at += record.bytes;
        }
        sound.push(bytes.slice(from..));
    }
}

/// Whether there is a record of this size in a run.
fn has_record(bytes: &[u8], run: &Run, at: usize, size: usize) -> bool {
    bytes.get(at..).and_then(|bytes| record::size_at(bytes, run.start + at as i64)) == Some(size)
}

impl Sound {
    fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.runs.push(bytes);
        }
    }
}

/// Messages of a usual pull.
const USUAL: usize = 32;

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
