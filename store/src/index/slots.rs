//! The hash slots of the file being written, in memory where they were touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::header::HEADER_SIZE;
use crate::files;

/// Slots of one file, by pages. Each page has memory of its own, from when it is first put into: one allocation for all would take
/// huge pages where the system gives them without being asked, for a few keys.
#[derive(Debug)]
pub(super) struct Slots {
    count: usize,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    known: Known,
    slots: Option<Box<[i32; SLOTS_A_PAGE]>>,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The file has it.
    Absent,
    /// Empty, in the file too; what memory has is of another file.
    Blank,
    /// As in the file.
    Clean,
    /// The file has yet to get it.
    Dirty,
}

impl Slots {
    /// Those of a file that has some.
    pub(super) fn of_file(count: usize) -> Self {
        Self::all(count, || Page { known: Known::Absent, slots: None })
    }

    /// Those of a file that was made now.
    pub(super) fn empty(count: usize) -> Self {
        Self::all(count, || Page { known: Known::Blank, slots: None })
    }

    /// All slots, empty, and different from what the file has.
    pub(super) fn cleared(count: usize) -> Self {
        Self::all(count, || Page { known: Known::Dirty, slots: Some(no_items()) })
    }

    fn all(count: usize, page: impl FnMut() -> Page) -> Self {
        Self { count, pages: std::iter::repeat_with(page).take(count.div_ceil(SLOTS_A_PAGE)).collect() }
    }

    /// The same memory for a file that was made now: 20 MB need not be given back and got anew at each step to the next file.
    pub(super) fn reuse(mut self) -> Self {
        for page in &mut self.pages {
            page.known = Known::Blank;
        }
        self
    }

    /// The item number in a slot.
    pub(super) fn get(&self, file: &File, slot: usize) -> io::Result<i32> {
        let page = &self.pages[slot / SLOTS_A_PAGE];
        match (page.known, &page.slots) {
            (Known::Clean | Known::Dirty, Some(slots)) => Ok(slots[slot % SLOTS_A_PAGE]),
            (Known::Blank, _) => Ok(0),
            _ => read_slot(file, slot),
        }
    }

    /// Puts an item number into a slot; gives the one that was there.
    pub(super) fn replace(&mut self, file: &File, slot: usize, number: i32) -> io::Result<i32> {
        let first = slot - slot % SLOTS_A_PAGE;
        let on_page = SLOTS_A_PAGE.min(self.count - first);
        let page = &mut self.pages[slot / SLOTS_A_PAGE];
        let slots = page.slots.get_or_insert_with(no_items);
        match page.known {
            Known::Absent => read(file, first, &mut slots[..on_page])?,
            Known::Blank => slots.fill(0),
            Known::Clean | Known::Dirty => {}
        }
        page.known = Known::Dirty;
        Ok(std::mem::replace(&mut slots[slot % SLOTS_A_PAGE], number))
    }

    /// Reads slots that are needed soon. Nearly each is in no cache: so the processor waits for all of them at once.
    pub(super) fn touch(&self, slots: impl Iterator<Item = usize>) {
        let pages = slots.map(|slot| (&self.pages[slot / SLOTS_A_PAGE], slot % SLOTS_A_PAGE));
        let read = pages.filter_map(|(page, slot)| page.slots.as_ref().map(|slots| slots[slot]));
        std::hint::black_box(read.fold(0, |all, slot| all ^ slot));
    }

    /// Writes what changed, neighbours together.
    pub(super) fn write(&mut self, file: &File) -> io::Result<()> {
        let mut bytes = Vec::new();
        let is_dirty = |page: &Page| page.known == Known::Dirty;
        let mut at = 0;
        while let Some(first) = self.pages[at..].iter().position(is_dirty).map(|first| at + first) {
            let most = (first + PAGES_AT_ONCE).min(self.pages.len());
            at = first + self.pages[first..most].iter().take_while(|page| is_dirty(page)).count();
            let run = &mut self.pages[first..at];
            let slots = run.iter().filter_map(|page| page.slots.as_deref()).flatten();
            bytes.clear();
            bytes.extend(slots.take(self.count - first * SLOTS_A_PAGE).flat_map(|slot| slot.to_be_bytes()));
            files::write_all_at(file, &bytes, place(first * SLOTS_A_PAGE))?;
            for page in run {
                page.known = Known::Clean;
            }
        }
        Ok(())
    }
}

fn no_items() -> Box<[i32; SLOTS_A_PAGE]> {
    Box::new([0; SLOTS_A_PAGE])
}

/// Reads slots of a file, from this one on.
fn read(file: &File, first: usize, slots: &mut [i32]) -> io::Result<()> {
    let mut bytes = [0; SLOTS_A_PAGE * SLOT_SIZE];
    file.read_exact_at(&mut bytes[..slots.len() * SLOT_SIZE], place(first))?;
    for (slot, bytes) in slots.iter_mut().zip(bytes.as_chunks::<SLOT_SIZE>().0) {
        *slot = i32::from_be_bytes(*bytes);
    }
    Ok(())
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
/// Pages written by one call: 256 KiB.
const PAGES_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tempfile::tempfile;

    use super::*;

    /// Three pages, the last one short.
    const COUNT: usize = 2 * SLOTS_A_PAGE + 10;

    #[derive(Clone, Debug)]
    enum Step {
        Replace(usize),
        Write,
        /// Writes, and goes on with what the file has.
        Reopen,
        /// Goes on with a new file.
        Reuse,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            20 => (0..COUNT).prop_map(Step::Replace),
            2 => Just(Step::Write),
            1 => Just(Step::Reopen),
            1 => Just(Step::Reuse),
        ]
    }

    fn new_file() -> File {
        let file = tempfile().unwrap();
        file.set_len((HEADER_SIZE + COUNT * SLOT_SIZE) as u64).unwrap();
        file
    }

    fn written(file: &File) -> Vec<i32> {
        (0..COUNT).map(|slot| read_slot(file, slot).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn slots_are_those_of_one_file(steps in vec(step(), 1..80), is_cleared: bool) {
            let mut file = new_file();
            let mut slots = if is_cleared { Slots::cleared(COUNT) } else { Slots::empty(COUNT) };
            if is_cleared {
                // what a damaged file had
                file.write_all_at(&[7; COUNT * SLOT_SIZE], HEADER_SIZE as u64).unwrap();
            }
            let mut expected = vec![0; COUNT];
            for (number, step) in (1..).zip(steps) {
                match step {
                    Step::Replace(slot) => {
                        let before = std::mem::replace(&mut expected[slot], number);
                        prop_assert_eq!(slots.get(&file, slot).unwrap(), before);
                        prop_assert_eq!(slots.replace(&file, slot, number).unwrap(), before);
                    }
                    Step::Write => {
                        slots.write(&file).unwrap();
                        prop_assert_eq!(&written(&file), &expected);
                    }
                    Step::Reopen => {
                        slots.write(&file).unwrap();
                        slots = Slots::of_file(COUNT);
                    }
                    Step::Reuse => {
                        file = new_file();
                        slots = slots.reuse();
                        expected.fill(0);
                    }
                }
                for (slot, number) in expected.iter().enumerate() {
                    prop_assert_eq!(slots.get(&file, slot).unwrap(), *number, "slot {}", slot);
                }
            }
        }
    }
}
