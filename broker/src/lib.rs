//! The broker: what a request means. It owns topics, groups, offsets, clients and held pulls, and knows
//! neither bytes on the wire nor bytes on disk.
#![forbid(unsafe_code)]

mod answer;
mod assignment;
mod attributes;
mod broker;
mod client;
mod clock;
mod config;
mod expiry;
mod filter;
mod group;
mod lock;
mod names;
mod offset;
mod pull;
mod query;
mod readers;
mod registration;
mod replication;
mod request_mode;
mod retry;
mod rocksdb;
mod router;
mod saved_table;
mod schedule;
mod send;
mod settings;
mod start;
mod stats;
mod tasks;
mod thread;
mod timer;
mod topic;
mod transaction;

pub(crate) use broker::Broker;
pub use start::{Running, StartError};
