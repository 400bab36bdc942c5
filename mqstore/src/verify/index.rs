//! Records against index items, and items against records.
//!
//! Items were put in the order of the log, so both are walked side by side.

use apogee_remoting::message::record::Record;
use apogee_store::index::Header;

use super::report::Report;
use crate::error::Error;
use crate::expected::{Key, index_keys};
use crate::index::{AT_ONCE, Found, IndexFile, IndexFiles, Items, Shape};

/// The items of all files, as far as records led to them.
pub(super) struct IndexCheck<'a> {
    /// `None` when there is nothing to check.
    items: Option<Items<'a>>,
    files: usize,
    log_min: i64,
    unclean: bool,
    /// Physical offset of the last record, and what the index may hold for it.
    last: (i64, Vec<Key>),
}

impl<'a> IndexCheck<'a> {
    pub(super) fn new(
        files: &'a IndexFiles,
        log_min: i64,
        unclean: bool,
        enabled: bool,
        report: &mut Report,
    ) -> Result<Self, Error> {
        let mut check = Self { items: None, files: files.paths().len(), log_min, unclean, last: (-1, Vec::new()) };
        if !files.has_items() {
            report.pending("index, which is made", u64::from(enabled));
        } else if let Some(shape) = files.shape() {
            for (n, path) in files.paths().iter().enumerate() {
                structure(&IndexFile::open(path)?, shape, unclean && n + 1 == files.paths().len(), report)?;
            }
            check.items = Some(Items::new(files, shape));
        } else {
            let text = "no file shows how many slots it has: give --index-slots (maxHashSlotNum)";
            report.problem("index", text)?;
        }
        Ok(check)
    }

    /// Looks for the items of a record.
    pub(super) fn record(&mut self, record: &Record<'_>, report: &mut Report) -> Result<(), Error> {
        let Some(items) = &mut self.items else { return Ok(()) };
        let at = record.physical_offset;
        let keys = index_keys(record);
        let mut missing = keys.clone();
        while let Some(to) = items.peek()?.map(|found| found.item.physical_offset) {
            if to > at && !items.is_out_of_order(self.last.0)? {
                break;
            }
            let Some(found) = items.next()? else { break };
            if to == at {
                if let Some(n) = missing.iter().position(|key| key.hash == found.item.hash) {
                    missing.remove(n);
                } else if !keys.iter().any(|key| key.hash == found.item.hash) {
                    report.problem("index", format_args!("{found}: the record at {to} has no such key"))?;
                }
                check_times(&found, record.store_timestamp, report)?;
            } else if to >= self.log_min
                && !(to == self.last.0 && self.last.1.iter().any(|key| key.hash == found.item.hash))
            {
                report.problem("index", format_args!("{found}: no record at {to}"))?;
            }
        }
        let missing = missing.iter().filter(|key| !key.may_be_missing).count() as u64;
        if missing > 0 && self.unclean && items.peek()?.is_none() {
            report.pending("keys that are put into the index", missing);
        } else if missing > 0 {
            report.problem("index", format_args!("{missing} keys of the record at {at} are missing"))?;
        }
        self.last = (at, keys);
        Ok(())
    }

    /// Once the log was walked to its end.
    pub(super) fn finish(self, log_end: i64, report: &mut Report) -> Result<(), Error> {
        let Some(mut items) = self.items else { return Ok(()) };
        while let Some(found) = items.next()? {
            let to = found.item.physical_offset;
            if to >= self.log_min {
                let why = if to >= log_end { "behind the end of the log" } else { "no record there" };
                report.problem("index", format_args!("{found}: leads to {to}: {why}"))?;
            }
        }
        report.line(format_args!("index: {} files with {} items", self.files, items.taken()))
    }
}

fn check_times(found: &Found, stored: i64, report: &mut Report) -> Result<(), Error> {
    let Header { begin_time, end_time, next, .. } = found.header;
    let seconds = if begin_time <= 0 { 0 } else { ((stored - begin_time) / 1000).clamp(0, i64::from(i32::MAX)) };
    let is_first = found.number == 1 && begin_time != stored;
    let is_last = found.number == next - 1 && end_time != stored;
    if i64::from(found.item.seconds) != seconds || is_first || is_last {
        report.problem("index", format_args!("{found}: its time is not that of the record, {stored}"))?;
    }
    Ok(())
}

/// Slots and chains of a file lead to its items, each once and backwards. `unfinished`: the file was being written when the
/// process ended, and its slots are made anew at the next start.
fn structure(file: &IndexFile, shape: Shape, unfinished: bool, report: &mut Report) -> Result<(), Error> {
    let path = file.path().display();
    let header = file.header;
    if file.length() != shape.file_size() || header.next as usize > shape.items {
        let (length, size) = (file.length(), shape.file_size());
        let text = format!("{path}: {length} bytes with {} items, files of this index have {size}", header.next - 1);
        report.problem("index", text)?;
    }
    let mut slots = vec![0; shape.slots];
    let mut number = 1;
    let mut offset = header.begin_offset;
    loop {
        let items = file.items(shape, number, AT_ONCE)?;
        if items.is_empty() {
            break;
        }
        for item in items {
            let previous = std::mem::replace(&mut slots[shape.slot(item.hash)], number);
            let fault = match () {
                () if item.hash < 0 => "a hash is not negative",
                () if item.previous != previous => "the item before it in its slot is another",
                () if item.physical_offset < offset => "it leads further back than the one before",
                () => "",
            };
            if !fault.is_empty() {
                report.problem(
                    "index",
                    format_args!("{path} item {number} byte {}: {fault}", shape.item_place(number)),
                )?;
            }
            offset = item.physical_offset;
            number += 1;
        }
    }
    if number > 1 && offset != header.end_offset {
        report.problem(
            "index",
            format_args!("{path}: the header ends at {}, the last item at {offset}", header.end_offset),
        )?;
    }
    if !unfinished {
        for (slot, (found, expected)) in file.slots(shape)?.into_iter().zip(slots).enumerate() {
            if found != expected {
                let text = format!("{path} slot {slot} leads to item {found}, the newest is {expected}");
                report.problem("index", text)?;
            }
        }
    }
    Ok(())
}
