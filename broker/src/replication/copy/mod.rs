//! What a slave takes over from its master besides the log: topics, groups, offsets, modes of consumption, how far a timer
//! wheel is. It asks a master of either kind by the requests that the reference's slaves use.

mod anew;
mod back;
mod pages;
mod tables;

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::{Command, ResponseCode};
use tokio::time::Instant;

pub(super) use back::take_back;

use crate::Broker;

/// Copies every minute; sooner after a failure, when consumers committed offsets here, and as soon as another master is known;
/// and how far a timer is at every look, at which messages of topics that may be created anew are put where they belong. Never
/// ends.
pub(crate) async fn copy_for_ever(broker: Arc<Broker>) {
    if broker.replication.replica.is_none() {
        return;
    }
    let mut known = broker.replication.master_address.subscribe();
    let mut copied: Option<(String, Instant)> = None;
    loop {
        known.mark_unchanged();
        if let Some(master) = broker.replication.master_address() {
            let is_due = broker.offsets.has_committed_here()
                || copied.as_ref().is_none_or(|(whose, when)| *whose != master || when.elapsed() >= PERIOD);
            // What a slave that acts knows is newer; a master that comes back takes it over first.
            if master != broker.address && !broker.replication.acts() {
                if let Err(error) = tables::timer_check_point(&broker, &master).await {
                    tracing::debug!(master, error, "not taken over from the master: how far its timer is");
                }
                if is_due {
                    copied = copy_all(&broker, &master).await.then(|| (master.clone(), Instant::now()));
                }
                if let Err(error) = anew::begin_where_master_did(&broker, &master).await {
                    tracing::warn!(master, error, "not known of the master: which topics were created anew");
                }
            }
        }
        // Its sender is in the broker.
        let _ = tokio::time::timeout(LOOK, known.changed()).await;
    }
}

/// Copies everything; says whether all of it worked.
async fn copy_all(broker: &Arc<Broker>, master: &str) -> bool {
    let copied = [
        ("topics", tables::topics(broker, master).await),
        ("consumer offsets", tables::offsets(broker, master).await),
        ("delay offsets", tables::delay_offsets(broker, master).await),
        ("groups", tables::groups(broker, master).await),
        ("modes of consumption", tables::request_modes(broker, master).await),
        ("how many messages wait for the timer", tables::timer_metrics(broker, master).await),
    ];
    let mut is_complete = true;
    for (what, result) in copied {
        if let Err(error) = result {
            is_complete = false;
            tracing::warn!(master, what, error, "not taken over from the master");
        }
    }
    is_complete
}

/// Sends a request to another broker; what it answers, if that is a success.
pub(super) async fn ask(broker: &Broker, master: &str, request: Command) -> Result<Command, String> {
    let answer = broker.client.call(master, request, TIMEOUT).await.map_err(|error| error.to_string())?;
    match answer.response_code() {
        ResponseCode::SUCCESS => Ok(answer),
        code => Err(format!("{code}: {}", answer.remark.as_deref().unwrap_or_default())),
    }
}

/// As the reference's slave.
const PERIOD: Duration = Duration::from_mins(1);
/// How soon after a failure; and how often the check point of a timer is copied, as by the reference's slave.
const LOOK: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(30);
