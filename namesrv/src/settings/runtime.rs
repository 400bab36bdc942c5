//! Typed configuration that requests may change.

use std::sync::Arc;

use apogee_config::{NamesrvConfig, NamesrvSettings, ServerSettings, UpdateError};
use arc_swap::ArcSwap;
use parking_lot::Mutex;

/// The configuration of a running name server. Readers never wait.
#[derive(Debug)]
pub struct RuntimeSettings {
    all: ArcSwap<NamesrvSettings>,
    one_update_at_a_time: Mutex<()>,
}

impl RuntimeSettings {
    /// Starts from what was read at start-up.
    pub fn new(settings: NamesrvSettings) -> Self {
        Self { all: ArcSwap::from_pointee(settings), one_update_at_a_time: Mutex::new(()) }
    }

    /// The values in force, until the next update.
    pub fn current(&self) -> Current {
        Current(self.all.load())
    }

    /// Every key with a value, sorted, one `key=value` line each.
    pub fn text(&self) -> String {
        self.all.load().text()
    }

    /// Applies the lines of a `.properties` file, and writes the whole configuration to `configStorePath`. Blocks
    /// until the file is synced.
    ///
    /// # Errors
    /// A line, a key or a value is refused, or the file cannot be written. Nothing changes then.
    pub fn update(&self, text: &[u8]) -> Result<(), UpdateError> {
        let _one_at_a_time = self.one_update_at_a_time.lock();
        let update = apogee_config::update(&**self.all.load(), text)?;
        for notice in &update.notices {
            tracing::warn!("configuration update: {notice}");
        }
        tracing::info!(changed = ?update.changed, "configuration updated");
        self.all.store(Arc::new(update.settings));
        Ok(())
    }
}

/// The values in force when [`RuntimeSettings::current`] was called.
#[derive(Debug)]
pub struct Current(arc_swap::Guard<Arc<NamesrvSettings>>);

impl std::ops::Deref for Current {
    type Target = NamesrvConfig;

    fn deref(&self) -> &NamesrvConfig {
        &self.0.namesrv
    }
}
