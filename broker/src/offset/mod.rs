//! Offsets: where groups are, and where queues begin and end.

mod requests;
mod table;

pub(crate) use requests::{earliest_time, get_all, max, min, query, search, update};
pub(crate) use table::OffsetTable;
