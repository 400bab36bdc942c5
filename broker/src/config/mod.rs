//! Reading and changing the configuration at run time: codes 25 and 26.

mod read_mode;

use std::sync::Arc;

use apogee_config::{ServerSettings, UpdateError, update as apply};
use apogee_remoting::protocol::config::GetBrokerConfigResponseHeader;
use apogee_remoting::{Command, ResponseCode, json};

use crate::Broker;
use crate::answer::{Answer, Refusal};
use crate::registration;

pub(crate) use read_mode::set_read_mode;

/// Changes keys (25): all that are named, or none.
pub(crate) fn update(broker: &Broker, request: &Command) -> Answer {
    let mut version = broker.settings_version.lock();
    let update = apply(&***broker.settings(), &request.body.bytes())?;
    for notice in &update.notices {
        tracing::warn!("{notice}");
    }
    let changed = |key: &str| update.changed.iter().any(|changed| changed == key);
    if changed("namesrvAddr") {
        broker.name_servers.set_addresses(registration::addresses(&update.settings.broker));
    }
    let permission_changed = changed("brokerPermission");
    tracing::info!(keys = ?update.changed, "configuration changed");
    broker.store.change(&update.settings.store);
    broker.replication.change(&update.settings.store);
    broker.settings.store(Arc::new(update.settings.into()));
    version.advance(0, broker.now());
    if permission_changed {
        // Every topic is registered with the permissions that the broker as a whole has.
        broker.topics.touch()?;
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// All keys with their values (26).
pub(crate) fn get(broker: &Broker) -> Command {
    let version = String::from_utf8_lossy(&json::to_vec(&*broker.settings_version.lock())).into_owned();
    let header = GetBrokerConfigResponseHeader { version: &version };
    Command::response(ResponseCode::SUCCESS).with_header(&header).with_body(broker.settings().text())
}

impl From<UpdateError> for Refusal {
    fn from(error: UpdateError) -> Self {
        let code = match &error {
            UpdateError::BlackListed { .. } => ResponseCode::NO_PERMISSION,
            UpdateError::Setting(_) => ResponseCode::INVALID_PARAMETER,
            UpdateError::Syntax(_) | UpdateError::Persist(_) => ResponseCode::SYSTEM_ERROR,
        };
        Self::new(code, error.to_string())
    }
}
