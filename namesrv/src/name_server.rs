//! The name server: its tables, its settings, and the connections of its brokers.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use apogee_remoting::server::Peer;
use parking_lot::Mutex;

use crate::broker::Notifier;
use crate::clock::{Clock, SteadyClock};
use crate::cluster_test::Upstream;
use crate::kv::{KvError, KvStore};
use crate::route::{MinBrokerChanged, Outcome, Registration, Routes};
use crate::settings::RuntimeSettings;

/// Everything that requests read and change. Requests come in through [`apogee_remoting::server::Service`]; time
/// through [`NameServer::remove_silent_brokers`].
pub struct NameServer {
    pub(crate) routes: Arc<Routes>,
    pub(crate) kv: Arc<KvStore>,
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) cluster_test: Option<Arc<Upstream>>,
    /// Connections over which brokers registered, by number.
    broker_connections: Mutex<HashMap<u64, Weak<Peer>>>,
    notifier: Notifier,
    clock: Box<dyn Clock>,
    started: i64,
}

impl NameServer {
    /// A name server with empty tables and the stored key-value configuration.
    ///
    /// # Errors
    /// The key-value file is there and damaged, and its copy too.
    pub fn new(settings: RuntimeSettings) -> Result<Self, KvError> {
        Self::with_clock(settings, SteadyClock::default())
    }

    /// As [`NameServer::new`], with a clock of the caller's.
    pub fn with_clock(settings: RuntimeSettings, clock: impl Clock) -> Result<Self, KvError> {
        let current = settings.current();
        let routes = Routes::new();
        routes.forget_all(current.support_acting_master);
        Ok(Self {
            routes: Arc::new(routes),
            kv: Arc::new(KvStore::open(current.kv_config_path.as_ref())?),
            cluster_test: current.cluster_test.then(|| Arc::new(Upstream::from_environment())),
            settings: Arc::new(settings),
            broker_connections: Mutex::default(),
            notifier: Notifier::new(),
            started: clock.now(),
            clock: Box::new(clock),
        })
    }

    /// ms of the server's clock.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Whether routes are answered: at once, or (`needWaitForService`) when all brokers have had
    /// `waitSecondsForService` to register.
    pub(crate) fn is_ready(&self) -> bool {
        let settings = self.settings.current();
        let waiting = i64::from(settings.wait_seconds_for_service) * 1000;
        !settings.need_wait_for_service || self.now() - self.started >= waiting
    }

    /// Enters a broker and remembers the connection that keeps it in the tables.
    pub(crate) fn register_broker(&self, peer: &Arc<Peer>, registration: &Registration<'_>) -> Outcome {
        self.broker_connections.lock().entry(peer.id()).or_insert_with(|| Arc::downgrade(peer));
        self.routes.register_broker(registration, self.now())
    }

    /// Takes the brokers of a closed connection out of the tables.
    pub(crate) fn connection_closed(&self, connection: u64) {
        if self.broker_connections.lock().remove(&connection).is_some() {
            self.notify(self.routes.connection_closed(connection));
        }
    }

    /// Takes brokers out of the tables that were silent for longer than their heartbeat timeout, and closes their
    /// connections. To be called every `scanNotActiveBrokerInterval`.
    pub fn remove_silent_brokers(&self) {
        let expired = self.routes.expire(self.now());
        for connection in expired.connections {
            let peer = self.broker_connections.lock().get(&connection).and_then(Weak::upgrade);
            if let Some(peer) = peer {
                peer.close();
            }
        }
        self.notify(expired.notices);
    }

    /// Tells brokers of a changed smallest id, when that is wanted (`notifyMinBrokerIdChanged`).
    pub(crate) fn notify(&self, notices: impl IntoIterator<Item = MinBrokerChanged>) {
        for notice in notices {
            if self.settings.current().notify_min_broker_id_changed {
                self.notifier.send(notice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use apogee_config::NamesrvSettings;

    use super::*;
    use crate::clock::ManualClock;

    #[tokio::test]
    async fn routes_are_answered_when_the_brokers_had_their_time_to_register() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = NamesrvSettings::default();
        settings.namesrv.kv_config_path = folder.path().join("kvConfig.json").to_string_lossy().into_owned();
        settings.namesrv.need_wait_for_service = true;
        settings.namesrv.wait_seconds_for_service = 45;
        let clock = ManualClock::default();
        clock.advance(7);
        let server = NameServer::with_clock(RuntimeSettings::new(settings), clock.clone()).unwrap();
        assert!(!server.is_ready());
        clock.advance(44_999);
        assert!(!server.is_ready());
        clock.advance(1);
        assert!(server.is_ready());
    }
}
