//! How the files of the commit log are read: code 2004.

use std::sync::Arc;

use apogee_config::BrokerSettings;
use apogee_remoting::{Command, ResponseCode};

use crate::Broker;
use crate::answer::{Answer, Refusal};

/// `MADV_NORMAL`: the kernel reads ahead.
const NORMAL: i32 = 0;
/// `MADV_RANDOM`: it does not.
const RANDOM: i32 = 1;

/// Lets the kernel read ahead in the commit log or not, until the next start: the file of the configuration stays as it is.
pub(crate) fn set_read_mode(broker: &Broker, request: &Command) -> Answer {
    let refuse = |code, remark| Err(Refusal::new(code, remark));
    if request.fields.is_none() {
        return refuse(ResponseCode::SYSTEM_ERROR, "set commitlog readahead mode param error");
    }
    let read_ahead = match request.field("READ_AHEAD_MODE").map(str::parse) {
        Some(Ok(NORMAL)) => true,
        Some(Ok(RANDOM)) => false,
        Some(Ok(_)) => {
            return refuse(ResponseCode::INVALID_PARAMETER, "set commitlog readahead mode param value error");
        }
        Some(Err(_)) | None => return refuse(ResponseCode::SYSTEM_ERROR, "set commitlog readahead mode failed"),
    };
    let _changing = broker.settings_version.lock();
    let mut settings = BrokerSettings::clone(&broker.settings());
    settings.store.data_read_ahead_enable = read_ahead;
    broker.store.change(&settings.store);
    broker.settings.store(Arc::new(settings.into()));
    let mode = if read_ahead { NORMAL } else { RANDOM };
    tracing::info!(mode, "the commit log is read in another way");
    let remark = format!("set commitlog readahead mode success, mode: {mode}");
    Ok(Command::response(ResponseCode::SUCCESS).with_remark(remark))
}
