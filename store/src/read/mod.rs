//! Reading messages: by queue offset, by time, by physical offset.

mod get;
mod limits;
#[cfg(test)]
pub(crate) mod memory_log;
pub(crate) mod record;
mod runs;
mod source;
mod time;

pub use get::{GetRequest, GetResult, GetStatus, MessageFilter, get};
pub use limits::ReadLimits;
pub use record::RecordFields;
pub use source::{RecordSource, record_at};
pub use time::{Boundary, offset_by_time, store_time, store_time_at};
