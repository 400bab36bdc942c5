//! The dispatcher: turns new records into consume queue units and tells those who wait for them.
//!
//! It walks the log in order, so a position says everything about how far it came; what it makes is made
//! again from any earlier position without harm.

mod arrival;
mod bit_map;
mod delay;
mod feed;
mod flush;
mod progress;
mod thread;
mod units;
mod walk;

pub use arrival::{Arrival, ArrivalListener};
pub use bit_map::BitMaps;
pub use delay::DelayLevels;
pub use feed::Marks;
pub(crate) use feed::{Feed, Known};
pub use flush::{FlushIntervals, QueueFlusher};
pub use progress::Progress;
pub use thread::{Dispatcher, Waker};
pub use walk::{Dispatch, DispatchError, RecordConsumer};

pub use crate::read::record::RecordFields;
