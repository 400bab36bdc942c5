//! Requests of and about brokers.

mod administration;
mod body;
mod notify;
mod presence;
mod register;

pub use administration::{add_write_permission, cluster_info, member_group, wipe_write_permission};
pub(crate) use notify::Notifier;
pub use presence::{heartbeat, query_data_version, unregister};
pub use register::register;
