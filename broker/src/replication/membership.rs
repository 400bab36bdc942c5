//! The living brokers of this name, where slaves may act for their master (`enableSlaveActingMaster`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use apogee_remoting::protocol::ha::{ExchangeHAInfoRequestHeader, ExchangeHAInfoResponseHeader};
use apogee_remoting::protocol::register::{
    BrokerMemberGroup, GetBrokerMemberGroupRequestHeader, GetBrokerMemberGroupResponseBody,
};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};

use super::MASTER_ID;
use crate::Broker;

/// Asks a name server every `syncBrokerMemberGroupPeriod` who lives. Never ends.
pub(crate) async fn keep_membership(broker: Arc<Broker>) {
    loop {
        let period = broker.settings().broker.sync_broker_member_group_period.max(1) as u64;
        tokio::time::sleep(Duration::from_millis(period)).await;
        if !broker.settings().broker.enable_slave_acting_master {
            continue;
        }
        match ask(&broker).await {
            Ok(Some(group)) => note(&broker, &group),
            Ok(None) => {}
            Err(error) => tracing::debug!(error, "the name servers do not say who lives"),
        }
    }
}

/// Who lives, as a name server sees it; `None` when it knows nobody of this name.
pub(super) async fn ask(broker: &Broker) -> Result<Option<BrokerMemberGroup>, String> {
    let settings = broker.settings();
    let header = GetBrokerMemberGroupRequestHeader {
        cluster_name: &settings.broker.broker_cluster_name,
        broker_name: &settings.broker.broker_name,
    };
    let request = Command::request(RequestCode::GET_BROKER_MEMBER_GROUP).with_header(&header);
    let answer = broker.name_servers.call_any(request, TIMEOUT).await.map_err(|error| error.to_string())?;
    let body: GetBrokerMemberGroupResponseBody =
        json::from_slice(&answer.body.bytes()).map_err(|error| error.to_string())?;
    Ok(body.broker_member_group)
}

fn note(broker: &Arc<Broker>, group: &BrokerMemberGroup) {
    let Some((min_broker_id, address)) = group.broker_addrs.first_key_value() else { return };
    let own = broker.settings().broker.broker_id;
    let others = group.broker_addrs.keys().filter(|id| **id != own).count();
    broker.replication.members.store(others as i64 + 1, Ordering::Relaxed);
    let change = Change { min_broker_id: *min_broker_id, address: Some(address), gone: None, ha_address: None };
    change.apply(broker);
}

/// Another broker of this name has the smallest id.
pub(super) struct Change<'a> {
    pub(super) min_broker_id: i64,
    /// Its address.
    pub(super) address: Option<&'a str>,
    /// Address of the broker that went, where that is the reason.
    pub(super) gone: Option<&'a str>,
    /// Its address for replication.
    pub(super) ha_address: Option<&'a str>,
}

impl Change<'_> {
    /// A slave follows the master that came, and nobody when it went; then it may have to act for it.
    pub(super) fn apply(&self, broker: &Arc<Broker>) {
        let replication = &broker.replication;
        let settings = broker.settings();
        if !settings.broker.enable_slave_acting_master || settings.broker.broker_id == MASTER_ID {
            return;
        }
        let before = replication.min_broker_id.swap(self.min_broker_id, Ordering::Relaxed);
        if before == self.min_broker_id {
            return;
        }
        tracing::info!(before, now = self.min_broker_id, "smallest id of the living brokers of this name");
        replication.acting.send_replace(self.min_broker_id == settings.broker.broker_id);
        let has_master_gone = before == MASTER_ID || self.gone.is_some_and(|gone| replication.is_master(gone));
        if has_master_gone {
            replication.forget_master();
        }
        match (self.address, self.ha_address) {
            (Some(address), Some(ha_address)) if self.min_broker_id == MASTER_ID => {
                replication.set_master(ha_address, Some(address));
            }
            (Some(address), None) if self.min_broker_id == MASTER_ID => {
                tokio::spawn(ask_for_master(Arc::clone(broker), address.to_owned()));
            }
            _ => {}
        }
        if self.min_broker_id == MASTER_ID {
            // Their consumers are to go to the master.
            broker.held_pulls.wake_all();
        }
    }
}

/// Asks a master where its port for slaves is.
async fn ask_for_master(broker: Arc<Broker>, address: String) {
    let header =
        ExchangeHAInfoRequestHeader { master_ha_address: None, master_flush_offset: None, master_address: None };
    let request = Command::request(RequestCode::EXCHANGE_BROKER_HA_INFO).with_header(&header);
    match broker.client.call(&address, request, TIMEOUT).await {
        Ok(answer) if answer.response_code() == ResponseCode::SUCCESS => {
            let told = answer.header::<ExchangeHAInfoResponseHeader<'_>>();
            if let Some(ha_address) = told.ok().and_then(|told| told.master_ha_address) {
                broker.replication.set_master(ha_address, Some(&address));
            }
        }
        Ok(answer) => tracing::warn!(address, code = answer.code, "the master does not say where slaves connect"),
        Err(error) => tracing::warn!(address, %error, "the master cannot be asked where slaves connect"),
    }
}

impl super::Replication {
    fn is_master(&self, address: &str) -> bool {
        self.master_address.borrow().as_deref() == Some(address)
    }
}

const TIMEOUT: Duration = Duration::from_secs(3);
