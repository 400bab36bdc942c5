//! Whether the log takes messages: several may say no, each for its own reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::error::AppendError;

/// The switch in front of the log. Looking at it while it is open is one load.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicU32,
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    broken: Option<Arc<str>>,
    disk_full: Option<Arc<str>>,
    refused: Option<&'static str>,
}

impl Gate {
    /// Refuses with the gravest reason there is.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), AppendError> {
        match self.closed.load(Ordering::Acquire) {
            0 => Ok(()),
            closed => Err(self.reason(closed)),
        }
    }

    /// The same for bytes of a master's log, which a store that refuses messages takes.
    pub(crate) fn check_raw(&self) -> Result<(), AppendError> {
        match self.closed.load(Ordering::Acquire) & !REFUSED {
            0 => Ok(()),
            closed => Err(self.reason(closed)),
        }
    }

    #[cold]
    fn reason(&self, closed: u32) -> AppendError {
        let texts = self.texts.lock();
        if closed & SHUTDOWN != 0 {
            AppendError::Shutdown
        } else if closed & BROKEN != 0 {
            AppendError::Broken(texts.broken.clone().unwrap_or_default())
        } else if closed & DISK_FULL != 0 {
            AppendError::DiskFull(texts.disk_full.clone().unwrap_or_default())
        } else {
            AppendError::NotWritable(texts.refused.unwrap_or("it was just switched"))
        }
    }

    /// Nothing more is taken, ever.
    pub(crate) fn shut_down(&self) {
        self.closed.fetch_or(SHUTDOWN, Ordering::AcqRel);
    }

    /// The disk failed: nothing is taken until a restart.
    pub(crate) fn break_down(&self, why: Arc<str>) {
        self.texts.lock().broken.get_or_insert(why);
        self.closed.fetch_or(BROKEN, Ordering::AcqRel);
    }

    /// The disk is too full (`Some`), or no longer. Says whether that is news.
    pub(crate) fn set_disk_full(&self, full: Option<Arc<str>>) -> bool {
        let is_full = full.is_some();
        self.texts.lock().disk_full = full;
        self.set(DISK_FULL, is_full)
    }

    /// Messages are refused for a reason of the owner's (`Some`), or no longer.
    pub(crate) fn set_refused(&self, reason: Option<&'static str>) {
        self.texts.lock().refused = reason;
        self.set(REFUSED, reason.is_some());
    }

    /// Why the disk failed, if it did.
    pub(crate) fn broken(&self) -> Option<Arc<str>> {
        if self.is_broken() { self.texts.lock().broken.clone() } else { None }
    }

    /// Whether the disk failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.closed.load(Ordering::Acquire) & BROKEN != 0
    }

    fn set(&self, bit: u32, on: bool) -> bool {
        let before = if on {
            self.closed.fetch_or(bit, Ordering::AcqRel)
        } else {
            self.closed.fetch_and(!bit, Ordering::AcqRel)
        };
        (before & bit != 0) != on
    }
}

const SHUTDOWN: u32 = 1;
const BROKEN: u32 = 2;
const DISK_FULL: u32 = 4;
const REFUSED: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_reason_is_told_and_others_come_back() {
        let gate = Gate::default();
        assert_eq!(gate.check(), Ok(()));
        gate.set_refused(Some("a slave"));
        assert_eq!(gate.check(), Err(AppendError::NotWritable("a slave")));
        assert!(gate.set_disk_full(Some("92 %".into())) && !gate.set_disk_full(Some("93 %".into())));
        assert_eq!(gate.check(), Err(AppendError::DiskFull("93 %".into())));
        assert!(gate.set_disk_full(None));
        gate.set_refused(None);
        assert_eq!(gate.check(), Ok(()));
        gate.break_down("first".into());
        gate.break_down("second".into());
        assert_eq!(gate.check(), Err(AppendError::Broken("first".into())));
        gate.shut_down();
        assert_eq!(gate.check(), Err(AppendError::Shutdown));
    }
}
