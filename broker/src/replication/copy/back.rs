//! What a master takes back from a slave that acted for it. Offsets never go back: what the master has further stays.

use std::sync::Arc;

use apogee_remoting::{Command, RequestCode};

use super::{ask, tables};
use crate::thread::on_thread;
use crate::{Broker, schedule, tasks};

/// Takes over how far delay levels are delivered and consumers came, and how far a timer wheel is.
pub(in super::super) async fn take_back(broker: &Arc<Broker>, slave: &str) -> Result<(), String> {
    let answer = ask(broker, slave, Command::request(RequestCode::GET_ALL_DELAY_OFFSET)).await?;
    broker.schedule.offsets.take_further(tables::parse(&answer)?);
    schedule::save(broker).await;
    let answer = ask(broker, slave, Command::request(RequestCode::GET_ALL_CONSUMER_OFFSET)).await?;
    broker.offsets.take_further(tables::parse(&answer)?);
    broker.transactions.pass_handed_over(&broker.offsets);
    let saving = Arc::clone(broker);
    on_thread(move || tasks::save_offsets(&saving)).await;
    tables::timer_check_point(broker, slave).await?;
    tables::timer_metrics(broker, slave).await
}
