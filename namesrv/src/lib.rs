//! The name server: tells clients which broker has which topic, and brokers who their peers are.
//!
//! Requests arrive in `router` and are handled in a module for each kind: `broker`, `topic`, `kv`, `settings`. What
//! they share is the `NameServer`; the tables belong to `route`. A process needs [`Listening`] alone.
#![forbid(unsafe_code)]

mod broker;
mod clock;
mod cluster_test;
mod kv;
mod name_server;
mod respond;
mod route;
mod router;
mod run;
mod settings;
mod topic;

pub use kv::KvError;
pub use run::{Listening, StartError};
