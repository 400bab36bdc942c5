//! Consume queues: for each queue of a topic, where its records lie in the commit log.

mod batch_time;
mod cursor;
mod descriptors;
mod ends;
mod entry;
mod extension;
mod extension_unit;
mod files;
mod layout;
mod lookup;
#[expect(clippy::module_inception, reason = "the queue itself")]
mod queue;
mod recover;
mod remade;
mod shared;
mod table;
mod unit;

pub use cursor::Cursor;
pub use ends::{Known, KnownEnd, KnownEnds};
pub use entry::Entry;
pub use extension_unit::ExtensionUnit;
pub use layout::{QueueKind, QueueKinds};
pub use queue::{Appended, Life, Queue};
pub use recover::{Loaded, RecordAt};
pub use table::QueueTable;
pub(crate) use table::is_topic_name;
pub use unit::{UNIT_SIZE, Unit, is_queued};
