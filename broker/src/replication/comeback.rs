//! A master that comes back while a slave acts for it: it tells its slaves where they find it, and takes over how far the one
//! that acted delivered and how far consumers came, before name servers and so clients hear of it.

use std::sync::Arc;
use std::time::Duration;

use apogee_config::BrokerSettings;
use apogee_remoting::protocol::ha::ExchangeHAInfoRequestHeader;
use apogee_remoting::{Command, RequestCode};
use tokio::time::{sleep, timeout};

use super::{MASTER_ID, copy, membership};
use crate::Broker;

/// Ends when this broker may be registered: at once, unless it is a master that says it has slaves (`totalReplicas`) which may
/// act for it. Until then it does not act itself, for it knows less than they. A slave that lives but does not connect keeps
/// its master away, as in the reference, for it may have messages that the master lost.
pub(crate) async fn before_registration(broker: &Arc<Broker>) {
    if !may_be_replaced(&broker.settings()) {
        return;
    }
    meet_all_slaves(broker).await;
    broker.replication.acting.send_replace(true);
}

/// Whether a slave may have acted for a broker with this configuration.
pub(super) fn may_be_replaced(settings: &BrokerSettings) -> bool {
    settings.broker.enable_slave_acting_master
        && settings.broker.broker_id == MASTER_ID
        && settings.store.total_replicas > 1
        && !settings.broker.skip_pre_online
}

async fn meet_all_slaves(broker: &Arc<Broker>) {
    let mut last_told = String::new();
    while let Err(error) = meet_slaves(broker).await {
        if error != last_told {
            tracing::error!(
                error,
                "this master has slaves that may act for it (totalReplicas) and does not register before it has met them"
            );
            last_told = error;
        }
        sleep(PAUSE).await;
    }
}

async fn meet_slaves(broker: &Arc<Broker>) -> Result<(), String> {
    let group = membership::ask(broker).await?;
    let others = group.iter().flat_map(|group| &group.broker_addrs).filter(|(id, _)| **id != MASTER_ID);
    for (_, address) in others {
        let header = ExchangeHAInfoRequestHeader {
            master_ha_address: Some(&broker.ha_address),
            master_flush_offset: Some(broker.replication.initial_max_offset),
            master_address: Some(&broker.address),
        };
        let request = Command::request(RequestCode::EXCHANGE_BROKER_HA_INFO).with_header(&header);
        copy::ask(broker, address, request).await.map_err(|error| format!("{address}: {error}"))?;
        let host = address.rsplit_once(':').map_or(&**address, |(host, _)| host).trim_matches(['[', ']']);
        timeout(PATIENCE, connected(broker, host))
            .await
            .map_err(|_| format!("{address} does not connect to {}; its log may say why", broker.ha_address))?;
        copy::take_back(broker, address).await.map_err(|error| format!("{address}: {error}"))?;
    }
    Ok(())
}

/// Ends when a slave from this host follows.
async fn connected(broker: &Broker, host: &str) {
    let is_there = || {
        let slaves = broker.replication.master.slaves().list();
        slaves.iter().any(|slave| slave.address.ip().to_canonical().to_string() == host)
    };
    while !is_there() {
        sleep(LOOK).await;
    }
}

const PAUSE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
