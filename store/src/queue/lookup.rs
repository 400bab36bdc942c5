//! Finding units of a queue.

use std::io;

use super::cursor::Cursor;
use super::entry::{BATCH_UNIT_SIZE, Entry};
use super::extension_unit::ExtensionUnit;
use super::layout::QueueKind;
use super::queue::Queue;
use super::unit::Unit;

impl Queue {
    /// The place of the unit that stands for the message at an offset; of the first one, when the offset is before it.
    ///
    /// # Errors
    /// As [`Queue::read`].
    pub(super) fn place_of(&self, offset: i64, may_wait: bool) -> io::Result<i64> {
        if self.kind() == QueueKind::Simple {
            return Ok(offset);
        }
        // The maximum first: the units up to it are among the places read after it.
        let is_behind = offset >= self.max_offset();
        let (mut low, mut high) = self.places();
        if is_behind {
            return Ok(high);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset_at(middle, may_wait)? <= offset { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// The unit at a place.
    ///
    /// # Errors
    /// As [`Queue::read`].
    pub(super) fn entry_at(&self, place: i64, may_wait: bool) -> io::Result<Option<Entry>> {
        let mut bytes = [0; BATCH_UNIT_SIZE];
        let length = self.read(place, &mut bytes[..self.kind().unit_size()], may_wait)?;
        Ok(Entry::decode(self.kind(), place, &bytes[..length]))
    }

    /// First offset of the unit at a place; the maximum at the end.
    pub(super) fn offset_at(&self, place: i64, may_wait: bool) -> io::Result<i64> {
        match self.kind() {
            QueueKind::Simple => Ok(place),
            QueueKind::Batch => Ok(self.entry_at(place, may_wait)?.map_or(self.max_offset(), |entry| entry.offset)),
        }
    }

    /// The unit for the message at an offset.
    ///
    /// # Errors
    /// A file cannot be read; `NotFound` when the offset lies before the first file.
    pub fn unit(&self, offset: i64) -> io::Result<Option<Unit>> {
        Ok(self.entry_at(self.place_of(offset, true)?, true)?.map(|entry| entry.unit))
    }

    /// The units from that for the message at an offset on, to the end as it is when it is reached.
    pub fn iter_from(&self, offset: i64) -> Cursor<'_> {
        Cursor::at_offset(self, offset, true)
    }

    /// The same for who may not wait for the disk: then an error says `WouldBlock`.
    pub(crate) fn iter_as(&self, offset: i64, may_wait: bool) -> Cursor<'_> {
        Cursor::at_offset(self, offset, may_wait)
    }

    /// What the extension has for a unit.
    ///
    /// # Errors
    /// Its file cannot be read; `WouldBlock` when that would take a wait for the disk and none is allowed.
    pub fn extension_of(&self, unit: Unit, may_wait: bool) -> io::Result<Option<ExtensionUnit>> {
        match (self.extension(), unit.extension_address()) {
            (Some(extension), Some(address)) => extension.read(address, may_wait),
            _ => Ok(None),
        }
    }

    /// First offset of the file after the one that holds `offset`; in a batch queue, whose offsets do not tell their
    /// file, the minimum.
    pub fn next_file_start(&self, offset: i64) -> i64 {
        match self.kind() {
            QueueKind::Simple => self.files().file_start(offset) + self.files().layout().units_per_file,
            QueueKind::Batch => self.min_offset(),
        }
    }

    /// The first place in [from, to) behind all records that lie before something: `is_before` holds for the first
    /// records and for none behind them. `to` when all do. Blanks have no say. In a simple queue places are offsets.
    ///
    /// # Errors
    /// Units cannot be read, or what `is_before` says.
    pub(crate) fn behind_those(
        &self,
        from: i64,
        to: i64,
        mut is_before: impl FnMut(Unit) -> io::Result<bool>,
    ) -> io::Result<i64> {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.next_record(middle, high)? {
                Some((place, entry)) if is_before(entry.unit)? => low = place + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The first unit at the places [from, to) that points at a record, with its place.
    pub(super) fn next_record(&self, from: i64, to: i64) -> io::Result<Option<(i64, Entry)>> {
        let mut cursor = Cursor::at_place(self, from);
        while let Some((place, entry)) = cursor.next_with_place()?.filter(|(place, _)| *place < to) {
            if entry.unit.is_record() {
                return Ok(Some((place, entry)));
            }
        }
        Ok(None)
    }

    /// The last unit in the files at the places [first, end) that points at a record, with its place.
    pub(super) fn last_record(&self, first: i64, end: i64) -> io::Result<Option<(i64, Entry)>> {
        for place in (first..end).rev() {
            let entry = self.stored_at(place)?;
            if entry.unit.is_record() {
                return Ok(Some((place, entry)));
            }
        }
        Ok(None)
    }

    /// What the files have at a place, whether or not it is known to be there.
    pub(super) fn stored_at(&self, place: i64) -> io::Result<Entry> {
        let mut bytes = [0; BATCH_UNIT_SIZE];
        let length = self.files().read(place, &mut bytes[..self.kind().unit_size()], true)?;
        Entry::decode(self.kind(), place, &bytes[..length]).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
