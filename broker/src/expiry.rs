//! Deleting old files: by itself from time to time, and when an administrator asks for it (306, 329).

use std::sync::Arc;

use apogee_remoting::{Command, ResponseCode};
use apogee_store::{Expired, ExpiryRound};

use crate::Broker;
use crate::answer::Answer;

/// One round. It waits for the disk.
pub(crate) fn round(broker: &Broker) {
    run(broker, false);
}

/// Starts deleting expired files whatever the hour (329). Answered at once, as the reference does.
pub(crate) fn by_hand(broker: &Arc<Broker>) -> Command {
    let broker = Arc::clone(broker);
    // Nobody waits for its end; a panic is reported by the panic hook.
    drop(tokio::task::spawn_blocking(move || {
        for _ in 0..ROUNDS_BY_HAND {
            if run(&broker, true).log == 0 {
                break;
            }
        }
    }));
    Command::response(ResponseCode::SUCCESS)
}

/// Removes the files of queues whose messages are gone (306). It waits for the disk.
pub(crate) fn queues(broker: &Broker, _request: &Command) -> Answer {
    broker.store.expire_queues()?;
    Ok(Command::response(ResponseCode::SUCCESS))
}

fn run(broker: &Broker, by_hand: bool) -> Expired {
    let round = ExpiryRound { now: broker.now(), used_percent: broker.store.used_percent(), by_hand };
    match broker.store.expire(&broker.settings.load_full().store, round) {
        Ok(expired) => expired,
        Err(error) => {
            tracing::error!(%error, "old files of the store are not deleted; it is tried again");
            Expired::default()
        }
    }
}

/// The reference makes so many rounds when it is asked.
const ROUNDS_BY_HAND: usize = 20;
