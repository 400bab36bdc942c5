//! Requests about RocksDB, which this broker keeps nothing in: codes 354 and 355.

use apogee_remoting::protocol::rocksdb::{CheckRocksdbCqWriteResult, ExportRocksDBConfigToJsonRequestHeader};
use apogee_remoting::{Command, ResponseCode, json};

use crate::answer::{Answer, NOT_SET, Refusal};

/// Starts a comparison of queues in files with those in RocksDB (354). The answer of the reference is that it is under way,
/// whatever there is to compare; the result goes to its log. Here there is nothing to compare.
pub(crate) fn check_queues() -> Command {
    let body = CheckRocksdbCqWriteResult { check_result: None, check_status: UNDER_WAY };
    Command::response(ResponseCode::SUCCESS).with_remark(NOT_SET).with_body(json::to_vec(&body))
}

/// Writes tables that are in RocksDB into JSON files (355): they are there already.
pub(crate) fn export(request: &Command) -> Answer {
    let header: ExportRocksDBConfigToJsonRequestHeader<'_> = request.header()?;
    let is_known = |name: &&str| TABLES.iter().any(|table| name.trim().eq_ignore_ascii_case(table));
    match header.config_type.split(';').filter(|name| !name.is_empty()).find(|name| !is_known(name)) {
        Some(other) => Err(Refusal::new(ResponseCode::SYSTEM_ERROR, format!("Unknown config type: {other}"))),
        None => Ok(Command::response(ResponseCode::SUCCESS).with_remark("export done.")),
    }
}

const UNDER_WAY: i32 = 2;
const TABLES: [&str; 3] = ["topics", "subscriptionGroups", "consumerOffsets"];
