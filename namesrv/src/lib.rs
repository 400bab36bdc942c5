//! The name server: tells clients which broker has which topic, and brokers who their peers are.
//!
//! Requests arrive in [`router`] and are handled in a module for each kind: [`broker`], [`topic`], [`kv`],
//! [`settings`]. What they share is the [`NameServer`]; the tables belong to [`route`].
#![forbid(unsafe_code)]

pub mod clock;
pub mod route;
pub mod settings;

mod broker;
mod cluster_test;
mod kv;
mod name_server;
mod respond;
mod router;
mod run;
mod topic;

pub use kv::KvError;
pub use name_server::NameServer;
pub use run::{Listening, StartError};
