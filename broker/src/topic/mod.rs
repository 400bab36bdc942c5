//! Topics: their table, how they come to be, and the requests about them.

mod deletion;
mod entry;
mod file;
mod requests;
mod system;
mod table;

use apogee_remoting::protocol::topic::TopicConfig;
use apogee_store::QueueKind;

pub(crate) use entry::Topic;
pub(crate) use requests::{clean_unused, delete, get, get_all, own, page_start, update, update_list};
pub(crate) use system::is_system_topic;
pub(crate) use table::TopicTable;

/// Permission bit of a topic and of the broker: messages may be read.
pub(crate) const PERM_READ: i32 = 4;
/// Permission bit: messages may be written.
pub(crate) const PERM_WRITE: i32 = 2;
/// Permission bit: topics that are created automatically may take over the settings.
pub(crate) const PERM_INHERIT: i32 = 1;
/// Bit of a topic's system flag: unit.
pub(crate) const SYS_FLAG_UNIT: i32 = 1;
/// Bit of a topic's system flag: subscribed by a unit.
pub(crate) const SYS_FLAG_UNIT_SUB: i32 = 2;

/// Of which kind the queues of a topic are.
pub(crate) fn queue_kind(topic: &TopicConfig) -> QueueKind {
    match topic.attributes.get("queue.type") {
        Some(kind) if kind == QueueKind::Batch.name() => QueueKind::Batch,
        _ => QueueKind::Simple,
    }
}
