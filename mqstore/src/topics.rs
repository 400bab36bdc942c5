//! What is known of topics: their table, and the kinds of their queues.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use apogee_remoting::json;
use apogee_store::QueueKind;
use apogee_store::light::is_light;
use apogee_store::queue::QueueKinds;
use serde_json::Value;

use crate::error::Error;
use crate::queue::QueueFiles;

/// The topics of a store.
#[derive(Clone, Debug)]
pub(crate) struct Topics {
    /// Kinds of queues by topics.json; `None` when it cannot be read.
    table: Option<HashMap<String, QueueKind>>,
    /// Kinds of the queues on disk; `None` without a directory for them.
    queues: Option<HashMap<String, QueueKind>>,
    /// Number of changes of the table and time of the last one, ms.
    version: (i64, i64),
}

impl Topics {
    /// Those of the store in `root`.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub(crate) fn of(root: &Path, queues: &QueueFiles) -> Result<Self, Error> {
        let mut kinds = HashMap::new();
        for topic in queues.topics()? {
            let is_batch = queues.ids(&topic)?.iter().any(|(kind, _)| *kind == QueueKind::Batch);
            kinds.insert(topic, if is_batch { QueueKind::Batch } else { QueueKind::Simple });
        }
        let (table, version) = table(root).unzip();
        Ok(Self { table, queues: queues.exist().then_some(kinds), version: version.unwrap_or_default() })
    }

    /// Whether topics.json has it; `None` when nobody knows.
    pub(crate) fn has(&self, topic: &str) -> Option<bool> {
        Some(self.table.as_ref()?.contains_key(topic))
    }

    /// Of which kind its queues are: as topics.json says, else as they are.
    pub(crate) fn kind(&self, topic: &str) -> QueueKind {
        self.queue_kind(topic).unwrap_or_default()
    }
}

impl QueueKinds for Topics {
    fn queue_kind(&self, topic: &str) -> Option<QueueKind> {
        [&self.table, &self.queues].into_iter().flatten().find_map(|kinds| kinds.get(topic)).copied()
    }

    /// What has neither queues nor an entry in topics.json was deleted; everything is known where one of the two is lost.
    fn is_known(&self, topic: &str) -> bool {
        let (Some(table), Some(queues)) = (&self.table, &self.queues) else { return true };
        // light topics are in no table
        table.contains_key(topic) || queues.contains_key(topic) || is_light(topic)
    }

    fn version(&self) -> (i64, i64) {
        self.version
    }
}

/// The kinds of queues of all topics, and the version of their table.
fn table(root: &Path) -> Option<(HashMap<String, QueueKind>, (i64, i64))> {
    let bytes = fs::read(root.join("config/topics.json")).ok()?;
    let mut table: Value = json::from_slice(&bytes).ok()?;
    let number = |name| table["dataVersion"][name].as_i64().unwrap_or(0);
    let version = (number("counter"), number("timestamp"));
    let Value::Object(topics) = table.get_mut("topicConfigTable")?.take() else { return None };
    let kind = |topic: &Value| match topic["attributes"]["queue.type"].as_str() {
        Some("BatchCQ") => QueueKind::Batch,
        _ => QueueKind::Simple,
    };
    Some((topics.into_iter().map(|(name, topic)| (name, kind(&topic))).collect(), version))
}
