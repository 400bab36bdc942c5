//! Clients that are connected: producers and consumers, as their heartbeats tell them.

mod consumers;
mod members;
mod producers;
mod requests;

pub(crate) use consumers::Consumers;
pub(crate) use members::{Client, Members};
pub(crate) use producers::Producers;
pub(crate) use requests::{
    check_config, close_silent, connection_closed, consumer_connections, consumer_list, heartbeat,
    producer_connections, unregister,
};
