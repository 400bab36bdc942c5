//! How replication goes: code 907.

use std::time::Duration;

use apogee_remoting::protocol::ha::{HAClientRuntimeInfo, HAConnectionRuntimeInfo, HARuntimeInfo};
use apogee_remoting::{Command, ResponseCode, json};
use apogee_replication::slave::Replica;

use crate::Broker;

/// The slaves of a master, or the master of a slave (907).
pub(crate) fn get_status(broker: &Broker) -> Command {
    let info = match &broker.replication.replica {
        Some(replica) => of_slave(broker, replica),
        None => of_master(broker),
    };
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&info))
}

fn of_master(broker: &Broker) -> HARuntimeInfo {
    let end = broker.store.max_physical_offset();
    let gap = i64::from(broker.settings().store.ha_max_gap_not_in_sync);
    let slaves = broker.replication.master.slaves().list();
    let of_slave = |slave: &apogee_replication::master::Slave| {
        let diff = end - slave.acknowledged();
        HAConnectionRuntimeInfo {
            addr: slave.address.to_string(),
            slave_ack_offset: slave.acknowledged(),
            diff,
            in_sync: diff < gap,
            transferred_byte_in_second: slave.bytes_per_second() as i64,
            transfer_from_where: slave.sent(),
        }
    };
    let ha_connection_info: Vec<_> = slaves.iter().map(|slave| of_slave(slave)).collect();
    HARuntimeInfo {
        master: true,
        master_commit_log_max_offset: end,
        in_sync_slave_nums: ha_connection_info.iter().filter(|slave| slave.in_sync).count() as i32,
        ha_connection_info,
        ha_client_runtime_info: HAClientRuntimeInfo::default(),
    }
}

fn of_slave(broker: &Broker, replica: &Replica) -> HARuntimeInfo {
    let status = replica.status();
    let time = |ago: Option<Duration>| ago.map_or(broker.boot_time, |ago| broker.now() - ago.as_millis() as i64);
    HARuntimeInfo {
        ha_client_runtime_info: HAClientRuntimeInfo {
            master_addr: replica.master().unwrap_or_default(),
            max_offset: broker.store.max_physical_offset(),
            last_read_timestamp: time(status.since_read()),
            last_write_timestamp: time(status.since_written()),
            transferred_byte_in_second: status.bytes_per_second() as i64,
            master_flush_offset: broker.store.master_flushed(),
        },
        ..HARuntimeInfo::default()
    }
}
