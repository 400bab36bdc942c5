//! Held pulls: requests that found nothing and wait for a message.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use apogee_store::{Arrival, NameMap};
use tokio::sync::oneshot;

use super::PullFilter;

/// All held pulls, found by topic and queue.
#[derive(Default)]
pub(crate) struct HeldPulls {
    topics: NameMap<HashMap<i32, Vec<Held>>>,
    /// Number of held pulls, so that an arrival costs one load where nobody waits.
    count: AtomicUsize,
    next_id: AtomicU64,
    ended: AtomicBool,
}

struct Held {
    id: u64,
    /// Queue offset of the first message that the puller lacks.
    offset: i64,
    filter: PullFilter,
    wake: oneshot::Sender<()>,
}

/// One pull's place among the held ones; given up when dropped.
pub(crate) struct Hold {
    pulls: Arc<HeldPulls>,
    topic: Arc<str>,
    queue_id: i32,
    id: u64,
    woken: oneshot::Receiver<()>,
}

impl HeldPulls {
    /// Registers a pull that waits for a message at `offset` or behind that passes `filter`.
    ///
    /// The caller looks at the queue's end, and whether waiting has [ended](Self::has_ended), once more afterwards: what
    /// came between its last look and this call woke nobody.
    pub(crate) fn hold(self: &Arc<Self>, topic: &str, queue_id: i32, offset: i64, filter: PullFilter) -> Hold {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (wake, woken) = oneshot::channel();
        // Counted before it is to be found: an arrival that sees zero came before.
        self.count.fetch_add(1, Ordering::SeqCst);
        let mut queues = match self.topics.get_mut(topic) {
            Some(queues) => queues,
            None => self.topics.entry(Arc::from(topic)).or_default(),
        };
        queues.entry(queue_id).or_default().push(Held { id, offset, filter, wake });
        let topic = Arc::clone(queues.key());
        drop(queues);
        Hold { pulls: Arc::clone(self), topic, queue_id, id, woken }
    }

    /// Wakes the pulls that a message concerns.
    pub(crate) fn arrived(&self, arrival: &Arrival<'_>) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let Some(mut queues) = self.topics.get_mut(arrival.topic) else { return };
        let Some(held) = queues.get_mut(&arrival.queue_id) else { return };
        let mut at = 0;
        while let Some(pull) = held.get(at) {
            if pull.offset < arrival.max_offset && pull.filter.passes(arrival) {
                // A pull that is gone meanwhile needs no answer.
                let _ = held.swap_remove(at).wake.send(());
                self.count.fetch_sub(1, Ordering::SeqCst);
            } else {
                at += 1;
            }
        }
    }

    /// Wakes the pulls of a queue, whatever they wait for: a group of theirs may go on elsewhere now.
    pub(crate) fn wake(&self, topic: &str, queue_id: i32) {
        let Some(mut queues) = self.topics.get_mut(topic) else { return };
        for pull in queues.get_mut(&queue_id).into_iter().flat_map(|held| held.drain(..)) {
            let _ = pull.wake.send(());
            self.count.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Wakes all, and lets nobody wait any more: the broker is about to stop.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Wakes all, whatever they wait for.
    pub(crate) fn wake_all(&self) {
        for mut queues in self.topics.iter_mut() {
            for pull in queues.values_mut().flat_map(|held| held.drain(..)) {
                let _ = pull.wake.send(());
                self.count.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Whether nobody is to wait any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Number of pulls that wait now.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

impl Hold {
    /// Ends when a message for this pull arrived, or when nobody is to wait any more.
    pub(crate) async fn woken(&mut self) {
        // The sender goes away only by sending, or with this hold.
        let _ = (&mut self.woken).await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(mut queues) = self.pulls.topics.get_mut(&self.topic) else { return };
        let Some(held) = queues.get_mut(&self.queue_id) else { return };
        if let Some(at) = held.iter().position(|pull| pull.id == self.id) {
            held.swap_remove(at);
            self.pulls.count.fetch_sub(1, Ordering::SeqCst);
        }
        if held.is_empty() {
            queues.remove(&self.queue_id);
        }
        let empty = queues.is_empty();
        drop(queues);
        if empty {
            self.pulls.topics.remove_if(&self.topic, |_, queues| queues.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use apogee_filter::Expression;
    use apogee_remoting::message::properties::Properties;

    use super::*;
    use crate::pull::TagFilter;
    use crate::pull::filter::PropertyFilter;

    fn arrival(max_offset: i64, tags_code: i64, properties: &str) -> Arrival<'_> {
        let properties = Properties::new(properties.as_bytes());
        Arrival { topic: "T", queue_id: 0, max_offset, tags_code, store_timestamp: 0, properties }
    }

    fn is_woken(hold: &mut Hold) -> bool {
        hold.woken.try_recv().is_ok()
    }

    #[test]
    fn wakes_exactly_those_who_wait_for_it() {
        let pulls = Arc::new(HeldPulls::default());
        let mut all = pulls.hold("T", 0, 5, PullFilter::ALL);
        let mut tagged = pulls.hold("T", 0, 5, PullFilter::Tags(TagFilter::codes([7])));
        let mut ahead = pulls.hold("T", 0, 6, PullFilter::ALL);
        let mut other = pulls.hold("T", 1, 5, PullFilter::ALL);
        pulls.arrived(&arrival(6, 8, ""));
        assert!(is_woken(&mut all) && !is_woken(&mut tagged) && !is_woken(&mut ahead) && !is_woken(&mut other));
        pulls.arrived(&arrival(7, 7, ""));
        assert!(is_woken(&mut tagged) && is_woken(&mut ahead));
        assert_eq!(pulls.len(), 1);
    }

    #[test]
    fn wakes_who_filters_by_properties_for_those_alone() {
        let pulls = Arc::new(HeldPulls::default());
        let filter = PropertyFilter::brought(Arc::new(Expression::parse("a > 5").unwrap()));
        let mut hold = pulls.hold("T", 0, 5, PullFilter::Properties(filter));
        for properties in ["", "a\u{1}5\u{2}", "a\u{1}x\u{2}"] {
            pulls.arrived(&arrival(6, 0, properties));
            assert!(!is_woken(&mut hold));
        }
        pulls.arrived(&arrival(6, 0, "a\u{1}6\u{2}"));
        assert!(is_woken(&mut hold));
    }

    #[test]
    fn an_end_wakes_all() {
        let pulls = Arc::new(HeldPulls::default());
        let mut holds =
            [("T", 0), ("T", 1), ("U", 0)].map(|(topic, queue)| pulls.hold(topic, queue, 5, PullFilter::ALL));
        assert!(!pulls.has_ended());
        pulls.end();
        assert!(pulls.has_ended() && pulls.len() == 0);
        assert!(holds.iter_mut().all(is_woken));
    }

    #[test]
    fn a_dropped_hold_leaves_nothing_behind() {
        let pulls = Arc::new(HeldPulls::default());
        let first = pulls.hold("T", 0, 5, PullFilter::ALL);
        let second = pulls.hold("T", 0, 5, PullFilter::ALL);
        drop(first);
        assert_eq!(pulls.len(), 1);
        pulls.arrived(&arrival(6, 0, ""));
        drop(second);
        assert_eq!(pulls.len(), 0);
        assert!(pulls.topics.is_empty());
    }
}
