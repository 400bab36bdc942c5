//! Index files: which records have a key, by hash and store time (constants.md, section 7).
//!
//! A file is a header of 40 bytes, hash slots of 4, and items of 20 in the order they were put. A slot holds the number
//! of its newest item, an item that of the one before it in its slot; item 0 is never used.
//!
//! The file being written keeps its slots in memory, a page at a time as they are touched, and its newest
//! items; both go to disk at the flush, items before slots before header. What a killed process did not flush is
//! made again from the log: the index is built by a walk of its own that no send and no consumer waits for.

mod builder;
mod file;
mod header;
mod reader;
mod slots;
mod table;
mod writer;

pub use builder::IndexBuilder;
pub use header::{HEADER_SIZE, Header, ITEM_SIZE, Item};
pub use reader::IndexReader;
pub use table::{IndexKind, IndexTable, QueryOffsets, hash, sort_by_log};
pub use writer::keys;
pub(crate) use writer::keys_of;
