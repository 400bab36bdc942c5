//! Who holds which queue.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use apogee_remoting::protocol::message_queue::MessageQueue;
use parking_lot::Mutex;

/// The locks of all groups. Times are milliseconds of any steady clock.
pub(crate) struct QueueLocks {
    groups: Mutex<HashMap<String, HashMap<MessageQueue, Lock>>>,
    /// A lock that is not renewed for so long is free for others, ms.
    lifetime: i64,
}

struct Lock {
    client: String,
    renewed: i64,
}

impl Lock {
    fn is_expired(&self, now: i64, lifetime: i64) -> bool {
        now - self.renewed > lifetime
    }
}

impl QueueLocks {
    /// No locks. One that is not renewed for `lifetime`, a minute where nothing else is configured, is free for others.
    pub(crate) fn new(lifetime: Option<Duration>) -> Self {
        let lifetime = lifetime.unwrap_or(LIFETIME).as_millis();
        Self { groups: Mutex::default(), lifetime: i64::try_from(lifetime).unwrap_or(i64::MAX) }
    }

    /// Takes or renews the locks of `queues` for a client, and returns those that it now holds.
    pub(crate) fn lock(
        &self,
        group: &str,
        client: &str,
        queues: BTreeSet<MessageQueue>,
        now: i64,
    ) -> BTreeSet<MessageQueue> {
        let mut groups = self.groups.lock();
        let locks = groups.entry(group.to_owned()).or_default();
        queues
            .into_iter()
            .filter(|queue| match locks.get_mut(queue) {
                Some(lock) if lock.client == client || lock.is_expired(now, self.lifetime) => {
                    client.clone_into(&mut lock.client);
                    lock.renewed = now;
                    true
                }
                Some(_) => false,
                None => {
                    locks.insert(queue.clone(), Lock { client: client.to_owned(), renewed: now });
                    true
                }
            })
            .collect()
    }

    /// Gives back the locks of `queues` that the client holds.
    pub(crate) fn unlock(&self, group: &str, client: &str, queues: &BTreeSet<MessageQueue>) {
        let mut groups = self.groups.lock();
        let Some(locks) = groups.get_mut(group) else { return };
        for queue in queues {
            if locks.get(queue).is_some_and(|lock| lock.client == client) {
                locks.remove(queue);
            }
        }
        if locks.is_empty() {
            groups.remove(group);
        }
    }

    /// Whether a group holds a lock that has not expired: it consumes in order.
    pub(crate) fn is_ordered(&self, group: &str, now: i64) -> bool {
        self.groups
            .lock()
            .get(group)
            .is_some_and(|locks| locks.values().any(|lock| !lock.is_expired(now, self.lifetime)))
    }
}

const LIFETIME: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(ids: &[i32]) -> BTreeSet<MessageQueue> {
        let queue = |id: &i32| MessageQueue { topic: "T".into(), broker_name: "b".into(), queue_id: *id };
        ids.iter().map(queue).collect()
    }

    #[test]
    fn a_queue_is_one_client_s_until_it_gives_it_back_or_falls_silent() {
        let locks = QueueLocks::new(None);
        assert_eq!(locks.lock("g", "a", queues(&[0, 1]), 0), queues(&[0, 1]));
        assert_eq!(locks.lock("g", "b", queues(&[1, 2]), 60_000), queues(&[2]));
        assert_eq!(locks.lock("other", "b", queues(&[1]), 0), queues(&[1]));
        locks.unlock("g", "b", &queues(&[0, 1, 2]));
        assert_eq!(locks.lock("g", "b", queues(&[0]), 60_000), queues(&[]));
        assert_eq!(locks.lock("g", "b", queues(&[0]), 60_001), queues(&[0]));
        locks.unlock("g", "a", &queues(&[1]));
        assert_eq!(locks.lock("g", "b", queues(&[1]), 0), queues(&[1]));
    }

    #[test]
    fn a_group_is_ordered_while_a_lock_lives() {
        let locks = QueueLocks::new(None);
        assert!(!locks.is_ordered("g", 0));
        locks.lock("g", "a", queues(&[0]), 0);
        assert!(locks.is_ordered("g", 60_000) && !locks.is_ordered("g", 60_001));
    }
}
