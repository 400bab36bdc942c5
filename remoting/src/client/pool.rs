//! Connections by address.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::connect::connect;
use super::{CallError, ClientOptions, Peer};
use crate::server::{Reply, Service};
use crate::{Command, ResponseCode};

/// Sends requests to any address, all requests to one address over one connection.
///
/// A connection is made when it is first needed and again after it was lost; while an address fails,
/// attempts are spaced out and calls in between fail at once with the last reason.
pub struct Client {
    options: ClientOptions,
    service: Arc<dyn Service>,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

/// One address.
#[derive(Default)]
struct Slot {
    peer: Mutex<Option<Arc<Peer>>>,
    /// Held while connecting, so that callers wait for one attempt instead of making several.
    attempts: tokio::sync::Mutex<Attempts>,
}

#[derive(Default)]
struct Attempts {
    failed: Option<Failed>,
}

struct Failed {
    error: CallError,
    back_off: Duration,
    until: Instant,
}

impl Client {
    /// A client that answers no requests of servers.
    pub fn new(options: ClientOptions) -> Self {
        Self::with_service(options, Arc::new(NoRequests))
    }

    /// A client whose servers' requests go to `service`.
    pub fn with_service(options: ClientOptions, service: Arc<dyn Service>) -> Self {
        Self { options, service, slots: Mutex::new(HashMap::new()) }
    }

    /// Sends a request to `address` (`host:port`) and waits for its response; `timeout` covers connecting, too.
    ///
    /// # Errors
    /// There is no connection, it was lost, or no answer came in time.
    pub async fn call(&self, address: &str, command: Command, timeout: Duration) -> Result<Command, CallError> {
        let deadline = Instant::now() + timeout;
        let peer = self.peer_before(address, deadline).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        peer.request(command, left).await.map_err(|error| match error {
            CallError::Timeout(peer, _) => CallError::Timeout(peer, timeout),
            other => other,
        })
    }

    /// Sends a request that has no answer.
    ///
    /// # Errors
    /// There is no connection, or too much waits to be written to it.
    pub async fn send_one_way(&self, address: &str, command: Command, timeout: Duration) -> Result<(), CallError> {
        self.peer_before(address, Instant::now() + timeout).await?.send(command.one_way())
    }

    /// The connection to `address`, made if there is none: for many requests in flight over [`Peer::submit`].
    ///
    /// # Errors
    /// It cannot be made, or the last failure is too recent to try again.
    pub async fn peer(&self, address: &str) -> Result<Arc<Peer>, CallError> {
        let slot = self.slot(address);
        if let Some(peer) = slot.open_peer() {
            return Ok(peer);
        }
        let mut attempts = slot.attempts.lock().await;
        if let Some(peer) = slot.open_peer() {
            return Ok(peer);
        }
        attempts.check()?;
        let connected = connect(address, &self.options, Arc::clone(&self.service)).await;
        attempts.record(&connected, &self.options);
        let peer = connected?;
        *slot.peer.lock() = Some(Arc::clone(&peer));
        Ok(peer)
    }

    /// Closes the connection to `address`, if there is one, once what is queued is written.
    pub fn disconnect(&self, address: &str) {
        if let Some(slot) = self.slots.lock().remove(address) {
            slot.close();
        }
    }

    async fn peer_before(&self, address: &str, deadline: Instant) -> Result<Arc<Peer>, CallError> {
        tokio::time::timeout_at(deadline, self.peer(address)).await.unwrap_or_else(|_| {
            Err(CallError::Connect {
                address: address.to_owned(),
                reason: "no connection within the call's time".into(),
            })
        })
    }

    fn slot(&self, address: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(address) {
            return Arc::clone(slot);
        }
        // Addresses may come from peers: those that are of no use any more must not add up.
        slots.retain(|_, slot| slot.is_in_use());
        let slot = Arc::default();
        slots.insert(address.to_owned(), Arc::clone(&slot));
        slot
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.slots.lock().values().for_each(|slot| slot.close());
    }
}

impl Slot {
    fn open_peer(&self) -> Option<Arc<Peer>> {
        self.peer.lock().as_ref().filter(|peer| peer.is_open()).cloned()
    }

    /// Whether there is a connection, somebody who makes one, or a failure that is too recent to try again.
    fn is_in_use(self: &Arc<Self>) -> bool {
        let is_backing_off = || self.attempts.try_lock().is_ok_and(|attempts| attempts.check().is_err());
        Arc::strong_count(self) > 1 || self.open_peer().is_some() || is_backing_off()
    }

    fn close(&self) {
        if let Some(peer) = self.peer.lock().take() {
            peer.close();
        }
    }
}

impl Attempts {
    /// Fails while the last failure is too recent.
    fn check(&self) -> Result<(), CallError> {
        match &self.failed {
            Some(failed) if Instant::now() < failed.until => Err(failed.error.clone()),
            _ => Ok(()),
        }
    }

    fn record(&mut self, connected: &Result<Arc<Peer>, CallError>, options: &ClientOptions) {
        self.failed = connected.as_ref().err().map(|error| {
            let back_off = self.failed.as_ref().map_or(options.first_back_off, |f| f.back_off * 2);
            let back_off = back_off.min(options.last_back_off);
            Failed { error: error.clone(), back_off, until: Instant::now() + back_off }
        });
    }
}

/// Refuses what a server asks of a client that serves nothing.
struct NoRequests;

impl Service for NoRequests {
    fn call(&self, _: &Arc<Peer>, request: Command) -> Reply {
        let remark = format!(" request type {} not supported", request.code);
        Command::error(ResponseCode::REQUEST_CODE_NOT_SUPPORTED, remark).into()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn addresses_of_no_use_are_forgotten() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connected = listener.local_addr().unwrap().to_string();
        let client = Client::new(ClientOptions { first_back_off: Duration::ZERO, ..ClientOptions::default() });
        let peer = client.peer(&connected).await.unwrap();
        for number in 1..=20 {
            // Nobody can listen on port 0.
            client.peer(&format!("127.0.0.{number}:0")).await.unwrap_err();
        }
        assert_eq!(client.slots.lock().len(), 2, "the connected one, and the last one");
        assert_eq!(client.peer(&connected).await.unwrap().id(), peer.id());
    }

    #[tokio::test]
    async fn an_address_that_is_left_alone_is_remembered() {
        let hour = Duration::from_hours(1);
        let options = ClientOptions { first_back_off: hour, last_back_off: hour, ..ClientOptions::default() };
        let client = Client::new(options);
        for number in 1..=3 {
            client.peer(&format!("127.0.0.{number}:0")).await.unwrap_err();
        }
        assert_eq!(client.slots.lock().len(), 3);
    }
}
