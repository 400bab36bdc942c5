//! The task that delivers, and keeping its progress.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use apogee_remoting::message::record::Draft;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::message::{Delivery, Elsewhere};
use crate::{Broker, replication};

/// Delivers what is due, for ever. A slave only does while it acts for its master: what that delivers comes to it as any message.
pub(crate) async fn run(broker: Arc<Broker>) {
    loop {
        broker.replication.acting().await;
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
    let counts = broker.settings().store.enable_schedule_message_stats;
    let delivered = |topic: &str, messages, bytes| {
        broker.stats.stored_each(topic, messages, bytes);
        if counts {
            broker.stats.delivered(messages, bytes);
        }
    };
    let elsewhere = |draft: &Draft<'_>| Handle::current().block_on(replication::send_elsewhere(broker, draft));
    let elsewhere: Option<&Elsewhere<'_>> = if broker.replication.owns_log() { None } else { Some(&elsewhere) };
    let mut delivery = Delivery { store: &broker.store, version_step, delivered, elsewhere };
    while broker.replication.acts() {
        let next = broker.schedule.deliver(&mut delivery, broker.now());
        match next.saturating_sub(broker.now()) {
            ..=0 => {}
            // What is due meanwhile is delivered together, and with one wake-up less each.
            1..GATHERED => thread::sleep(GATHER),
            _ => return next,
        }
    }
    // Asked again when this broker acts again.
    broker.now()
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
/// How late messages may be that are due shortly after others, and the same in ms.
const GATHER: Duration = Duration::from_millis(GATHERED as u64);
const GATHERED: i64 = 3;
