//! How many transactions of each topic are pending, and the file that keeps it (`config/transactionMetrics`).

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::json;
use apogee_remoting::protocol::transaction::TransactionMetricsSerializeWrapper;
use parking_lot::Mutex;

/// The table of pending transactions. It is written now and then: after a kill it may be behind.
pub(crate) struct Metrics {
    table: Mutex<Table>,
    file: StateFile,
}

struct Table {
    current: TransactionMetricsSerializeWrapper,
    is_saved: bool,
}

impl Metrics {
    /// The table that the file holds.
    pub(crate) fn new(file: StateFile, saved: TransactionMetricsSerializeWrapper) -> Self {
        Self { table: Mutex::new(Table { current: saved, is_saved: true }), file }
    }

    /// Counts a transaction that begins (1) or ends (-1), at a time (ms).
    pub(crate) fn add(&self, topic: &str, count: i64, now: i64) {
        let table = &mut *self.table.lock();
        let topics = &mut table.current.transaction_count;
        let metric = match topics.get_mut(topic) {
            Some(metric) => metric,
            None => topics.entry(topic.to_owned()).or_default(),
        };
        metric.count += count;
        metric.time_stamp = now;
        table.current.data_version.advance(0, now);
        table.is_saved = false;
    }

    /// Writes the table down if it changed.
    pub(super) fn save(&self) -> Result<(), StateFileError> {
        let unsaved = {
            let mut table = self.table.lock();
            if table.is_saved {
                return Ok(());
            }
            table.is_saved = true;
            table.current.clone()
        };
        self.file.write(json::to_vec(&unsaved)).inspect_err(|_| self.table.lock().is_saved = false)
    }
}
