//! Asking the index while it is being built.

use std::io;
use std::sync::Arc;

use super::table::{IndexKind, IndexTable, QueryOffsets};
use crate::dispatch::Dispatch;

/// Answers queries. It may outlive the thread that builds the index.
#[derive(Clone)]
pub struct IndexReader {
    pub(super) index: Arc<IndexTable>,
    pub(super) walk: Arc<Dispatch>,
}

impl IndexReader {
    /// [`IndexTable::query`] over everything that is in the log, unless the index is far behind.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn query(
        &self,
        topic: &str,
        key: &str,
        kind: IndexKind,
        max: usize,
        begin: i64,
        end: i64,
    ) -> io::Result<QueryOffsets> {
        if self.walk.behind_bytes() < CATCH_UP_FOR_QUERY {
            // an error is the thread's to report
            let _ = self.walk.catch_up();
        }
        self.index.query(topic, key, kind, max, begin, end)
    }
}

/// A query indexes this much of the log itself, so that it sees what was just sent.
const CATCH_UP_FOR_QUERY: i64 = 16 << 20;
