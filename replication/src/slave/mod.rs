//! The slave's side: it follows one master, whose log it continues byte by byte.

mod session;
mod status;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use apogee_store::Store;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{debug, error, info};

pub use session::Lost;
pub use status::Status;

use crate::CurrentOptions;
use session::Session;

/// A store that follows a master.
pub struct Replica {
    store: Arc<Store>,
    options: CurrentOptions,
    master: watch::Sender<Option<String>>,
    status: Status,
}

/// Whether this store's log is the beginning of the master's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is.
    Proved,
    /// Nobody could be asked: what the master sends first must look like it.
    Unknown,
}

impl Replica {
    /// A store that follows nobody yet.
    pub fn new(store: Arc<Store>, options: impl Into<CurrentOptions>) -> Self {
        Self { store, options: options.into(), master: watch::Sender::new(None), status: Status::default() }
    }

    /// Follows the master whose port for slaves is at `address` (`host:port`), or nobody.
    pub fn set_master(&self, address: Option<&str>) {
        let changed = self.master.send_if_modified(|current| {
            let is_other = current.as_deref() != address;
            *current = address.map(str::to_owned);
            is_other
        });
        if changed {
            info!(master = address.unwrap_or("none"), "the master to follow");
        }
    }

    /// Address of the master that is followed.
    pub fn master(&self) -> Option<String> {
        self.master.borrow().clone()
    }

    /// How it goes.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Follows the master for ever. `check` is asked before each attempt whether this store's log is the beginning of the
    /// master's; its error says why not, or why that cannot be told now.
    pub async fn run<F: Future<Output = Result<Fit, String>>>(&self, check: impl Fn() -> F) {
        let mut master = self.master.subscribe();
        let mut back_off = BACK_OFF;
        let mut last_told = String::new();
        loop {
            let Some(address) = master.borrow_and_update().clone() else {
                // The sender is in `self`.
                let _ = master.changed().await;
                continue;
            };
            let before = self.store.max_physical_offset();
            let lost = tokio::select! {
                lost = self.attempt(&address, &check) => Some(lost),
                _ = master.changed() => None,
            };
            self.status.note_lost();
            let Some(lost) = lost else { continue };
            let text = lost.to_string();
            if text == last_told {
                debug!(master = address, reason = text, "replication is interrupted, as before");
            } else {
                error!(master = address, reason = text, "replication is interrupted");
                last_told = text;
            }
            if self.store.max_physical_offset() != before {
                back_off = BACK_OFF;
                last_told.clear();
            }
            // Another master is tried at once.
            let _ = timeout(back_off, master.changed()).await;
            back_off = (back_off * 2).min(LONGEST_BACK_OFF);
        }
    }

    async fn attempt<F: Future<Output = Result<Fit, String>>>(&self, address: &str, check: &impl Fn() -> F) -> Lost {
        let fit = match check().await {
            Ok(fit) => fit,
            Err(why) => return Lost::Unfit(why),
        };
        let session = match Session::open(&self.store, &self.options, &self.status, address, fit).await {
            Ok(session) => session,
            Err(lost) => return lost,
        };
        info!(master = address, end = self.store.max_physical_offset(), ?fit, "replication begins");
        session.run().await
    }
}

/// Before the second attempt; twice as long before each further one.
const BACK_OFF: Duration = Duration::from_millis(200);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(5);
