//! Replication: a slave connects to its master and gets the bytes of the commit log as they are stored.
//!
//! [`protocol`] is what goes over the connection, without I/O. [`master`] serves slaves and knows how far each of them is;
//! [`slave`] follows a master. Both work on the same [`Store`](apogee_store::Store): a slave may itself have slaves.
#![forbid(unsafe_code)]

pub mod master;
mod options;
pub mod protocol;
mod rate;
pub mod slave;

pub use options::{CurrentOptions, Options};
