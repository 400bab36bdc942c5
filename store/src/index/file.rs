//! One index file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::header::{HEADER_SIZE, Header, ITEM_SIZE, Item};
use super::slots::{SLOT_SIZE, Slots, read_slot};
use crate::files;

/// Slots and items of every file (maxHashSlotNum, maxIndexNum).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) slots: usize,
    pub(super) items: usize,
}

impl Shape {
    pub(super) fn file_size(self) -> u64 {
        (HEADER_SIZE + self.slots * SLOT_SIZE + self.items * ITEM_SIZE) as u64
    }

    fn item_place(self, number: i32) -> u64 {
        (HEADER_SIZE + self.slots * SLOT_SIZE + number as usize * ITEM_SIZE) as u64
    }

    fn slot(self, hash: i32) -> usize {
        hash as usize % self.slots
    }
}

/// An index file; the last one is being written.
#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    file: File,
    shape: Shape,
    pub(super) header: Header,
    writing: Option<Writing>,
}

#[derive(Debug)]
struct Writing {
    slots: Slots,
    /// Items not yet in the file, as bytes, the first one's number before.
    first: i32,
    items: Vec<u8>,
}

impl IndexFile {
    /// Makes a file that follows one that ended so. Its slots take the memory that those of a full one were in.
    pub(super) fn create(path: PathBuf, shape: Shape, header: Header, memory: Option<Slots>) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(shape.file_size())?;
        let slots = memory.map_or_else(|| Slots::empty(shape.slots), Slots::reuse);
        let writing = Some(Writing { slots, first: header.next, items: Vec::new() });
        Ok(Self { path, file, shape, header, writing })
    }

    /// Opens a file; `None` when it is none of this shape.
    pub(super) fn open(path: PathBuf, shape: Shape) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(files::named(&path))?;
        if file.metadata()?.len() != shape.file_size() {
            return Ok(None);
        }
        let mut header = [0; HEADER_SIZE];
        file.read_exact_at(&mut header, 0)?;
        let header = Header::from_bytes(&header);
        let sound = header.next as usize <= shape.items && header.begin_offset >= 0 && header.end_offset >= 0;
        Ok(sound.then_some(Self { path, file, shape, header, writing: None }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_full(&self) -> bool {
        self.header.next as usize >= self.shape.items
    }

    /// Adds an item; the file must not be full.
    pub(super) fn put(&mut self, hash: i32, physical_offset: i64, store_time: i64) -> io::Result<()> {
        let number = self.header.next;
        let writing = self.writing.get_or_insert_with(|| Writing {
            slots: Slots::of_file(self.shape.slots),
            first: number,
            items: Vec::new(),
        });
        let slot = self.shape.slot(hash);
        let previous = writing.slots.replace(&self.file, slot, number)?;
        let previous = if (1..number).contains(&previous) { previous } else { 0 };
        let header = &mut self.header;
        let seconds = if header.begin_time <= 0 {
            0
        } else {
            ((store_time - header.begin_time) / 1000).clamp(0, i64::from(i32::MAX)) as i32
        };
        let item = Item { hash, physical_offset, seconds, previous };
        writing.items.extend_from_slice(&item.to_bytes());
        if number == 1 {
            header.begin_offset = physical_offset;
            header.begin_time = store_time;
        }
        if previous == 0 {
            header.used_slots += 1;
        }
        header.next += 1;
        header.end_offset = physical_offset;
        header.end_time = store_time;
        if writing.items.len() >= ITEMS_AT_ONCE {
            // a failure shows again at the flush; the items are kept until then
            let _ = self.write_items();
        }
        Ok(())
    }

    /// Brings near the slots that keys need.
    pub(super) fn expect(&self, hashes: &[i32]) {
        if let Some(writing) = &self.writing {
            writing.slots.touch(hashes.iter().map(|hash| self.shape.slot(*hash)));
        }
    }

    /// Writes what is in memory, in the order in which it can be cut off.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.write_items()?;
        if let Some(writing) = &mut self.writing {
            writing.slots.write(&self.file)?;
        }
        files::write_all_at(&self.file, &self.header.to_bytes(), 0)
    }

    /// Flushes, syncs, and keeps nothing in memory any more. Gives the memory that its slots were in.
    pub(super) fn finish(&mut self) -> io::Result<Option<Slots>> {
        self.flush()?;
        files::sync(&self.file)?;
        Ok(self.writing.take().map(|writing| writing.slots))
    }

    /// Adds to `found` the physical offsets of items with this hash stored in [begin, end], newest first, until
    /// there are `max`.
    pub(super) fn search(&self, hash: i32, begin: i64, end: i64, max: usize, found: &mut Vec<i64>) -> io::Result<()> {
        let mut number = self.newest(hash)?;
        while number > 0 && number < self.header.next && found.len() < max {
            let item = self.item(number)?;
            if item.seconds < 0 {
                break;
            }
            let time = self.header.begin_time + i64::from(item.seconds) * 1000;
            if item.hash == hash && (begin..=end).contains(&time) {
                found.push(item.physical_offset);
            }
            // chains lead back in time, whatever a damaged file says
            if time < begin || item.previous >= number {
                break;
            }
            number = item.previous;
        }
        Ok(())
    }

    /// How many of the newest items are of the record at the file's end; whether that is all items.
    pub(super) fn items_of_last(&self) -> io::Result<(usize, bool)> {
        let mut count = 0;
        let mut number = self.header.next - 1;
        while number > 0 && self.item(number)?.physical_offset == self.header.end_offset {
            count += 1;
            number -= 1;
        }
        Ok((count, number == 0))
    }

    /// Makes slots and header anew from the items, up to the first one that is not of the log [.., log_end) or does not
    /// follow on the one before. `store_time` tells the time of a record.
    pub(super) fn rebuild(
        &mut self,
        log_end: i64,
        store_time: impl Fn(i64) -> io::Result<Option<i64>>,
    ) -> io::Result<()> {
        let mut slots = Slots::cleared(self.shape.slots);
        let mut header = Header { used_slots: 0, next: 1, end_offset: self.header.begin_offset, ..self.header };
        let mut bytes = vec![0; ITEMS_AT_ONCE];
        'items: while header.next < self.header.next {
            let left = (self.header.next - header.next) as usize * ITEM_SIZE;
            let length = left.min(bytes.len());
            self.file.read_exact_at(&mut bytes[..length], self.shape.item_place(header.next))?;
            for item in bytes[..length].as_chunks::<ITEM_SIZE>().0 {
                let item = Item::from_bytes(item);
                let follows = (header.end_offset..log_end).contains(&item.physical_offset);
                if !follows || item.hash < 0 || item.seconds < 0 {
                    break 'items;
                }
                let slot = self.shape.slot(item.hash);
                let previous = slots.replace(&self.file, slot, header.next)?;
                if item.previous != previous {
                    slots.replace(&self.file, slot, previous)?;
                    break 'items;
                }
                header.used_slots += i32::from(previous == 0);
                header.end_offset = item.physical_offset;
                header.next += 1;
            }
        }
        header.end_time = match store_time(header.end_offset)? {
            Some(time) => time,
            None => header.end_time.min(self.header.end_time),
        };
        self.writing = Some(Writing { slots, first: header.next, items: Vec::new() });
        self.header = header;
        match self.flush() {
            // it stays in memory until there is room: a full disk is still read
            Err(error) if files::is_full_disk(&error) => {
                warn!(file = %self.path.display(), %error, "an index file made anew waits for room on the disk");
                Ok(())
            }
            flushed => flushed,
        }
    }

    fn newest(&self, hash: i32) -> io::Result<i32> {
        let slot = self.shape.slot(hash);
        match &self.writing {
            Some(writing) => writing.slots.get(&self.file, slot),
            None => read_slot(&self.file, slot),
        }
    }

    fn item(&self, number: i32) -> io::Result<Item> {
        if let Some(writing) = &self.writing
            && number >= writing.first
        {
            let at = (number - writing.first) as usize * ITEM_SIZE;
            if let Some(bytes) = writing.items.get(at..).and_then(<[u8]>::first_chunk) {
                return Ok(Item::from_bytes(bytes));
            }
        }
        let mut bytes = [0; ITEM_SIZE];
        self.file.read_exact_at(&mut bytes, self.shape.item_place(number))?;
        Ok(Item::from_bytes(&bytes))
    }

    fn write_items(&mut self) -> io::Result<()> {
        if let Some(writing) = &mut self.writing
            && !writing.items.is_empty()
        {
            let place = self.shape.item_place(writing.first);
            files::write_all_at(&self.file, &writing.items, place)?;
            writing.first += (writing.items.len() / ITEM_SIZE) as i32;
            writing.items.clear();
        }
        Ok(())
    }
}

/// Bytes of items gathered before they are written.
const ITEMS_AT_ONCE: usize = 3276 * ITEM_SIZE;
