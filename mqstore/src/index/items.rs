//! The items of all index files, one behind another.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

use apogee_store::index::{Header, Item};

use super::file::{IndexFile, Shape};
use super::files::IndexFiles;
use crate::error::Error;

/// An item with where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) item: Item,
    pub(crate) number: i32,
    /// Of its file.
    pub(crate) header: Header,
    path: Rc<PathBuf>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} item {}", self.path.display(), self.number)
    }
}

/// Reads some thousand items at a time.
pub(crate) struct Items<'a> {
    files: &'a IndexFiles,
    shape: Shape,
    next_file: usize,
    /// The file being read, its path and its next item.
    file: Option<(IndexFile, Rc<PathBuf>, i32)>,
    ready: VecDeque<Found>,
    taken: u64,
}

impl<'a> Items<'a> {
    pub(crate) fn new(files: &'a IndexFiles, shape: Shape) -> Self {
        Self { files, shape, next_file: 0, file: None, ready: VecDeque::new(), taken: 0 }
    }

    /// How many were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// The next item, which stays.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn peek(&mut self) -> Result<Option<&Found>, Error> {
        self.fill(1)?;
        Ok(self.ready.front())
    }

    /// Takes the next item.
    ///
    /// # Errors
    /// As [`Items::peek`].
    pub(crate) fn next(&mut self) -> Result<Option<Found>, Error> {
        self.fill(1)?;
        let found = self.ready.pop_front();
        self.taken += u64::from(found.is_some());
        Ok(found)
    }

    /// Whether the next item leads further than the one behind it, which would be in order: then the first is wrong.
    ///
    /// # Errors
    /// As [`Items::peek`].
    pub(crate) fn is_out_of_order(&mut self, last: i64) -> Result<bool, Error> {
        self.fill(2)?;
        let to = |n: usize| self.ready.get(n).map(|found| found.item.physical_offset);
        Ok(matches!((to(0), to(1)), (Some(first), Some(second)) if second < first && second >= last))
    }

    fn fill(&mut self, count: usize) -> Result<(), Error> {
        while self.ready.len() < count {
            let Some((file, path, next)) = &mut self.file else {
                let Some(path) = self.files.paths().get(self.next_file) else { return Ok(()) };
                self.next_file += 1;
                self.file = Some((IndexFile::open(path)?, Rc::new(path.clone()), 1));
                continue;
            };
            let items = file.items(self.shape, *next, AT_ONCE)?;
            for item in &items {
                self.ready.push_back(Found { item: *item, number: *next, header: file.header, path: Rc::clone(path) });
                *next += 1;
            }
            if items.is_empty() {
                self.file = None;
            }
        }
        Ok(())
    }
}

/// Items read at once.
pub(crate) const AT_ONCE: i32 = 3000;
