//! The extension of a consume queue (`consumequeue_ext`): what a unit of 20 bytes has no room for, above all which
//! filters the message passes.
//!
//! Files of a fixed size, named by the place of their first byte, with units one behind another. A unit that would not
//! leave 4 bytes free goes to the next file, and two bytes of `FF` close this one. The consume queue's unit has the
//! address instead of its tags code: the place, moved below every hash code.

use std::fs;
use std::io;

use parking_lot::Mutex;
use tracing::warn;

use super::entry::Entry;
use super::extension_unit::{ExtensionUnit, HEAD};
use super::files::QueueFiles;
use super::unit::{self, Unit};

/// The extension of one queue. The queue's dispatcher appends; any number read.
#[derive(Debug)]
pub(super) struct Extension {
    files: QueueFiles,
    /// Whether new units go into it (enableConsumeQueueExt); what is there is read all the same.
    is_written: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Place of the first byte of each file, ascending.
    file_starts: Vec<i64>,
    /// Bytes not yet in a file.
    tail: Vec<u8>,
    /// Place of the first of them.
    tail_start: i64,
    /// Everything before this place was synced.
    synced: i64,
}

impl State {
    fn end(&self) -> i64 {
        self.tail_start + self.tail.len() as i64
    }
}

impl Extension {
    pub(super) fn new(files: QueueFiles, is_written: bool) -> Self {
        Self { files, is_written, state: Mutex::default() }
    }

    pub(super) fn is_written(&self) -> bool {
        self.is_written
    }

    /// Adds what belongs to a unit of the queue and gives its address. `None`: the queue's unit keeps its tags code,
    /// because the extension is not written, is full, or the bit map is too long.
    pub(super) fn append(&self, entry: Entry, bit_map: &[u8]) -> Option<i64> {
        if !self.is_written {
            return None;
        }
        let file_size = self.files.layout().units_per_file;
        let size = (HEAD + bit_map.len()) as i64;
        let state = &mut *self.state.lock();
        if size > file_size - LEFT_FREE || state.end() + file_size > unit::MAX_EXTENSION_PLACE {
            return None;
        }
        let left = self.files.file_start(state.end()) + file_size - state.end();
        if size > left - LEFT_FREE {
            let start_of_next = state.tail.len() + left as usize;
            state.tail.extend_from_slice(&FILE_END);
            state.tail.resize(start_of_next, 0);
        }
        let place = state.end();
        ExtensionUnit::encode(entry.unit.tags_code, entry.store_timestamp, bit_map, &mut state.tail)
            .then(|| unit::address_of(place))
    }

    /// What is at a place; `None` where no unit is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(&self, place: i64, may_wait: bool) -> io::Result<Option<ExtensionUnit>> {
        let mut head = [0; HEAD];
        let length = self.read_bytes(place, &mut head, may_wait)?;
        let Some(size) = ExtensionUnit::size(&head[..length]) else { return Ok(None) };
        let mut bytes = vec![0; size];
        let length = self.read_bytes(place, &mut bytes, may_wait)?;
        Ok(ExtensionUnit::decode(&bytes[..length]))
    }

    fn read_bytes(&self, place: i64, into: &mut [u8], may_wait: bool) -> io::Result<usize> {
        {
            let state = self.state.lock();
            if place >= state.tail_start {
                let tail = usize::try_from(place - state.tail_start).ok().and_then(|start| state.tail.get(start..));
                let tail = tail.unwrap_or_default();
                let length = tail.len().min(into.len());
                into[..length].copy_from_slice(&tail[..length]);
                return Ok(length);
            }
        }
        match self.files.read(place, into, may_wait) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            read => read,
        }
    }

    /// Writes what is gathered to its files.
    ///
    /// # Errors
    /// A file cannot be written; what is not written is kept.
    pub(super) fn write_out(&self) -> io::Result<()> {
        let state = &mut *self.state.lock();
        while !state.tail.is_empty() {
            let start = self.files.file_start(state.tail_start);
            let is_new = state.file_starts.last().is_none_or(|last| *last < start);
            let written = self.files.write(state.tail_start, &state.tail, is_new)?;
            if is_new {
                state.file_starts.push(start);
            }
            state.tail.drain(..written as usize);
            state.tail_start += written;
        }
        state.tail = Vec::new();
        Ok(())
    }

    /// Syncs what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        let (from, to) = {
            let state = self.state.lock();
            (state.synced, state.tail_start)
        };
        if from < to {
            self.files.sync(from, to)?;
            let mut state = self.state.lock();
            state.synced = state.synced.max(to);
        }
        Ok(())
    }

    /// Finds out what is on disk, and cuts off what lies behind what the queue's last unit points at; all, where the queue
    /// has no unit. Behind a unit that has its own tags code, what is there is kept.
    ///
    /// # Errors
    /// A file cannot be read or changed, or is not of the configured size.
    pub(super) fn recover(&self, last: Option<Unit>) -> io::Result<()> {
        let found = match self.files.list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        let mut state = self.state.lock();
        for (start, length) in found {
            if length < self.files.layout().file_size() && self.is_written {
                self.files.clear_from(start + length as i64)?;
            }
            state.file_starts.push(start);
        }
        // until the end is known, everything is in files
        state.tail_start = i64::MAX;
        let first_start = state.file_starts.first().copied().unwrap_or(0);
        let last_start = state.file_starts.last().copied().unwrap_or(0);
        drop(state);
        let end = match last {
            None => first_start,
            Some(last) => match last.extension_address().map(|place| self.end_of(place)).transpose()?.flatten() {
                Some(end) => end,
                None => self.end_from(last_start)?,
            },
        };
        let state = &mut *self.state.lock();
        (state.tail_start, state.synced) = (end, end);
        if self.is_written {
            self.cut(state, end)?;
        }
        Ok(())
    }

    /// The place behind a unit.
    fn end_of(&self, place: i64) -> io::Result<Option<i64>> {
        let mut head = [0; 2];
        let length = self.read_bytes(place, &mut head, true)?;
        let size = ExtensionUnit::size(&head[..length]);
        if size.is_none() {
            warn!(directory = %self.files.directory().display(), place, "a consume queue points at no unit of its extension");
        }
        Ok(size.map(|size| place + size as i64))
    }

    /// The place behind the last unit of a file.
    fn end_from(&self, start: i64) -> io::Result<i64> {
        let file_end = start + self.files.layout().units_per_file;
        let mut bytes = vec![0; READ_AT_ONCE];
        let mut end = start;
        loop {
            let filled = self.read_bytes(end, &mut bytes, true)?;
            let mut rest = &bytes[..filled];
            while let Some(size) = ExtensionUnit::size(rest).filter(|size| end + *size as i64 <= file_end) {
                end += size as i64;
                rest = rest.get(size..).unwrap_or_default();
            }
            // what is left is no unit, unless the bytes read ended here
            if filled < 2 || rest.len() >= 2 {
                return Ok(end);
            }
        }
    }

    /// Removes files behind the end, except the very first, and zeros what is left behind it in its file.
    fn cut(&self, state: &mut State, end: i64) -> io::Result<()> {
        while let Some(&last) = state.file_starts.last()
            && last >= end
            && last > 0
        {
            self.files.remove(last)?;
            state.file_starts.pop();
        }
        let Some(&last) = state.file_starts.last() else { return Ok(()) };
        let mut rest = [0; HEAD];
        if end < last + self.files.layout().units_per_file {
            let length = self.files.read(end, &mut rest, true)?;
            if rest[..length] != [0; HEAD][..length] {
                self.files.clear_from(end)?;
            }
        }
        Ok(())
    }

    /// Removes files that end before a place.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(super) fn remove_before(&self, place: i64) -> io::Result<()> {
        let mut state = self.state.lock();
        while let Some(&first) = state.file_starts.first()
            && first + self.files.layout().units_per_file < place
        {
            self.files.remove(first)?;
            state.file_starts.remove(0);
        }
        Ok(())
    }

    /// Removes everything; what is appended afterwards begins anew.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(super) fn delete(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        while let Some(&last) = state.file_starts.last() {
            self.files.remove(last)?;
            state.file_starts.pop();
        }
        *state = State::default();
        match fs::remove_dir(self.files.directory()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Bytes at the end of a file that no unit may take.
const LEFT_FREE: i64 = 4;
/// Stands behind the last unit of a file that has no room for the next one.
const FILE_END: [u8; 2] = [0xFF; 2];
const READ_AT_ONCE: usize = 64 * 1024;

#[cfg(test)]
#[path = "extension_tests.rs"]
mod tests;
