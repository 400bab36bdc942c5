//! Offsets: where groups are, and where queues begin and end.

mod copy;
mod requests;
mod reset;
mod resets;
mod table;

pub(crate) use copy::{clone, correction};
pub(crate) use requests::{earliest_time, get_all, max, min, query, search, update};
pub(crate) use reset::reset;
pub(crate) use table::{Ahead, OffsetTable};
