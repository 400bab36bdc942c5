//! Topics that are being deleted: they are out of the table, and their queues are on their way.
//!
//! Until those are gone nobody may make a topic of that name anew: what it acknowledges would go with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::saved_table::{SaveError, Saving};

/// All deletions under way. Who begins one, or looks for one, holds the lock of the table of topics.
#[derive(Default)]
pub(super) struct Deletions(Mutex<BTreeMap<String, UnderWay>>);

struct UnderWay {
    /// Whoever makes the topic anew, or deletes it, too.
    waiting: Vec<oneshot::Sender<Result<(), SaveError>>>,
    is_through: Arc<AtomicBool>,
}

impl Deletions {
    /// Begins one.
    ///
    /// # Errors
    /// It is being deleted already.
    pub(super) fn begin(self: &Arc<Self>, topic: &str) -> Result<Deletion, Other> {
        let mut under_way = self.0.lock();
        if let Some(other) = under_way.get_mut(topic) {
            return Err(Other { over: other.over(), is_through: Arc::clone(&other.is_through) });
        }
        let is_through = Arc::<AtomicBool>::default();
        under_way.insert(topic.to_owned(), UnderWay { waiting: Vec::new(), is_through: Arc::clone(&is_through) });
        Ok(Deletion { deletions: Arc::clone(self), topic: topic.to_owned(), is_through })
    }

    /// What to wait for before a topic may be made, if it is being deleted.
    pub(super) fn of(&self, topic: &str) -> Option<Saving> {
        self.0.lock().get_mut(topic).map(UnderWay::over)
    }
}

impl UnderWay {
    fn over(&mut self) -> Saving {
        let (over, waiting) = oneshot::channel();
        self.waiting.push(over);
        Saving::until(waiting)
    }
}

/// A deletion under way. When it is dropped, however it went, the topic may be made anew.
#[must_use = "it ends when it is dropped"]
pub(crate) struct Deletion {
    deletions: Arc<Deletions>,
    topic: String,
    is_through: Arc<AtomicBool>,
}

impl Deletion {
    /// Nothing of the topic is left.
    pub(crate) fn through(self) {
        self.is_through.store(true, Ordering::Release);
    }
}

impl Drop for Deletion {
    fn drop(&mut self) {
        let over = self.deletions.0.lock().remove(&self.topic);
        for waiting in over.into_iter().flat_map(|over| over.waiting) {
            // It may have gone.
            let _ = waiting.send(Ok(()));
        }
    }
}

/// The deletion of a topic that somebody else has begun.
pub(crate) struct Other {
    over: Saving,
    is_through: Arc<AtomicBool>,
}

impl Other {
    /// Ends with it; says whether the topic is gone. For a thread that may wait.
    pub(crate) fn wait(self) -> Result<bool, SaveError> {
        self.over.wait()?;
        Ok(self.is_through.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[tokio::test]
    async fn who_waits_goes_on_however_it_ends() {
        let deletions = Arc::<Deletions>::default();
        assert!(deletions.of("T").is_none());
        for (fails, panics) in [(false, false), (true, false), (true, true)] {
            let Ok(deletion) = deletions.begin("T") else { panic!("it is under way already") };
            assert!(deletions.of("other").is_none());
            let making = deletions.of("T").unwrap();
            let Err(other) = deletions.begin("T") else { panic!("it is under way") };
            let ended = catch_unwind(AssertUnwindSafe(|| match (fails, panics) {
                (false, _) => deletion.through(),
                (true, false) => drop(deletion),
                (true, true) => {
                    let _deletion = deletion;
                    panic!("on its way");
                }
            }));
            assert_eq!(ended.is_err(), panics);
            making.done().await.unwrap();
            let is_gone = tokio::task::spawn_blocking(|| other.wait().unwrap()).await.unwrap();
            assert_eq!(is_gone, !fails);
            assert!(deletions.of("T").is_none());
        }
    }
}
