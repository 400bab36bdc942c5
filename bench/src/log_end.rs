//! Where a broker's commit log ends.

use anyhow::{Context, Result};
use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::{Command, RequestCode, json};

use crate::wire::Caller;

/// Physical offset of the end of a broker's log.
pub fn log_end(broker: &str) -> Result<i64> {
    let answer = Caller::connect(broker)?.call(&Command::request(RequestCode::GET_BROKER_RUNTIME_INFO))?;
    let table: KVTable = json::from_slice(&answer.body.bytes()).context("what a broker says of itself")?;
    let end = table.table.get("commitLogMaxOffset").and_then(|end| end.parse().ok());
    end.with_context(|| format!("{broker} does not say where its log ends"))
}
