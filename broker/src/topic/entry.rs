//! What the table has of a topic.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use apogee_remoting::protocol::topic::TopicConfig;
use apogee_store::queue::Queue;
use apogee_store::{AppendError, Store};
use arc_swap::ArcSwapOption;

use super::{file, queue_kind};
use crate::names;
use crate::saved_table::Entry;
use crate::stats::{Amount, KeptTraffic, Stats};

/// A topic: its configuration, and what each send to it would have to look for. A change of the topic makes another one, so
/// that nothing here is older than the configuration; what others may take out of their tables says so itself.
pub(crate) struct Topic {
    config: TopicConfig,
    /// Whether clients may send to a topic of this name.
    pub(crate) is_open: bool,
    is_saved: AtomicBool,
    /// `None` for one that is made for a moment.
    traffic: Option<KeptTraffic>,
    /// By their numbers, each from its first message on.
    queues: Box<[ArcSwapOption<Queue>]>,
    /// Its part of the table's file, once it was written.
    text: OnceLock<Box<[u8]>>,
}

impl Topic {
    /// One that is made for a moment. No file has it.
    pub(crate) fn passing(config: TopicConfig) -> Self {
        let is_open =
            names::check_topic(&config.topic_name).is_ok() && !names::is_closed_to_senders(&config.topic_name);
        Self {
            config,
            is_open,
            is_saved: AtomicBool::new(true),
            traffic: None,
            queues: Box::default(),
            text: OnceLock::new(),
        }
    }

    /// How it stands in the table's file. It is written again with each change of another topic.
    pub(super) fn text(&self) -> &[u8] {
        self.text.get_or_init(|| file::text_of(&self.config).into())
    }

    /// Its queue of this number.
    ///
    /// # Errors
    /// There can be none.
    pub(crate) fn queue(&self, store: &Store, queue_id: i32) -> Result<Arc<Queue>, AppendError> {
        let kept = usize::try_from(queue_id).ok().and_then(|number| self.queues.get(number));
        if let Some(queue) = kept.and_then(ArcSwapOption::load_full).filter(|queue| !queue.is_gone()) {
            return Ok(queue);
        }
        let queue = store.queue(&self.config.topic_name, queue_id)?;
        if let Some(kept) = kept {
            kept.store(Some(Arc::clone(&queue)));
        }
        Ok(queue)
    }

    /// Counts messages of one request that were stored in it.
    pub(crate) fn count_stored(&self, stats: &Stats, messages: usize, bytes: usize) {
        self.count(stats, (messages, bytes, 1));
    }

    /// Counts messages of a request each.
    pub(crate) fn count_stored_each(&self, stats: &Stats, messages: usize, bytes: usize) {
        self.count(stats, (messages, bytes, messages));
    }

    fn count(&self, stats: &Stats, amount: Amount) {
        stats.stored_amount(self.traffic.as_ref(), &self.config.topic_name, amount);
    }
}

impl From<TopicConfig> for Topic {
    fn from(config: TopicConfig) -> Self {
        let queues = usize::try_from(config.write_queue_nums.max(config.read_queue_nums)).unwrap_or(0);
        let queues = (0..queues.min(MOST_KEPT)).map(|_| ArcSwapOption::empty()).collect();
        let is_saved = AtomicBool::new(false);
        Self { is_saved, traffic: Some(KeptTraffic::default()), queues, ..Self::passing(config) }
    }
}

/// Nobody is told of a message whose topic a restart would not find.
impl Entry for Topic {
    fn is_same(&self, other: &Self) -> bool {
        self.config == other.config
    }

    fn is_saved(&self) -> bool {
        self.is_saved.load(Ordering::Acquire)
    }

    fn note_saved(&self) {
        self.is_saved.store(true, Ordering::Release);
    }

    /// A message to a queue that the file's topic does not have would be out of reach after a restart.
    fn allows_no_more_than(&self, old: &Self) -> bool {
        let queues = |topic: &Self| topic.write_queue_nums.max(topic.read_queue_nums);
        queues(self) <= queues(old) && self.perm & !old.perm == 0 && queue_kind(self) == queue_kind(old)
    }
}

impl Deref for Topic {
    type Target = TopicConfig;

    fn deref(&self) -> &TopicConfig {
        &self.config
    }
}

/// Queues of higher numbers are looked for each time.
const MOST_KEPT: usize = 1024;
