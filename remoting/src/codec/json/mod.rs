//! The JSON header: one flat object that is read in place and written by hand.
//!
//! A general JSON parser would allocate for every key and value; this one appends texts straight
//! to [`crate::Fields`].

mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::encode;
