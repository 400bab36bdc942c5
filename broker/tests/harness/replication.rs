//! Masters and slaves.

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::protocol::ha::HARuntimeInfo;
use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::{Command, RequestCode, json};

use super::TestBroker;

/// Settings of a slave.
pub fn slave(settings: &mut BrokerSettings) {
    settings.store.broker_role = BrokerRole::Slave;
    settings.broker.broker_id = 1;
}

/// What a broker says of its master or its slaves.
pub async fn status(broker: &TestBroker) -> HARuntimeInfo {
    let answer = broker.ok(Command::request(RequestCode::GET_BROKER_HA_STATUS)).await;
    json::from_slice(&answer.body.bytes()).unwrap()
}

/// One entry of a broker's runtime information.
pub async fn runtime_info(broker: &TestBroker, key: &str) -> String {
    let answer = broker.ok(Command::request(RequestCode::GET_BROKER_RUNTIME_INFO)).await;
    json::from_slice::<KVTable>(&answer.body.bytes()).unwrap().table.remove(key).unwrap()
}

/// Physical offset of the end of a broker's log.
pub async fn log_end(broker: &TestBroker) -> i64 {
    runtime_info(broker, "commitLogMaxOffset").await.parse().unwrap()
}

/// Waits until the slave has all that the master has now.
pub async fn caught_up(master: &TestBroker, slave: &TestBroker) {
    let end = log_end(master).await;
    slave.wait_for("the slave has everything", async |slave| (log_end(slave).await == end).then_some(())).await;
}

/// Where a broker listens for slaves, on 127.0.0.1.
pub fn ha_port(broker: &TestBroker) -> u16 {
    let port: u16 = broker.address.rsplit_once(':').unwrap().1.parse().unwrap();
    port + 1
}
