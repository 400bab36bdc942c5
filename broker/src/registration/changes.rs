//! Topics that changed and that the name servers do not know of yet.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// Gathers changes for the next registration, and tells those who wait for it.
pub(crate) struct TopicChanges {
    state: Mutex<State>,
    wake: Notify,
    /// Number of the last change that is registered.
    registered: watch::Sender<u64>,
}

struct State {
    topics: BTreeSet<String>,
    /// Number of the last change.
    last: u64,
}

/// What a registration has to tell.
pub(crate) struct Pending {
    topics: BTreeSet<String>,
    number: u64,
}

impl Pending {
    /// The topic, if it is the only change. Several are to be told with all others: a name server refuses a single topic of
    /// a broker that it does not know, but takes several for all there are (trap 24).
    pub(super) fn single(&self) -> Option<&str> {
        self.topics.first().filter(|_| self.topics.len() == 1).map(String::as_str)
    }
}

impl TopicChanges {
    /// Nothing is registered yet: the start counts as the first change.
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State { topics: BTreeSet::new(), last: 1 });
        Self { state, wake: Notify::new(), registered: watch::Sender::new(0) }
    }

    /// Notes that a topic was created, changed or deleted.
    pub(crate) fn note(&self, topic: &str) {
        let mut state = self.state.lock();
        state.topics.insert(topic.to_owned());
        state.last += 1;
        drop(state);
        self.wake.notify_one();
    }

    /// Notes a change of something that is told beside the topics.
    pub(crate) fn note_other(&self) {
        self.state.lock().last += 1;
        self.wake.notify_one();
    }

    /// Ends when everything noted so far was told to the name servers, whether they could be reached or not.
    pub(crate) async fn registered(&self) {
        let wanted = self.state.lock().last;
        // The sender lives as long as this does.
        let _ = self.registered.subscribe().wait_for(|registered| *registered >= wanted).await;
    }

    /// Ends when there is something to tell.
    pub(super) async fn noted(&self) {
        self.wake.notified().await;
    }

    /// Takes what is to be told.
    pub(super) fn take(&self) -> Pending {
        let mut state = self.state.lock();
        Pending { topics: std::mem::take(&mut state.topics), number: state.last }
    }

    /// Notes that a registration is through.
    pub(super) fn done(&self, pending: &Pending) {
        self.registered.send_replace(pending.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_ends_with_the_registration_that_covers_the_change() {
        let changes = TopicChanges::new();
        assert!(poll_once(&mut Box::pin(changes.registered())).await.is_none(), "not before the first");
        changes.done(&changes.take());
        changes.registered().await;
        changes.note("a");
        let first = changes.take();
        changes.note("b");
        let waiting = changes.registered();
        tokio::pin!(waiting);
        changes.done(&first);
        assert!(poll_once(&mut waiting).await.is_none());
        let second = changes.take();
        assert_eq!(second.single(), Some("b"));
        changes.done(&second);
        waiting.await;
    }

    #[test]
    fn several_changes_are_told_with_all_topics() {
        let changes = TopicChanges::new();
        assert_eq!(changes.take().single(), None);
        changes.note("a");
        changes.note("a");
        assert_eq!(changes.take().single(), Some("a"));
        changes.note("a");
        changes.note("b");
        assert_eq!(changes.take().single(), None);
    }

    /// Polls once.
    async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = std::future::ready(()) => None,
        }
    }
}
