//! The JSON header: one flat object that is read in place and written by hand.
//!
//! A general JSON parser would allocate for every key and value; these keep the header's text with the places of keys and
//! values in it ([`crate::Fields`]). `plain` reads what clients write, `again` what is written as one before it, `read` anything.

mod again;
mod plain;
mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::{Fields, begin};
