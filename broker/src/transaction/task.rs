//! What is done for transactions from time to time.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{GROUP, HALF_TOPIC, OP_HALF_TOPIC, QUEUE, check, escape, notes};
use crate::Broker;
use crate::thread::on_thread;

/// Looks after halves again and again. A slave leaves that to its master, and while it acts for that hands them to others.
pub(crate) async fn check_for_ever(broker: Arc<Broker>) {
    loop {
        sleep(millis(broker.settings().broker.transaction_check_interval)).await;
        if !broker.replication.acts() {
            continue;
        }
        let (checking, owns_log) = (Arc::clone(&broker), broker.replication.owns_log());
        let check = move || if owns_log { check::check(&checking) } else { escape::hand_over(&checking) };
        // A panic was reported by the panic hook; the next turn is another try.
        let Ok(checked) = spawn_blocking(check).await else { continue };
        if let Err(error) = checked {
            tracing::error!(%error, "half messages cannot be read");
        }
        if owns_log {
            note_progress(&broker).await;
        }
    }
}

/// Remembers how far checks came; not before the copies that they made are on disk, for they are all that is left of their halves.
async fn note_progress(broker: &Broker) {
    let (half, note) = {
        let mut halves = broker.transactions.halves.lock();
        (halves.checked(), halves.pass_notes())
    };
    for (topic, offset) in [(HALF_TOPIC, half), (OP_HALF_TOPIC, note)] {
        if broker.offsets.consumed(GROUP, topic, QUEUE) == Some(offset) {
            continue;
        }
        if let Err(error) = broker.store.flushed(broker.store.max_physical_offset()).await {
            tracing::error!(%error, "the progress of transactions is not noted");
            return;
        }
        broker.commit_offset(GROUP, topic, QUEUE, offset);
    }
}

/// Notes ends some time after the first that is not noted, so that one message holds many.
pub(crate) async fn write_notes_for_ever(broker: Arc<Broker>) {
    loop {
        broker.transactions.unwritten.notified().await;
        loop {
            sleep(millis(i64::from(broker.settings().broker.transaction_op_batch_interval))).await;
            if write_notes(&broker) {
                break;
            }
        }
    }
}

/// Ends checks, and notes all ends and how far the checks came: without that, the next start would check halves again whose
/// copies are checked as well, and a transaction could be committed twice.
pub(crate) async fn stop(broker: &Arc<Broker>) {
    let stopping = Arc::clone(broker);
    on_thread(move || {
        stopping.transactions.stop_checks();
        write_notes(&stopping);
        save_metrics(&stopping);
    })
    .await;
    if broker.replication.owns_log() {
        note_progress(broker).await;
    }
}

/// Writes the number of pending transactions down if it changed.
pub(crate) fn save_metrics(broker: &Broker) {
    if let Err(error) = broker.transactions.metrics.save() {
        tracing::error!(%error, "the numbers of pending transactions are not saved");
    }
}

/// Says whether nothing is left to be noted.
fn write_notes(broker: &Broker) -> bool {
    match notes::write(broker, &mut broker.transactions.halves.lock()) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "ends of transactions are not noted yet: the producers may be asked about them");
            false
        }
    }
}

fn millis(setting: i64) -> Duration {
    Duration::from_millis(setting.max(1) as u64)
}
