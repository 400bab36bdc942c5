//! Headers and bodies of every request and response, one file for each capability.
//!
//! Headers are declared with [`crate::header!`] and read by `command.header::<H>()`; they borrow from the command.
//! What the reference survives without is an `Option` even where it is marked as required there; what ends
//! in a SYSTEM_ERROR there is a plain type, so that its absence answers a SYSTEM_ERROR that names the
//! field (trap 6). The fields that many requests inherit (`lo`, `ns`, `nsd`, `bname`, `oway`) are read
//! apart, by [`rpc::RpcRequestHeader`]; header classes of the reference that have no other field are
//! not declared, and classes of the controller's inner log are not part of the protocol.
//!
//! Bodies are read and written by [`crate::json`]. A plain `String` without content stands for null.

pub mod assignment;
pub mod auth;
mod body;
pub mod client;
pub mod config;
pub mod consumer_list;
pub mod consumer_status;
pub mod container;
pub mod controller;
pub mod controller_register;
pub mod data_version;
pub mod filter;
pub mod group;
pub mod ha;
pub mod heartbeat;
pub mod kv;
pub mod lite;
pub mod lite_info;
pub mod lock;
pub mod message_queue;
pub mod offset;
pub mod pop;
pub mod pop_ack;
pub mod pull;
pub mod query;
pub mod recall;
pub mod register;
pub mod registration;
pub mod reply;
pub mod reset_offset;
pub mod retry_policy;
pub mod rocksdb;
pub mod route;
pub mod rpc;
pub mod schedule;
pub mod send;
pub mod send_back;
pub mod static_topic;
pub mod stats;
pub mod subscription;
pub mod topic;
pub mod transaction;
