//! Requests between brokers of one name: codes 905, 906 and 908.

use std::sync::Arc;

use apogee_remoting::protocol::ha::{
    ExchangeHAInfoRequestHeader, ExchangeHAInfoResponseHeader, ResetMasterFlushOffsetHeader,
};
use apogee_remoting::protocol::register::NotifyMinBrokerIdChangeRequestHeader;
use apogee_remoting::{Command, ResponseCode};

use super::MASTER_ID;
use crate::Broker;
use crate::answer::Answer;

/// A name server tells that another broker of this name now has the smallest id (905).
pub(crate) fn notice_min_broker_id(broker: &Arc<Broker>, request: &Command) -> Answer {
    let header: NotifyMinBrokerIdChangeRequestHeader<'_> = request.header()?;
    if let Some(id) = header.min_broker_id {
        let change = super::membership::Change {
            min_broker_id: id,
            address: header.min_broker_addr,
            gone: header.offline_broker_addr,
            ha_address: header.ha_broker_addr,
        };
        change.apply(broker);
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}

/// Tells a slave where its master is, or a slave asks its master where to connect (906).
pub(crate) fn exchange_addresses(broker: &Broker, request: &Command) -> Answer {
    let header: ExchangeHAInfoRequestHeader<'_> = request.header()?;
    let mut told =
        ExchangeHAInfoResponseHeader { master_ha_address: None, master_flush_offset: None, master_address: None };
    if let Some(ha_address) = header.master_ha_address {
        broker.replication.set_master(ha_address, header.master_address);
        if broker.settings().store.sync_master_flush_offset_when_startup && broker.store.master_flushed() == 0 {
            broker.store.set_master_flushed(header.master_flush_offset.unwrap_or(0))?;
        }
    } else if broker.settings().broker.broker_id == MASTER_ID {
        told.master_ha_address = Some(&broker.ha_address);
        told.master_flush_offset = Some(broker.replication.initial_max_offset);
        told.master_address = Some(&broker.address);
    }
    Ok(Command::response(ResponseCode::SUCCESS).with_header(&told))
}

/// Sets what a slave takes for flushed at its master (908). A master does nothing.
pub(crate) fn reset_master_flushed(broker: &Broker, request: &Command) -> Answer {
    if broker.settings().broker.broker_id != MASTER_ID {
        let header: ResetMasterFlushOffsetHeader = request.header()?;
        broker.store.set_master_flushed(header.master_flush_offset)?;
    }
    Ok(Command::response(ResponseCode::SUCCESS))
}
