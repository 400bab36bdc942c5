//! One index file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use apogee_store::index::{HEADER_SIZE, Header, ITEM_SIZE, Item};

use crate::error::{Error, at};

/// Slots and items of a file (maxHashSlotNum, maxIndexNum).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) slots: usize,
    pub(crate) items: usize,
}

impl Shape {
    /// The one of a file of this length with so many slots.
    pub(super) fn with_slots(slots: usize, length: u64) -> Option<Self> {
        let items = (length as usize).checked_sub(HEADER_SIZE + slots * SLOT_SIZE)?;
        (slots > 0 && items % ITEM_SIZE == 0 && items > ITEM_SIZE).then_some(Self { slots, items: items / ITEM_SIZE })
    }

    /// Bytes of a file.
    pub(crate) fn file_size(self) -> u64 {
        self.item_place(self.items as i32)
    }

    /// The slot of a hash, which is not negative.
    pub(crate) fn slot(self, hash: i32) -> usize {
        hash.unsigned_abs() as usize % self.slots
    }

    /// The byte where an item starts.
    pub(crate) fn item_place(self, number: i32) -> u64 {
        (HEADER_SIZE + self.slots * SLOT_SIZE + number as usize * ITEM_SIZE) as u64
    }
}

/// A file, open.
#[derive(Debug)]
pub(crate) struct IndexFile {
    file: File,
    path: PathBuf,
    length: u64,
    pub(crate) header: Header,
}

impl IndexFile {
    /// Opens a file; what is missing of a short header counts as zero.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(at(path))?;
        let length = file.metadata().map_err(at(path))?.len();
        let mut bytes = [0; HEADER_SIZE];
        let there = HEADER_SIZE.min(length as usize);
        file.read_exact_at(&mut bytes[..there], 0).map_err(at(path))?;
        Ok(Self { file, path: path.to_owned(), length, header: Header::from_bytes(&bytes) })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes it has.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// How many slots the file has, found out from its content: items are where header and slots say.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn detect(&self) -> Result<Option<Shape>, Error> {
        if let Some(shape) = Shape::with_slots(DEFAULT_SLOTS, self.length).filter(|shape| shape.items == DEFAULT_ITEMS)
        {
            return Ok(Some(shape));
        }
        if self.header.next < 2 || self.length > DETECT_AT_MOST {
            return Ok(None);
        }
        let mut bytes = vec![0; self.length as usize];
        self.read(&mut bytes, 0)?;
        let shapes = (1..bytes.len() / SLOT_SIZE).filter_map(|slots| Shape::with_slots(slots, self.length));
        Ok(shapes.into_iter().find(|shape| self.fits(*shape, &bytes)))
    }

    fn fits(&self, shape: Shape, bytes: &[u8]) -> bool {
        let item = |number: i32| {
            let at = usize::try_from(shape.item_place(number)).ok()?;
            bytes.get(at..)?.first_chunk().map(Item::from_bytes)
        };
        let slot = |hash: i32| {
            let at = HEADER_SIZE + shape.slot(hash) * SLOT_SIZE;
            bytes.get(at..)?.first_chunk().map(|slot| i32::from_be_bytes(*slot))
        };
        let Header { begin_offset, end_offset, next, .. } = self.header;
        let (Some(first), Some(last)) = (item(1), item(next - 1)) else { return false };
        next as usize <= shape.items
            && (first.physical_offset, first.previous, first.seconds) == (begin_offset, 0, 0)
            && last.physical_offset == end_offset
            && slot(last.hash) == Some(next - 1)
            && slot(first.hash).is_some_and(|number| (1..next).contains(&number))
    }

    /// The numbers in the slots.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn slots(&self, shape: Shape) -> Result<Vec<i32>, Error> {
        let mut bytes = vec![0; shape.slots * SLOT_SIZE];
        self.read(&mut bytes, HEADER_SIZE as u64)?;
        Ok(bytes.as_chunks().0.iter().map(|slot| i32::from_be_bytes(*slot)).collect())
    }

    /// At most `count` items from one on, those that the header counts.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn items(&self, shape: Shape, from: i32, count: i32) -> Result<Vec<Item>, Error> {
        let end = self.header.next.min(shape.items as i32);
        let count = count.min(end.saturating_sub(from));
        if count <= 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; count as usize * ITEM_SIZE];
        self.read(&mut bytes, shape.item_place(from))?;
        Ok(bytes.as_chunks().0.iter().map(Item::from_bytes).collect())
    }

    /// Physical offsets of the records with a key of this hash, ascending.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn search(&self, shape: Shape, hash: i32) -> Result<Vec<i64>, Error> {
        let mut slot = [0; SLOT_SIZE];
        self.read(&mut slot, (HEADER_SIZE + shape.slot(hash) * SLOT_SIZE) as u64)?;
        let mut number = i32::from_be_bytes(slot);
        let mut found = Vec::new();
        while number > 0 && number < self.header.next {
            let Some(item) = self.items(shape, number, 1)?.first().copied() else { break };
            if item.hash == hash {
                found.push(item.physical_offset);
            }
            // chains lead back, whatever a damaged file says
            if item.previous >= number {
                break;
            }
            number = item.previous;
        }
        found.reverse();
        Ok(found)
    }

    /// Reads what is there; the rest stays zero.
    fn read(&self, into: &mut [u8], from: u64) -> Result<(), Error> {
        let there = (self.length.saturating_sub(from) as usize).min(into.len());
        self.file.read_exact_at(&mut into[..there], from).map_err(|source| Error::Read {
            path: self.path.clone(),
            at: from,
            source,
        })
    }
}

const SLOT_SIZE: usize = 4;
const DEFAULT_SLOTS: usize = 5_000_000;
const DEFAULT_ITEMS: usize = 20_000_000;
/// Larger files are not read whole to find out.
const DETECT_AT_MOST: u64 = 64 << 20;
