//! The disk: commit log, consume queues, checkpoint and recovery in the layout of the reference.

mod checkpoint;
mod clock;
mod disk;
pub mod dispatch;
#[cfg(test)]
mod faults;
mod files;
pub mod index;
pub mod light;
mod log;
mod mapping;
mod marks;
mod name_map;
#[cfg(test)]
mod power_loss;
mod progress;
pub mod queue;
pub mod read;
mod stop;
mod store;

pub use checkpoint::{Checkpoint, Positions};
pub use dispatch::{Arrival, ArrivalListener, BitMaps, Marks};
pub use files::first_byte;
#[cfg(any(test, feature = "watch"))]
pub use files::watch;
pub use index::IndexKind;
pub use log::{
    AppendError, Appended, FileStretch, Gathered, NeverReached, RawError, RecoverError, SegmentsError, Stretch,
    check_record,
};
pub use marks::{AbortMark, StoreLock};
pub use name_map::NameMap;
pub use queue::{QueueKind, QueueKinds};
pub use read::{Boundary, GetRequest, GetResult, GetStatus, MessageFilter};
pub use store::{Expired, ExpiryRound, Hooks, KeyQuery, KeyQueryResult, OpenError, Records, Store};
