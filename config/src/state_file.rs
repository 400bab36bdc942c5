//! State files: JSON tables that outlive the process, such as topics and offsets.
//!
//! A state file is never half written and never silently lost. Beside the main file lies `.bak`, the content before the
//! last write (as the reference keeps it). A write goes through a synced temporary file and a rename, in an order that
//! leaves the main file whole at every moment; a read falls back to `.bak` when the main file does not parse, and refuses
//! when neither does.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use tracing::warn;

/// One state file and its backup. Writes of one `StateFile` follow one another; two of the same path must not exist.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    /// Held while writing. True while the main file is known to be bad: it must not replace the good backup.
    main_is_bad: Mutex<bool>,
}

/// Why a state file could not be read or written. Names the files.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// Neither the file nor its backup can be used.
    #[error(
        "neither {} ({main_fault}) nor {} ({backup_fault}) can be read; restore one of them, or move both away to start \
         without them", path.display(), backup.display()
    )]
    BothBad {
        /// The main file.
        path: PathBuf,
        /// What is wrong with it.
        main_fault: String,
        /// The backup.
        backup: PathBuf,
        /// What is wrong with it.
        backup_fault: String,
    },
    /// The file could not be written, or nobody knows whether it is on disk; it is still whole.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The main file.
        path: PathBuf,
        /// Whether it has the new content: what failed came behind that.
        is_replaced: bool,
        /// What the system said.
        source: io::Error,
    },
}

impl StateFileError {
    /// Whether the file has the content that could not be written as it should.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::Write { is_replaced: true, .. })
    }
}

impl StateFile {
    /// Names a file; nothing is read or written yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), main_is_bad: Mutex::new(false) }
    }

    /// The main file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that holds the content before the last write.
    pub fn backup_path(&self) -> PathBuf {
        beside(&self.main(), ".bak")
    }

    /// The file itself where the path is a link: the link stays, and the backup lies beside the file.
    fn main(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Reads the table: the main file if `parse` accepts it, else the backup (with a warning). `None` when neither file
    /// exists. `parse` has to refuse an empty file, trailing garbage and everything else that it would not have written.
    ///
    /// # Errors
    /// [`StateFileError::BothBad`] when at least one of the files exists and none can be used.
    pub fn read<T, E: Display>(&self, parse: impl Fn(&[u8]) -> Result<T, E>) -> Result<Option<T>, StateFileError> {
        let mut main_is_bad = self.main_is_bad.lock();
        let backup = self.backup_path();
        let main_fault = match read_one(&self.path, &parse) {
            Ok(table) => return Ok(Some(table)),
            Err(Unusable::Missing) => None,
            Err(Unusable::Bad(fault)) => Some(fault),
        };
        let backup_fault = match read_one(&backup, &parse) {
            Ok(table) => {
                let fault = main_fault.as_deref().unwrap_or(MISSING);
                warn!("{} cannot be used ({fault}); {} is used instead", self.path.display(), backup.display());
                *main_is_bad = main_fault.is_some();
                return Ok(Some(table));
            }
            Err(Unusable::Missing) => None,
            Err(Unusable::Bad(fault)) => Some(fault),
        };
        if main_fault.is_none() && backup_fault.is_none() {
            return Ok(None);
        }
        Err(StateFileError::BothBad {
            path: self.path.clone(),
            main_fault: main_fault.unwrap_or_else(|| MISSING.to_owned()),
            backup,
            backup_fault: backup_fault.unwrap_or_else(|| MISSING.to_owned()),
        })
    }

    /// Replaces the content; on return it is on disk, and the content before it is in the backup.
    ///
    /// # Errors
    /// [`StateFileError::Write`] names the file, and says whether it has its old or its new content, whole.
    pub fn write(&self, content: impl AsRef<[u8]>) -> Result<(), StateFileError> {
        let mut is_replaced = false;
        let written = self.write_observed(content.as_ref(), |step| {
            is_replaced |= step == Step::MainReplaced;
            Ok(())
        });
        written.map_err(|source| StateFileError::Write { path: self.path.clone(), is_replaced, source })
    }

    /// Writes, and tells after each step; an error from `after` ends the write there, as a kill would.
    fn write_observed(&self, content: &[u8], mut after: impl FnMut(Step) -> io::Result<()>) -> io::Result<()> {
        let mut main_is_bad = self.main_is_bad.lock();
        let main = self.main();
        let folder = main.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let temporary = beside(&main, ".tmp");
        write_synced(&temporary, content, &main).inspect_err(|_| {
            // Nothing refers to it; what is left of it would only hold space that is short.
            let _ = fs::remove_file(&temporary);
        })?;
        after(Step::TemporarySynced)?;
        let backup_to_be = beside(&main, ".bak.tmp");
        let keeps_old = !*main_is_bad && keep_copy(&main, &backup_to_be)?;
        after(Step::OldContentKept)?;
        fs::rename(&temporary, &main)?;
        after(Step::MainReplaced)?;
        if keeps_old {
            fs::rename(&backup_to_be, beside(&main, ".bak"))?;
        }
        after(Step::BackupReplaced)?;
        File::open(folder)?.sync_all()?;
        *main_is_bad = false;
        Ok(())
    }
}

/// The steps of a write. Until `MainReplaced` the main file has the old content, from then on the new one; the backup is
/// only replaced by content that was good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    TemporarySynced,
    OldContentKept,
    MainReplaced,
    BackupReplaced,
}

const MISSING: &str = "it does not exist";

enum Unusable {
    Missing,
    Bad(String),
}

fn read_one<T, E: Display>(path: &Path, parse: impl Fn(&[u8]) -> Result<T, E>) -> Result<T, Unusable> {
    match fs::read(path) {
        Ok(bytes) => parse(&bytes).map_err(|fault| Unusable::Bad(fault.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unusable::Missing),
        Err(error) => Err(Unusable::Bad(error.to_string())),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Writes and syncs a file with the permissions of the one that it will replace.
fn write_synced(path: &Path, content: &[u8], replaces: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    if let Ok(metadata) = fs::metadata(replaces) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()
}

/// Gives the file a second name, so that its content outlives its replacement; a copy where the file system has no hard
/// links. False when there is no file.
fn keep_copy(main: &Path, copy: &Path) -> io::Result<bool> {
    match fs::remove_file(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match fs::hard_link(main, copy) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(_) => {
            write_synced(copy, &fs::read(main)?, main)?;
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests;
