//! The task that delivers, and keeping its progress.

use std::sync::Arc;

use apogee_config::BrokerRole;
use tokio::task::spawn_blocking;

use super::deliver::Delivery;
use crate::Broker;

/// Delivers what is due, for ever. A slave does not: what its master delivers comes to it as any message.
pub(crate) async fn run(broker: Arc<Broker>) {
    if broker.settings().store.broker_role == BrokerRole::Slave {
        return;
    }
    loop {
        broker.schedule.alarm.awake();
        let delivering = Arc::clone(&broker);
        let delivered = spawn_blocking(move || deliver_due(&delivering)).await;
        let now = broker.now();
        // A panic was reported by the panic hook.
        let next = delivered.unwrap_or(now + AFTER_PANIC);
        broker.schedule.alarm.sleep(next, now).await;
    }
}

/// Delivers until nothing more is due; answers when there will be.
fn deliver_due(broker: &Broker) -> i64 {
    let version_step = broker.settings().broker.delay_offset_update_version_step.max(1) as u64;
    let delivered = |topic: &str, size| broker.stats.stored(topic, 1, size);
    let mut delivery = Delivery { store: &broker.store, version_step, delivered };
    loop {
        let next = broker.schedule.deliver(&mut delivery, broker.now());
        if next > broker.now() {
            return next;
        }
    }
}

/// Writes the offsets down if any changed since the last time.
pub(crate) async fn save(broker: &Arc<Broker>) {
    let Some(unsaved) = broker.schedule.offsets.unsaved() else { return };
    // First the messages: an offset that outlives those it says were delivered loses them.
    if let Err(error) = broker.store.flushed(broker.store.max_physical_offset()).await {
        tracing::error!(%error, "delay offsets are not saved, for delivered messages are not on disk");
        return;
    }
    let saving = Arc::clone(broker);
    let saved = spawn_blocking(move || saving.schedule.offsets.save(&unsaved)).await;
    if let Ok(Err(error)) = saved {
        tracing::error!(%error, "delay offsets are not saved");
    }
}

const AFTER_PANIC: i64 = 1000;
