//! Whether a slave's log is the beginning of its master's: asked before every attempt to follow it.
//!
//! A master that lost its end and then took new messages goes on from the same offsets with other bytes. The protocol of
//! replication does not show that, so the last record of this store is compared with what the master has there.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::protocol::query::ViewMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use apogee_replication::slave::Fit;

use crate::Broker;
use crate::thread::on_thread;

/// Follows the master for ever, if this is a slave.
pub(crate) async fn follow(broker: Arc<Broker>) {
    if let Some(replica) = &broker.replication.replica {
        replica.run(|| check(&broker)).await;
    }
}

/// Compares this store's log with the master's. The error says what is wrong.
async fn check(broker: &Arc<Broker>) -> Result<Fit, String> {
    let end = broker.store.max_physical_offset();
    if end == 0 {
        // It takes records alone: what answers at that address may be no master.
        return Ok(Fit::Unknown);
    }
    let Some(master) = broker.replication.master_address() else { return Ok(Fit::Unknown) };
    let Bounds { min, max, .. } = bounds(broker, &master).await?;
    if end > max {
        return Err(format!(
            "this slave's log ends at {end}, and that of {master} at {max}: the master lost messages that this slave has. \
             Make this broker the master, or empty its store"
        ));
    }
    if end < min {
        return Err(format!(
            "this slave's log ends at {end}, and that of {master} begins at {min}: what is between them is deleted. Empty \
             this slave's store, or copy the master's to it"
        ));
    }
    let reading = Arc::clone(broker);
    let last = on_thread(move || reading.store.last_record()).await.map_err(|error| error.to_string())?;
    let Some((offset, record)) = last.filter(|(offset, _)| *offset >= min) else { return Ok(Fit::Unknown) };
    if record_at(broker, &master, offset).await?.is_some_and(|theirs| theirs == record) {
        Ok(Fit::Proved)
    } else {
        Err(format!(
            "the record at {offset}, the last one of this slave, is not what {master} has there: the master lost messages \
             that this slave has, and took others. Make this broker the master, or empty its store"
        ))
    }
}

/// Physical offsets of a master's log.
pub(super) struct Bounds {
    /// Its first byte.
    pub(super) min: i64,
    /// Its end.
    pub(super) max: i64,
    /// Up to here records are in queues.
    pub(super) dispatched: i64,
}

/// Where the master's log begins and ends.
pub(super) async fn bounds(broker: &Broker, master: &str) -> Result<Bounds, String> {
    let answer = ask(broker, master, Command::request(RequestCode::GET_BROKER_RUNTIME_INFO)).await?;
    let info: KVTable = json::from_slice(&answer.body.bytes()).map_err(|error| format!("{master}: {error}"))?;
    let number = |key: &str| {
        let text = info.table.get(key).ok_or_else(|| format!("{master} does not say its {key}"))?;
        text.parse().map_err(|_| format!("{master} says its {key} is {text}"))
    };
    let max = number("commitLogMaxOffset")?;
    // A master looks for its end first.
    Ok(Bounds { min: number("commitLogMinOffset")?, max, dispatched: max - number("dispatchBehindBytes")? })
}

/// The master's record at a physical offset, if there is one.
async fn record_at(broker: &Broker, master: &str, offset: i64) -> Result<Option<bytes::Bytes>, String> {
    let header = ViewMessageRequestHeader { topic: None, offset };
    let request = Command::request(RequestCode::VIEW_MESSAGE_BY_ID).with_header(&header);
    let answer = ask(broker, master, request).await?;
    Ok((answer.response_code() == ResponseCode::SUCCESS).then(|| answer.body.bytes()))
}

async fn ask(broker: &Broker, master: &str, request: Command) -> Result<Command, String> {
    broker.client.call(master, request, TIMEOUT).await.map_err(|error| format!("{master} cannot be asked: {error}"))
}

const TIMEOUT: Duration = Duration::from_secs(3);
