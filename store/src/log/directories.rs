//! The directories that a log's files are in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use apogee_config::MessageStoreConfig;

use crate::disk::used_percent;

/// Where files are looked for, and where new ones go: by turns, as in the reference, so that the next file is where either
/// of them would have put it.
#[derive(Clone, Debug)]
pub struct Directories {
    /// Those that take new files (storePathCommitLog without readOnlyCommitLogStorePaths), in the order of their names.
    writable: Vec<PathBuf>,
    /// Those whose files are used as they are (readOnlyCommitLogStorePaths).
    read_only: Vec<PathBuf>,
    /// Per cent in use above which a directory takes no new file while another has room (diskSpaceCleanForciblyRatio).
    full_above: Arc<AtomicI32>,
}

impl Directories {
    /// Takes them from a broker's configuration.
    pub fn from_config(config: &MessageStoreConfig) -> Self {
        let read_only = split(config.read_only_commit_log_store_paths.as_deref().unwrap_or_default());
        let mut writable = split(&config.commit_log_path());
        writable.retain(|directory| !read_only.contains(directory));
        let directories = Self { writable, read_only, full_above: Arc::default() };
        directories.set_full_above(config.disk_space_clean_forcibly_ratio);
        directories
    }

    /// Sets diskSpaceCleanForciblyRatio; it counts from 30 to 85, as in the reference.
    pub(crate) fn set_full_above(&self, percent: i32) {
        self.full_above.store(percent.clamp(30, 85), Ordering::Relaxed);
    }

    /// Those that take new files.
    pub(crate) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Those whose files are only used.
    pub(crate) fn read_only(&self) -> &[PathBuf] {
        &self.read_only
    }

    /// The one that takes the `number`th file of the log: of those that are not full, or of all when all are.
    pub(super) fn of_new_file(&self, number: usize) -> &Path {
        let full_above = self.full_above.load(Ordering::Relaxed);
        self.turn(number, |directory| used_percent(directory).is_some_and(|used| used > full_above))
    }

    fn turn(&self, number: usize, is_full: impl Fn(&Path) -> bool) -> &Path {
        if let [only] = &self.writable[..] {
            return only;
        }
        let with_room: Vec<&PathBuf> = self.writable.iter().filter(|directory| !is_full(directory)).collect();
        match with_room.len() {
            0 => &self.writable[number % self.writable.len()],
            count => with_room[number % count],
        }
    }
}

/// The directories that a value names, ascending as texts, each once.
fn split(value: &str) -> Vec<PathBuf> {
    let mut names: Vec<&str> = value.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(log: &str, read_only: &str) -> Directories {
        Directories::from_config(&MessageStoreConfig {
            store_path_commit_log: Some(log.to_owned()),
            read_only_commit_log_store_paths: Some(read_only.to_owned()),
            ..Default::default()
        })
    }

    fn turns(directories: &Directories, full: &[&str]) -> Vec<String> {
        let turn = |number| directories.turn(number, |directory| full.iter().any(|full| directory == Path::new(full)));
        (0..4).map(|number| turn(number).display().to_string()).collect()
    }

    #[test]
    fn new_files_go_round_in_the_order_of_names() {
        assert_eq!(turns(&directories("/b, /a,/b,", ""), &[]), ["/a", "/b", "/a", "/b"]);
        assert_eq!(turns(&directories("/a/b,/a-b", ""), &[]), ["/a-b", "/a/b", "/a-b", "/a/b"]);
    }

    #[test]
    fn full_directories_are_passed_over_while_one_has_room() {
        let three = directories("/a,/b,/c", "");
        assert_eq!(turns(&three, &["/b"]), ["/a", "/c", "/a", "/c"]);
        assert_eq!(turns(&three, &["/a", "/b", "/c"]), ["/a", "/b", "/c", "/a"]);
    }

    #[test]
    fn read_only_ones_take_no_new_file() {
        let with_read_only = directories("/a,/b,/c", "/a,/old");
        assert_eq!(turns(&with_read_only, &["/b", "/c"]), ["/b", "/c", "/b", "/c"]);
        assert_eq!(with_read_only.read_only(), [Path::new("/a"), Path::new("/old")]);
        assert!(directories("/a", "/a").writable().is_empty());
    }
}
