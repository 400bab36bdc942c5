//! Calls to name servers: all of them, or any.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::RwLock;

use super::{CallError, Client};
use crate::Command;

/// The list of name servers, which can change at any time.
pub struct NameServers {
    client: Arc<Client>,
    addresses: RwLock<Arc<[String]>>,
    /// Which one answered last.
    current: AtomicUsize,
}

impl NameServers {
    /// Calls go through `client` to `addresses` (`host:port`).
    pub fn new(client: Arc<Client>, addresses: impl IntoIterator<Item = String>) -> Self {
        let addresses: Arc<[String]> = addresses.into_iter().collect();
        // Not everybody starts with the first one.
        let current = AtomicUsize::new(fastrand::usize(..addresses.len().max(1)));
        Self { client, addresses: RwLock::new(addresses), current }
    }

    /// The list as `namesrvAddr` has it: addresses separated by semicolons, blanks ignored.
    pub fn parse_list(text: &str) -> Vec<String> {
        text.split(';').map(str::trim).filter(|address| !address.is_empty()).map(str::to_owned).collect()
    }

    /// The addresses, in order.
    pub fn addresses(&self) -> Arc<[String]> {
        Arc::clone(&self.addresses.read())
    }

    /// Replaces the list; connections to addresses that are no longer in it are closed.
    pub fn set_addresses(&self, addresses: impl IntoIterator<Item = String>) {
        let new: Arc<[String]> = addresses.into_iter().collect();
        let old = std::mem::replace(&mut *self.addresses.write(), Arc::clone(&new));
        old.iter().filter(|address| !new.contains(address)).for_each(|address| self.client.disconnect(address));
    }

    /// Sends the request to one of them.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn call(&self, address: &str, command: Command, timeout: Duration) -> Result<Command, CallError> {
        self.client.call(address, command, timeout).await
    }

    /// Sends the request to all at once; what each of them said, in the order of the list.
    pub async fn call_all(&self, command: Command, timeout: Duration) -> Vec<(String, Result<Command, CallError>)> {
        let addresses = self.addresses();
        let calls = addresses
            .iter()
            .map(async |address| (address.clone(), self.client.call(address, command.clone(), timeout).await));
        join_all(calls).await
    }

    /// Sends the one-way request to all; what could not be sent.
    pub async fn send_one_way_all(&self, command: Command, timeout: Duration) -> Vec<(String, CallError)> {
        let addresses = self.addresses();
        let sends = addresses.iter().map(async |address| {
            let sent = self.client.send_one_way(address, command.clone(), timeout).await;
            sent.err().map(|error| (address.clone(), error))
        });
        join_all(sends).await.into_iter().flatten().collect()
    }

    /// Asks one after the other, the one that answered last first, until one answers; `timeout` is for each.
    ///
    /// # Errors
    /// None of them answered (the last one's reason), or there is none.
    pub async fn call_any(&self, command: Command, timeout: Duration) -> Result<Command, CallError> {
        let addresses = self.addresses();
        let first = self.current.load(Ordering::Relaxed);
        let mut last = CallError::NoNameServer;
        for i in 0..addresses.len() {
            let at = (first + i) % addresses.len();
            match self.client.call(&addresses[at], command.clone(), timeout).await {
                Ok(response) => {
                    self.current.store(at, Ordering::Relaxed);
                    return Ok(response);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
