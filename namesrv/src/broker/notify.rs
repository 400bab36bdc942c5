//! Pushes about the smallest broker id of a set: code 905.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::client::{Client, ClientOptions};
use apogee_remoting::protocol::register::NotifyMinBrokerIdChangeRequestHeader;
use apogee_remoting::{Command, RequestCode};

use crate::route::MinBrokerChanged;

/// Tells brokers over connections of its own, as the reference does: a broker listens on the address that it
/// registered, and does not expect requests over the connection it registered by.
pub(crate) struct Notifier {
    client: Arc<Client>,
}

impl Notifier {
    /// Without connections yet.
    pub(crate) fn new() -> Self {
        Self { client: Arc::new(Client::new(ClientOptions::default())) }
    }

    /// Tells everybody concerned, one-way and in the background. A broker that cannot be reached is left alone: it
    /// learns the same with its next heartbeat to its peers.
    pub(crate) fn send(&self, notice: MinBrokerChanged) {
        tracing::info!(min_id = notice.min_id, recipients = ?notice.recipients, offline = ?notice.offline_address,
            "smallest broker id changed");
        let push = Command::request(RequestCode::NOTIFY_MIN_BROKER_ID_CHANGE)
            .with_header(&NotifyMinBrokerIdChangeRequestHeader {
                min_broker_id: Some(notice.min_id),
                broker_name: None,
                min_broker_addr: Some(&notice.min_address),
                offline_broker_addr: notice.offline_address.as_deref(),
                ha_broker_addr: notice.ha_address.as_deref(),
            })
            .one_way();
        for address in notice.recipients {
            let (client, push) = (Arc::clone(&self.client), push.clone());
            tokio::spawn(async move {
                if let Err(error) = client.send_one_way(&address, push, TIMEOUT).await {
                    tracing::warn!(%address, %error, "broker was not told of the changed smallest id");
                }
            });
        }
    }
}

/// The reference's.
const TIMEOUT: Duration = Duration::from_millis(300);
