//! Topics that were deleted at the master and created anew before this slave saw that they were gone. The log shows it only
//! with the second message of a queue: until then, the offset of the first might as well be a damaged number.

use std::collections::HashMap;
use std::sync::Arc;

use super::tables::max_offset;
use crate::Broker;
use crate::replication::attach::bounds;
use crate::thread::on_thread;

/// Lets queues begin anew that hold a message of a new life, and those of the same topics that have none: the master's end
/// before them. Nothing is asked where nothing of that kind is known.
pub(super) async fn begin_where_master_did(broker: &Arc<Broker>, master: &str) -> Result<(), String> {
    let doubtful = broker.store.doubtful_queues();
    if !doubtful.is_empty() {
        let dispatched = dispatched(broker, master).await?;
        for queue in doubtful {
            let Some(life) = queue.life() else { continue };
            let Some((position, end)) = life.held.filter(|(position, _)| *position < dispatched) else { continue };
            let max = max_offset(broker, master, queue.topic(), queue.queue_id()).await?;
            if (end..life.max).contains(&max) {
                tracing::info!(topic = %queue.topic(), queue_id = queue.queue_id(), position, max, former = life.max,
                    "a topic was created anew at the master");
                let beginning = Arc::clone(broker);
                on_thread(move || beginning.store.begin_anew(&queue, life)).await.map_err(|error| error.to_string())?;
            } else if max >= life.max && is_all_here(broker, master).await? {
                queue.give_up_held(life);
            }
        }
    }
    let mut remade = broker.store.take_remade_topics();
    let done = empty_others(broker, master, &mut remade).await;
    for (topic, position) in &remade {
        broker.store.note_remade_topic(topic, *position);
    }
    done
}

/// Empties queues that only have messages of a former life of their topic, of topics that have a message of the new one at a
/// physical offset. Those that are done are taken out of `remade`.
async fn empty_others(broker: &Arc<Broker>, master: &str, remade: &mut HashMap<Arc<str>, i64>) -> Result<(), String> {
    if remade.is_empty() {
        return Ok(());
    }
    let dispatched = dispatched(broker, master).await?;
    let mut asked: Vec<_> = remade.iter().map(|(topic, position)| (Arc::clone(topic), *position)).collect();
    asked.retain(|(_, position)| *position < dispatched);
    for (topic, position) in asked {
        for queue in broker.store.queues_of(&topic) {
            let Some(life) = queue.life().filter(|life| life.held.is_none() && life.max_physical <= position) else {
                continue;
            };
            if max_offset(broker, master, &topic, queue.queue_id()).await? < life.max {
                let beginning = Arc::clone(broker);
                on_thread(move || beginning.store.begin_anew(&queue, life)).await.map_err(|error| error.to_string())?;
            }
        }
        remade.remove(&topic);
    }
    Ok(())
}

/// Physical offset up to which the master has its records in queues; 0 where it lost some that this slave has.
async fn dispatched(broker: &Broker, master: &str) -> Result<i64, String> {
    let own_end = broker.store.max_physical_offset();
    let theirs = bounds(broker, master).await?;
    Ok(if own_end <= theirs.max { theirs.dispatched } else { 0 })
}

/// Whether this slave has now, in its queues, all that the master had before.
async fn is_all_here(broker: &Broker, master: &str) -> Result<bool, String> {
    let end = bounds(broker, master).await?.max;
    Ok(broker.store.max_physical_offset() - broker.store.dispatch_behind_bytes() >= end)
}
