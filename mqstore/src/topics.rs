//! What is known of topics: their table, and the kinds of their queues.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use apogee_remoting::json;
use apogee_store::QueueKind;
use apogee_store::queue::QueueKinds;
use serde_json::Value;

use crate::error::Error;
use crate::queue::QueueFiles;

/// The topics of a store.
#[derive(Clone, Debug)]
pub(crate) struct Topics {
    /// Kinds of queues by topics.json; `None` when it cannot be read.
    table: Option<HashMap<String, QueueKind>>,
    /// Topics that have batch queues on disk.
    batch: HashSet<String>,
}

impl Topics {
    /// Those of the store in `root`.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn of(root: &Path, queues: &QueueFiles) -> Result<Self, Error> {
        let mut batch = HashSet::new();
        for topic in queues.topics()? {
            if queues.ids(&topic)?.iter().any(|(kind, _)| *kind == QueueKind::Batch) {
                batch.insert(topic);
            }
        }
        Ok(Self { table: table(root), batch })
    }

    /// Whether topics.json has it; `None` when nobody knows.
    pub(crate) fn has(&self, topic: &str) -> Option<bool> {
        Some(self.table.as_ref()?.contains_key(topic))
    }

    /// The names in topics.json; `None` when nobody knows them.
    pub(crate) fn names(&self) -> Option<impl Iterator<Item = &str>> {
        Some(self.table.as_ref()?.keys().map(String::as_str))
    }

    /// Of which kind its queues are: as topics.json says, else as they are.
    pub(crate) fn kind(&self, topic: &str) -> QueueKind {
        self.queue_kind(topic)
            .unwrap_or_else(|| if self.batch.contains(topic) { QueueKind::Batch } else { QueueKind::Simple })
    }
}

impl QueueKinds for Topics {
    fn queue_kind(&self, topic: &str) -> Option<QueueKind> {
        self.table.as_ref()?.get(topic).copied()
    }
}

fn table(root: &Path) -> Option<HashMap<String, QueueKind>> {
    let bytes = fs::read(root.join("config/topics.json")).ok()?;
    let mut table: Value = json::from_slice(&bytes).ok()?;
    let Value::Object(topics) = table.get_mut("topicConfigTable")?.take() else { return None };
    let kind = |topic: &Value| match topic["attributes"]["queue.type"].as_str() {
        Some("BatchCQ") => QueueKind::Batch,
        _ => QueueKind::Simple,
    };
    Some(topics.into_iter().map(|(name, topic)| (name, kind(&topic))).collect())
}
