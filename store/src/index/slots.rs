//! The hash slots of the file being written, in memory where they were touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::header::HEADER_SIZE;
use crate::files;

/// Pages of slots, read when they are first needed.
#[derive(Debug)]
pub(super) struct Slots {
    count: usize,
    pages: Vec<Option<Box<Page>>>,
}

#[derive(Debug)]
struct Page {
    slots: [i32; SLOTS_A_PAGE],
    dirty: bool,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { count, pages: (0..count.div_ceil(SLOTS_A_PAGE)).map(|_| None).collect() }
    }

    /// All slots, empty, and different from what the file has.
    pub(super) fn cleared(count: usize) -> Self {
        let empty = || Some(Box::new(Page { slots: [0; SLOTS_A_PAGE], dirty: true }));
        Self { count, pages: (0..count.div_ceil(SLOTS_A_PAGE)).map(|_| empty()).collect() }
    }

    /// The item number in a slot.
    pub(super) fn get(&self, file: &File, slot: usize) -> io::Result<i32> {
        match &self.pages[slot / SLOTS_A_PAGE] {
            Some(page) => Ok(page.slots[slot % SLOTS_A_PAGE]),
            None => read_slot(file, slot),
        }
    }

    /// Puts an item number into a slot; gives the one that was there.
    pub(super) fn replace(&mut self, file: &File, slot: usize, number: i32) -> io::Result<i32> {
        let page_number = slot / SLOTS_A_PAGE;
        let on_page = self.on_page(page_number);
        let page = match &mut self.pages[page_number] {
            Some(page) => page,
            absent => {
                let mut bytes = [0; SLOTS_A_PAGE * SLOT_SIZE];
                file.read_exact_at(&mut bytes[..on_page * SLOT_SIZE], place(page_number * SLOTS_A_PAGE))?;
                let mut slots = [0; SLOTS_A_PAGE];
                for (slot, bytes) in slots.iter_mut().zip(bytes.as_chunks::<SLOT_SIZE>().0) {
                    *slot = i32::from_be_bytes(*bytes);
                }
                absent.insert(Box::new(Page { slots, dirty: false }))
            }
        };
        page.dirty = true;
        Ok(std::mem::replace(&mut page.slots[slot % SLOTS_A_PAGE], number))
    }

    /// Reads slots that are needed soon. Nearly each is in no cache: so the processor waits for all of them at once.
    pub(super) fn touch(&self, slots: impl Iterator<Item = usize>) {
        let pages = slots.map(|slot| (&self.pages[slot / SLOTS_A_PAGE], slot % SLOTS_A_PAGE));
        let read = pages.filter_map(|(page, slot)| page.as_ref().map(|page| page.slots[slot]));
        std::hint::black_box(read.fold(0, |all, slot| all ^ slot));
    }

    /// Writes what changed.
    pub(super) fn write(&mut self, file: &File) -> io::Result<()> {
        for number in 0..self.pages.len() {
            let on_page = self.on_page(number);
            let Some(page) = &mut self.pages[number] else {
                continue;
            };
            if !page.dirty {
                continue;
            }
            let mut bytes = [0; SLOTS_A_PAGE * SLOT_SIZE];
            for (slot, bytes) in page.slots.iter().zip(bytes.as_chunks_mut::<SLOT_SIZE>().0) {
                *bytes = slot.to_be_bytes();
            }
            files::write_all_at(file, &bytes[..on_page * SLOT_SIZE], place(number * SLOTS_A_PAGE))?;
            page.dirty = false;
        }
        Ok(())
    }

    fn on_page(&self, number: usize) -> usize {
        SLOTS_A_PAGE.min(self.count - number * SLOTS_A_PAGE)
    }
}

/// The item number in a slot of a file.
pub(super) fn read_slot(file: &File, slot: usize) -> io::Result<i32> {
    let mut bytes = [0; SLOT_SIZE];
    file.read_exact_at(&mut bytes, place(slot))?;
    Ok(i32::from_be_bytes(bytes))
}

fn place(slot: usize) -> u64 {
    (HEADER_SIZE + slot * SLOT_SIZE) as u64
}

pub(super) const SLOT_SIZE: usize = 4;
const SLOTS_A_PAGE: usize = 1024;
