//! What replication takes from the configuration.

use std::sync::Arc;
use std::time::Duration;

use apogee_config::MessageStoreConfig;
use parking_lot::Mutex;

/// Settings of both sides; the names in the comments are the configuration's keys.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// After so long without anything to say, either side sends where it is (haSendHeartbeatInterval).
    pub heartbeat: Duration,
    /// A side that is silent for so long is gone (haHousekeepingInterval).
    pub silence: Duration,
    /// Most bytes of one transfer (haTransferBatchSize).
    pub batch: usize,
    /// Most bytes that a slave is sent in a second (maxHaTransferByteInSecond, where haFlowControlEnable).
    pub bytes_per_second: Option<u64>,
    /// Whether producers wait for slaves (brokerRole=SYNC_MASTER): then nothing is gathered before it is sent.
    pub is_urgent: bool,
}

impl Options {
    /// Takes the settings from a broker's configuration.
    pub fn from_config(config: &MessageStoreConfig) -> Self {
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0).max(1));
        Self {
            heartbeat: ms(config.ha_send_heartbeat_interval),
            silence: ms(config.ha_housekeeping_interval),
            batch: usize::try_from(config.ha_transfer_batch_size).unwrap_or(0).max(1),
            bytes_per_second: config
                .ha_flow_control_enable
                .then(|| u64::try_from(config.max_ha_transfer_byte_in_second).unwrap_or(0).max(1)),
            is_urgent: config.broker_role == apogee_config::BrokerRole::SyncMaster,
        }
    }
}

/// Options that may be changed while slaves are served or a master is followed; each transfer looks at them.
#[derive(Clone, Debug)]
pub struct CurrentOptions(Arc<Mutex<Options>>);

impl CurrentOptions {
    /// As they are now.
    pub fn get(&self) -> Options {
        *self.0.lock()
    }

    /// Changes them; what waits already, waits as it was told.
    pub fn set(&self, options: Options) {
        *self.0.lock() = options;
    }
}

impl From<Options> for CurrentOptions {
    fn from(options: Options) -> Self {
        Self(Arc::new(Mutex::new(options)))
    }
}
