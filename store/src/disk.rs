//! How much room and memory there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::log::Gate;

/// Watches how full the disks of the store are.
pub(crate) struct Space {
    /// The log's that take new files; one with room is enough.
    log: Vec<PathBuf>,
    /// Of everything else.
    root: PathBuf,
    /// diskSpaceWarningLevelRatio: per cent above which no message is taken.
    warning_level: AtomicI32,
}

impl Space {
    /// Of these directories, with a warning level as in [`Space::set_warning_level`].
    pub(crate) fn new(log: &[PathBuf], root: &Path, warning_level: i32) -> Self {
        let space = Self { log: log.to_vec(), root: root.to_owned(), warning_level: AtomicI32::default() };
        space.set_warning_level(warning_level);
        space
    }

    /// Sets diskSpaceWarningLevelRatio; it counts from 35 to 90, as in the reference.
    pub(crate) fn set_warning_level(&self, warning_level: i32) {
        self.warning_level.store(warning_level.clamp(35, 90), Ordering::Relaxed);
    }

    /// Share in use where the log is, 0 to 1; -1 when it cannot be told.
    pub(crate) fn used(&self) -> f64 {
        self.least_used().map_or(-1.0, |(percent, _)| f64::from(percent) / 100.0)
    }

    /// Share in use of each of the log's directories that take new files, as [`Space::used`].
    pub(crate) fn used_by_directory(&self) -> impl Iterator<Item = (&Path, f64)> {
        self.log.iter().map(|directory| {
            (directory.as_path(), used_percent(directory).map_or(-1.0, |percent| f64::from(percent) / 100.0))
        })
    }

    /// Per cent in use where the log is or where everything else is, the larger; None when it cannot be told.
    pub(crate) fn most_used_percent(&self) -> Option<i32> {
        self.least_used().map(|(percent, _)| percent).max(used_percent(&self.root))
    }

    /// Bytes of the log's disk with most room and those of them that are free; 0 where it does not say.
    pub(crate) fn capacity(&self) -> (u64, u64) {
        let disk = self.least_used().and_then(|(_, directory)| rustix::fs::statvfs(directory).ok());
        disk.map_or((0, 0), |disk| (disk.f_blocks * disk.f_frsize, disk.f_bfree * disk.f_frsize))
    }

    /// Looks how full the disks are, and lets messages in or not.
    pub(crate) fn check(&self, gate: &Gate) {
        let root = used_percent(&self.root).map(|percent| (percent, self.root.as_path()));
        let level = self.warning_level.load(Ordering::Relaxed);
        let full = [self.least_used(), root].into_iter().flatten().find(|(percent, _)| *percent > level);
        let text = full.map(|(percent, directory)| {
            Arc::from(format!("{} is {percent} % full, above diskSpaceWarningLevelRatio={level}", directory.display()))
        });
        if gate.set_disk_full(text) {
            if let Some((percent, directory)) = full {
                let directory = directory.display();
                tracing::error!(%directory, percent, level, "the disk is too full: messages are refused");
            } else {
                tracing::info!(level, "the disk has room again: messages are taken");
            }
        }
    }

    fn least_used(&self) -> Option<(i32, &Path)> {
        self.log.iter().filter_map(|directory| Some((used_percent(directory)?, directory.as_path()))).min()
    }
}

/// How much of a directory's disk is used, in per cent, rounded up. What is kept for the super user counts neither as
/// used nor as free, as in the reference.
pub(crate) fn used_percent(directory: &Path) -> Option<i32> {
    #[cfg(any(test, feature = "watch"))]
    if let Some(percent) = crate::files::watch::used_percent(directory) {
        return Some(percent);
    }
    let disk = rustix::fs::statvfs(directory).ok()?;
    let used = disk.f_blocks.saturating_sub(disk.f_bfree);
    let usable = used.saturating_add(disk.f_bavail).max(1);
    Some((u128::from(used) * 100).div_ceil(u128::from(usable)) as i32)
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
    use std::io;

    use super::*;
    use crate::files::watch::{Act, Answer, Watch, Watcher};
    use crate::log::AppendError;

    /// B17 (2398, 1400, alibaba/rocketmq 331): after the disk had room again the queue stayed closed until a restart.
    #[test]
    fn b17_refuses_above_the_level_and_takes_again_below() {
        let directory = tempfile::tempdir().unwrap();
        let gate = Gate::default();
        let space = Space::new(&[directory.path().to_owned()], directory.path(), 75);
        assert!((0.0..=1.0).contains(&space.used()));
        space.warning_level.store(-1, Ordering::Relaxed);
        space.check(&gate);
        assert!(matches!(gate.check(), Err(AppendError::DiskFull(_))));
        space.warning_level.store(100, Ordering::Relaxed);
        space.check(&gate);
        assert_eq!(gate.check(), Ok(()));
    }

    /// As full as their names say.
    struct Disks;

    impl Watcher for Disks {
        fn before(&self, _: Act<'_>, _: &Path) -> io::Result<Answer> {
            Ok(Answer::GoOn)
        }

        fn used_percent(&self, directory: &Path) -> Option<i32> {
            directory.file_name()?.to_str()?.parse().ok()
        }
    }

    /// Of the log's directories the one with most room counts, and that of all the rest for itself, as in the reference.
    #[test]
    fn one_directory_with_room_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        let _watch = Watch::new(folder.path(), Arc::new(Disks));
        for (log, root, most_used, taken) in [
            (["95", "80", "91"].as_slice(), "10", 80, true),
            (&["95", "91"], "10", 91, false),
            (&["95", "90"], "10", 90, true),
            (&["40"], "91", 91, false),
        ] {
            let log: Vec<_> = log.iter().map(|name| folder.path().join(name)).collect();
            let space = Space::new(&log, &folder.path().join(root), 90);
            let gate = Gate::default();
            space.check(&gate);
            assert_eq!((space.most_used_percent(), gate.check().is_ok()), (Some(most_used), taken), "{log:?} {root}");
        }
    }

    #[test]
    fn a_directory_that_is_gone_is_no_full_disk() {
        let gone = PathBuf::from("/nowhere at all");
        let space = Space::new(std::slice::from_ref(&gone), &gone, 75);
        assert!(space.used() < 0.0);
        let gate = Gate::default();
        space.check(&gate);
        assert_eq!(gate.check(), Ok(()));
    }

    #[test]
    fn the_memory_limit_is_a_number() {
        assert!(memory_limit() > 0);
    }
}
