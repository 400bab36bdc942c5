//! What goes over the connection between a slave and its master, without I/O (constants.md, section 9).
//!
//! The slave connects, and says where its log ends. It says so again after every append, and every
//! `haSendHeartbeatInterval` when nothing comes:
//!
//! | report, slave to master | bytes |
//! |---|---|
//! | physical offset of the slave's end | 8 |
//!
//! The master sends the log from there on, and every `haSendHeartbeatInterval` where it is when nothing else was to be
//! sent:
//!
//! | transfer, master to slave | bytes |
//! |---|---|
//! | physical offset of the first byte of the body; of a heartbeat, that of the next transfer | 8 |
//! | size of the body; 0 in a heartbeat | 4 |
//! | bytes of the log as they are stored | size |
//!
//! All numbers are big endian. A body is cut anywhere, also within a record, but never crosses the end of a file of the log;
//! the blank at the end of a file is sent, too. A slave that has nothing (0) gets the log from the beginning of the master's
//! **last** file on.

mod entries;
mod report;
mod transfer;

pub use entries::{Entries, NoRecord};
pub use report::{ReportReader, encode_report};
pub use transfer::{Part, Transfer, TransferError, TransferReader};

#[cfg(test)]
mod captures;
