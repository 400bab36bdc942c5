//! Clients that are connected: producers and consumers, as their heartbeats tell them.

mod call;
mod consumers;
mod members;
mod producers;
mod requests;
mod status;

pub(crate) use call::{PATIENCE, consume_directly, running_info};
pub(crate) use consumers::Consumers;
pub(crate) use members::{Client, Members};
pub(crate) use producers::Producers;
pub(crate) use requests::{
    all_producers, close_silent, connection_closed, consumer_connections, consumer_list, heartbeat,
    producer_connections, unregister,
};
pub(crate) use status::consumer_status;
