//! What a broker does by itself from time to time.

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::json;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::stats::{self, Span};
use crate::{Broker, client, expiry, registration, replication, schedule, transaction};

/// How often silent clients are looked for, as in the reference.
const CLIENT_SCAN: Duration = Duration::from_secs(10);
/// How often the filters of groups are written down, as in the reference.
const FILTERS: Duration = Duration::from_secs(10);
/// How often counters are sampled, as in the reference.
const SECOND: Duration = Duration::from_secs(1);
/// How long the times of puts are gathered before they are shown, as in the reference.
const MINUTE: Duration = Duration::from_mins(1);
/// How often is looked how full the disk is: so long a full disk takes messages, and one with room refuses them.
const SPACE_CHECK: Duration = Duration::from_secs(1);

/// Starts all of them. They end by being aborted.
pub(crate) fn spawn(broker: &Arc<Broker>) -> Vec<JoinHandle<()>> {
    let offsets = Duration::from_millis(broker.settings().broker.flush_consumer_offset_interval.max(1) as u64);
    let metrics = Duration::from_millis(broker.settings().broker.transaction_metric_flush_interval.max(1) as u64);
    let cleaning = Duration::from_millis(broker.settings().store.clean_resource_interval.max(1) as u64);
    let sampling =
        Span::ALL.map(|span| every(span.period(), broker, move |broker| broker.stats.sample(span, broker.now())));
    let others = [
        tokio::spawn(registration::keep_registered(Arc::clone(broker))),
        tokio::spawn(registration::keep_alive(Arc::clone(broker))),
        tokio::spawn(replication::follow(Arc::clone(broker))),
        tokio::spawn(replication::copy_for_ever(Arc::clone(broker))),
        tokio::spawn(replication::keep_membership(Arc::clone(broker))),
        every(offsets, broker, save_offsets),
        tokio::spawn(schedule::run(Arc::clone(broker))),
        tokio::spawn(save_delay_offsets(Arc::clone(broker))),
        tokio::spawn(transaction::check_for_ever(Arc::clone(broker))),
        tokio::spawn(transaction::write_notes_for_ever(Arc::clone(broker))),
        every(metrics, broker, transaction::save_metrics),
        every(FILTERS, broker, save_filters),
        every(CLIENT_SCAN, broker, client::close_silent),
        every(SECOND, broker, stats::tick),
        every(MINUTE, broker, |broker| broker.stats.next_minute()),
        every(SPACE_CHECK, broker, |broker| broker.store.check_space()),
        every(cleaning, broker, expiry::round),
    ];
    sampling.into_iter().chain(others).collect()
}

/// Writes the offsets down if any changed since the last time.
pub(crate) fn save_offsets(broker: &Broker) {
    if let Err(error) =
        broker.offsets.save_if_changed(|offsets| broker.offsets_file.write(json::to_vec_pretty(offsets)))
    {
        tracing::error!(%error, "consumer offsets are not saved");
    }
}

/// Writes the filters of groups down if any changed since the last time.
pub(crate) fn save_filters(broker: &Broker) {
    if let Err(error) = broker.filters.save(broker.settings().broker.filter_data_clean_time_span, broker.now()) {
        tracing::error!(%error, "filters of consumer groups are not saved");
    }
}

async fn save_delay_offsets(broker: Arc<Broker>) {
    let period = broker.settings().store.flush_delay_offset_interval.max(1) as u64;
    let mut ticks = interval(Duration::from_millis(period));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        schedule::save(&broker).await;
    }
}

/// Calls `act` again and again on a thread that may wait for the disk.
fn every(period: Duration, broker: &Arc<Broker>, act: impl Fn(&Broker) + Clone + Send + 'static) -> JoinHandle<()> {
    let broker = Arc::clone(broker);
    tokio::spawn(async move {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let (broker, act) = (Arc::clone(&broker), act.clone());
            // A panic was reported by the panic hook; the next turn is another try.
            let _ = tokio::task::spawn_blocking(move || act(&broker)).await;
        }
    })
}
