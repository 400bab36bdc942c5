//! How much room and memory there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::log::Gate;

/// Watches how full the disk of the log is.
pub(crate) struct Space {
    directory: PathBuf,
    /// diskSpaceWarningLevelRatio: per cent above which no message is taken.
    warning_level: i32,
}

impl Space {
    pub(crate) fn new(directory: &Path, warning_level: i32) -> Self {
        Self { directory: directory.to_owned(), warning_level }
    }

    /// Share in use, 0 to 1; -1 when it cannot be told.
    pub(crate) fn used(&self) -> f64 {
        rustix::fs::statvfs(&self.directory).map_or(-1.0, |disk| {
            // What only the super user may fill counts as used, as the reference counts.
            let used = disk.f_blocks.saturating_sub(disk.f_bfree);
            used as f64 / (used + disk.f_bavail).max(1) as f64
        })
    }

    /// Bytes of the disk and those of them that are free; 0 where the disk does not say.
    pub(crate) fn capacity(&self) -> (u64, u64) {
        rustix::fs::statvfs(&self.directory)
            .map_or((0, 0), |disk| (disk.f_blocks * disk.f_frsize, disk.f_bfree * disk.f_frsize))
    }

    /// Looks how full the disk is, and lets messages in or not.
    pub(crate) fn check(&self, gate: &Gate) {
        let (directory, level) = (self.directory.display(), self.warning_level);
        let percent = (self.used() * 100.0).round();
        let full = percent > f64::from(level);
        let text = full
            .then(|| Arc::from(format!("{directory} is {percent} % full, above diskSpaceWarningLevelRatio={level}")));
        if gate.set_disk_full(text) {
            if full {
                tracing::error!(%directory, percent, level, "the disk is too full: messages are refused");
            } else {
                tracing::info!(%directory, percent, level, "the disk has room again: messages are taken");
            }
        }
    }
}

/// Memory that this process may use, bytes: the control group's limit where there is one, else the machine's.
pub(crate) fn memory_limit() -> i64 {
    let read = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let machine = {
        let info = rustix::system::sysinfo();
        (info.totalram as i64).saturating_mul(i64::from(info.mem_unit).max(1))
    };
    let group = read("/sys/fs/cgroup/memory.max").or_else(|| read("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    group.map_or(machine, |limit| limit.min(machine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::AppendError;

    /// B17 (2398, 1400, alibaba/rocketmq 331): after the disk had room again the queue stayed closed until a restart.
    #[test]
    fn b17_refuses_above_the_level_and_takes_again_below() {
        let directory = tempfile::tempdir().unwrap();
        let gate = Gate::default();
        let mut space = Space::new(directory.path(), -1);
        assert!((0.0..=1.0).contains(&space.used()));
        space.check(&gate);
        assert!(matches!(gate.check(), Err(AppendError::DiskFull(_))));
        space.warning_level = 100;
        space.check(&gate);
        assert_eq!(gate.check(), Ok(()));
    }

    #[test]
    fn the_memory_limit_is_a_number() {
        assert!(memory_limit() > 0);
    }
}
