//! The light queues that a message also goes to.

use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::properties::Properties;
use apogee_remoting::message::record::Draft;

use super::find_queue;
use crate::light::{LIGHT_QUEUE_ID, is_light, named};
use crate::log::AppendError;
use crate::queue::{Queue, QueueTable, is_queued};

/// Finds them.
pub(super) struct LightQueues {
    queues: Arc<QueueTable>,
    /// How many there may be (maxLmqConsumeQueueNum); `None` without a limit (enableLmqQuota).
    limit: Option<usize>,
}

impl LightQueues {
    /// `None` where messages go to none (enableLmq).
    pub(super) fn from_config(config: &MessageStoreConfig, queues: &Arc<QueueTable>) -> Option<Self> {
        let limit = usize::try_from(config.max_lmq_consume_queue_num).unwrap_or(0);
        config.enable_lmq.then(|| Self { queues: Arc::clone(queues), limit: config.enable_lmq_quota.then_some(limit) })
    }

    /// Those that a message names, in its order; nearly always none.
    ///
    /// # Errors
    /// A name is none of a light queue: the reference takes such a message, and its dispatcher then stops at it. Or there
    /// are too many.
    pub(super) fn of(&self, draft: &Draft<'_>) -> Result<Vec<Arc<Queue>>, AppendError> {
        let Some(names) = named(draft.topic, Properties::new(draft.properties)).filter(|_| is_queued(draft.sys_flag))
        else {
            return Ok(Vec::new());
        };
        names.map(|name| self.queue(name)).collect()
    }

    fn queue(&self, name: &str) -> Result<Arc<Queue>, AppendError> {
        if !is_light(name) {
            return Err(AppendError::Queue { topic: name.to_owned(), queue_id: LIGHT_QUEUE_ID });
        }
        if let Some(limit) = self.limit
            && self.queues.light_queues() >= limit
            && self.queues.get(name, LIGHT_QUEUE_ID).is_none()
        {
            return Err(AppendError::TooManyLightQueues(limit));
        }
        find_queue(&self.queues, name, LIGHT_QUEUE_ID)
    }
}
