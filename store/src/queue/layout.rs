//! Which kinds of queues there are, and how their files are divided.

use super::entry::BATCH_UNIT_SIZE;
use super::unit::UNIT_SIZE;

/// What a queue's units are like (topic attribute `queue.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueKind {
    /// A unit for each message (`SimpleCQ`, the default).
    #[default]
    Simple,
    /// A unit for each record, which may hold many messages (`BatchCQ`).
    Batch,
}

impl QueueKind {
    /// The attribute's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "SimpleCQ",
            Self::Batch => "BatchCQ",
        }
    }

    /// The minimum of a queue that has no units, as the reference gives it.
    pub(crate) fn min_of_empty(self) -> i64 {
        match self {
            Self::Simple => 0,
            Self::Batch => -1,
        }
    }

    /// Bytes of a unit.
    pub fn unit_size(self) -> usize {
        match self {
            Self::Simple => UNIT_SIZE,
            Self::Batch => BATCH_UNIT_SIZE,
        }
    }
}

/// Who knows the topics.
pub trait QueueKinds: Send + Sync {
    /// Of which kind the queues of a topic are; `None` for a topic that is not known.
    fn queue_kind(&self, topic: &str) -> Option<QueueKind>;

    /// Whether there is such a topic: queues of one that was deleted are not made again from the log.
    fn is_known(&self, topic: &str) -> bool {
        let _ = topic;
        true
    }

    /// Which state of the topics this is: number of changes and time of the last one, ms. Another than was written down last
    /// means that a topic may have been deleted and made anew in between.
    fn version(&self) -> (i64, i64) {
        (0, 0)
    }
}

impl<F: Fn(&str) -> Option<QueueKind> + Send + Sync> QueueKinds for F {
    fn queue_kind(&self, topic: &str) -> Option<QueueKind> {
        self(topic)
    }
}

/// How the files of a queue, or of what belongs to it, are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Bytes of a unit; 1 where units have no fixed size.
    pub(super) unit_size: usize,
    pub(super) units_per_file: i64,
    /// The configuration's key for the size of a file.
    key: &'static str,
}

impl Layout {
    /// `file_size` in bytes is rounded up to whole units, as the reference does.
    pub(super) fn of(kind: QueueKind, file_size: u64) -> Self {
        let key = match kind {
            QueueKind::Simple => "mappedFileSizeConsumeQueue",
            QueueKind::Batch => "mapperFileSizeBatchConsumeQueue",
        };
        Self::new(kind.unit_size(), file_size, key)
    }

    /// Of extension files, whose places are bytes.
    pub(super) fn of_extension(file_size: u64) -> Self {
        Self::new(1, file_size, "mappedFileSizeConsumeQueueExt")
    }

    fn new(unit_size: usize, file_size: u64, key: &'static str) -> Self {
        let units = file_size.div_ceil(unit_size as u64).max(1);
        Self { unit_size, units_per_file: units as i64, key }
    }

    pub(super) fn file_size(self) -> u64 {
        self.units_per_file as u64 * self.unit_size as u64
    }

    pub(super) fn key(self) -> &'static str {
        self.key
    }
}
