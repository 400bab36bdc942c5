//! `mqstore rebuild`: consume queues and index anew from the log.
//!
//! They are made in directories beside the old ones, brought to disk and then exchanged with them, each in one step. A stop
//! at any moment leaves a store that opens: with the old ones, the new ones, some of both, or, where queues have
//! extensions, without `consumequeue`, which a start makes from the log.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::Outcome;
use crate::arguments::RebuildArguments;
use crate::derive::{DERIVED, Derive, QUEUES};
use crate::error::{Error, at};
use crate::layout::Layout;
use crate::output::Output;

pub(crate) fn run(arguments: &RebuildArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_write()?;
    let root = &layout.root;
    let fresh = |name: &str| root.join(format!("{name}.rebuild"));
    let aside = root.join(format!("{QUEUES}.old"));
    for left in DERIVED.map(fresh).iter().chain([&aside]) {
        remove(left)?;
    }
    let log = layout.log()?;
    let end = log.find_end()?;
    let made = Derive::like(&layout)?.make(log, end, fresh)?;
    if let Some((mut file, mut known)) = layout.known_ends()? {
        // of what is damaged in the log there are no units any more
        known.ends.clear();
        file.write(&known).map_err(at(root))?;
    }
    if layout.has_extensions() && root.join(QUEUES).exists() {
        fs::rename(root.join(QUEUES), &aside).map_err(at(&aside))?;
        sync(root)?;
    }
    for name in DERIVED {
        let (old, fresh) = (root.join(name), fresh(name));
        if fresh.exists() {
            exchange(&old, &fresh)?;
        } else if name != "index" {
            // nothing in the log belongs there any more
            remove(&old)?;
        }
    }
    sync(root)?;
    for old in DERIVED.map(fresh).iter().chain([&aside]) {
        remove(old)?;
    }
    let mut output = Output::stdout();
    output.line(format_args!(
        "{} queues with {} units, and the index, are made from the log up to {end}",
        made.queues, made.units
    ))?;
    output.flush()?;
    Ok(Outcome::Well)
}

/// Brings the names in a directory to disk.
fn sync(directory: &Path) -> Result<(), Error> {
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(at(directory))
}

/// Puts `fresh` in the place of `old`, and the other way round.
fn exchange(old: &Path, fresh: &Path) -> Result<(), Error> {
    let io = |error: Errno| at(old)(error.into());
    match renameat_with(CWD, fresh, CWD, old, RenameFlags::EXCHANGE) {
        Err(Errno::NOENT) => fs::rename(fresh, old).map_err(at(old)),
        Err(Errno::INVAL | Errno::NOSYS) => {
            // Between the two steps there is none at all: a start then makes it from the log.
            let aside = fresh.with_extension("old");
            fs::rename(old, &aside)
                .and_then(|()| fs::rename(fresh, old))
                .and_then(|()| fs::rename(&aside, fresh))
                .map_err(at(old))
        }
        result => result.map_err(io),
    }
}

fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(directory)(error)),
        _ => Ok(()),
    }
}
