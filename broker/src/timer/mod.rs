//! What a timer wheel left in a store: its check point (60) and its numbers of messages (61), passed on from broker to broker.
//!
//! This broker turns no wheel yet and refuses messages that need one. But the store may have been a wheel's before and may be
//! one's again, and a reference broker of this name asks: what its master knows, it begins with when it becomes the master.

mod check_point;

use std::path::Path;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::protocol::schedule::TimerMetricsSerializeWrapper;
use apogee_remoting::{Command, ResponseCode, json};

pub(crate) use check_point::CheckPoint;

use crate::Broker;
use crate::answer::{Answer, Refusal};

/// The files `timercheck` and `timermetrics`, as the reference has them.
pub(crate) struct Timer {
    check_point: StateFile,
    metrics: StateFile,
}

impl Timer {
    /// The files in a folder, which need not be there.
    pub(crate) fn new(config: &Path) -> Self {
        Self {
            check_point: StateFile::new(config.join("timercheck")),
            metrics: StateFile::new(config.join("timermetrics")),
        }
    }

    /// Takes over how far the master's wheel is; how far this store's own got, stays. Waits for the disk.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn take_over(&self, theirs: CheckPoint) -> Result<(), StateFileError> {
        let before = self.check_point.read(CheckPoint::parse)?;
        let own = before.unwrap_or_default();
        let now = CheckPoint { log_flushed: own.log_flushed, queue_offset: own.queue_offset, ..theirs };
        if before == Some(now) { Ok(()) } else { self.check_point.write(now.encode()) }
    }

    /// Takes over how many messages wait. Waits for the disk.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn take_over_metrics(&self, theirs: &TimerMetricsSerializeWrapper) -> Result<(), StateFileError> {
        let before = self.metrics()?;
        if before.data_version == theirs.data_version {
            Ok(())
        } else {
            self.metrics.write(json::to_vec_pretty(theirs))
        }
    }

    fn metrics(&self) -> Result<TimerMetricsSerializeWrapper, StateFileError> {
        Ok(self.metrics.read(json::from_slice)?.unwrap_or_default())
    }
}

/// How far the wheel is (60). Where there never was one, no message waits for it.
pub(crate) fn get_check_point(broker: &Broker, _: &Command) -> Answer {
    is_enabled(broker, "The checkpoint is null")?;
    let left = broker.timer.check_point.read(CheckPoint::parse)?;
    let check_point = left.unwrap_or(CheckPoint { last_read: broker.now(), ..CheckPoint::default() });
    Ok(Command::response(ResponseCode::SUCCESS).with_body(check_point.encode().to_vec()))
}

/// How many messages of each topic wait for the wheel (61).
pub(crate) fn get_metrics(broker: &Broker, _: &Command) -> Answer {
    is_enabled(broker, "The timer message store is null")?;
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&broker.timer.metrics()?)))
}

/// A reference broker whose wheel is switched off answers an error.
fn is_enabled(broker: &Broker, remark: &'static str) -> Result<(), Refusal> {
    let is_enabled = broker.settings().store.timer_wheel_enable;
    if is_enabled { Ok(()) } else { Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark)) }
}
