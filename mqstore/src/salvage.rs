//! `mqstore salvage`: a new store with everything of a damaged one that verifies.
//!
//! Every record keeps its physical offset and its queue offset, so ids of messages, offsets of consumers, and what points
//! into the log stay right. Damaged bytes become records that no queue and no index takes up (marked as rolled back), or a
//! blank up to the end of their file.

mod filler;
mod target;

use std::fs;
use std::path::Path;

use apogee_remoting::message::record::Record;
use apogee_store::Checkpoint;
use apogee_store::queue::{Known, KnownEnds};

use crate::Outcome;
use crate::arguments::SalvageArguments;
use crate::derive::{DERIVED, Derive, copy, sync};
use crate::error::{Error, at};
use crate::layout::Layout;
use crate::log::{Entry, LogFiles, Walk};
use crate::output::Output;
use crate::progress::Progress;
use target::Target;

pub(crate) fn run(arguments: &SalvageArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_read()?;
    let target = &arguments.target;
    fs::create_dir(target).map_err(at(target))?;
    if is_in(target, &layout.root)? {
        fs::remove_dir(target).map_err(at(target))?;
        return Err(Error::refused(format!("{}: the new store cannot lie in the old one", target.display())));
    }
    let mut output = Output::stdout();
    let log = layout.log()?;
    let copied = copy_log(&log, &target.join("commitlog"), &mut output)?;
    for entry in fs::read_dir(&layout.root).map_err(at(&layout.root))? {
        let path = entry.map_err(at(&layout.root))?.path();
        copy_other(&path, target)?;
    }
    let copy = LogFiles::open(&[target.join("commitlog")], Some(log.file_size()))?;
    let made = Derive::like(&layout)?.make(copy, copied.end, |name| target.join(name))?;
    let updated = Checkpoint::open(target).and_then(|checkpoint| {
        checkpoint.update(|positions| {
            positions.log_timestamp = copied.newest;
            positions.queue_timestamp = copied.newest;
            positions.index_timestamp = copied.newest;
            positions.dispatched_record = copied.last;
            positions.synced_record = (copied.records > 0).then_some(copied.last);
        })
    });
    updated.map_err(at(target))?;
    if let Some((_, known)) = layout.known_ends()?.filter(|(_, known)| !known.deleted.is_empty()) {
        let last = (copied.last, copied.newest);
        let known = Known { last_record: last, synced_record: last, ends: Vec::new(), listed_before: 0, ..known };
        KnownEnds::open(target).and_then(|(mut file, _)| file.write(&known)).map_err(at(target))?;
    }
    sync(target)?;
    output.line(format_args!(
        "{} records are in {}, in {} queues with {} units; {} ranges with {} bytes were damaged",
        copied.records,
        target.display(),
        made.queues,
        made.units,
        copied.damaged,
        copied.damaged_bytes
    ))?;
    output.flush()?;
    Ok(if copied.damaged == 0 { Outcome::Well } else { Outcome::Found })
}

/// What was copied of the log.
#[derive(Default)]
struct Copied {
    records: u64,
    /// Physical offset behind the last record, and of it.
    end: i64,
    last: i64,
    /// Store time of the last record, ms.
    newest: i64,
    damaged: u64,
    damaged_bytes: i64,
}

fn copy_log(log: &LogFiles, directory: &Path, output: &mut Output) -> Result<Copied, Error> {
    fs::create_dir(directory).map_err(at(directory))?;
    let mut target = Target::new(directory, log);
    let mut copied = Copied { end: log.min_offset(), ..Copied::default() };
    let mut walk = Walk::whole(log);
    let mut progress = Progress::new("copy", log.min_offset(), log.end_of_files());
    while let Some(entry) = walk.next()? {
        progress.at(walk.position());
        match entry {
            Entry::Record(bytes) => {
                copied.records += 1;
                copied.last = walk.position() - bytes.len() as i64;
                copied.newest = Record::parse(&bytes).map_or(copied.newest, |record| record.store_timestamp);
                target.write(copied.last, &bytes)?;
            }
            Entry::Blank { at, .. } => target.blank(at)?,
            Entry::Damage { from, to, why } => {
                copied.damaged += 1;
                copied.damaged_bytes += to - from;
                output.line(format_args!("damaged: {from} to {to} ({} bytes): {why}", to - from))?;
                let behind = walk.record_at(to)?.ok();
                let behind = behind.as_deref().and_then(|bytes| Record::parse(bytes).ok());
                let time =
                    if copied.newest > 0 { copied.newest } else { behind.map_or(0, |record| record.store_timestamp) };
                target.fill(from, to, time)?;
            }
        }
        copied.end = walk.position();
    }
    if let Some(why) = walk.torn() {
        copied.damaged += 1;
        output.line(format_args!("damaged: from {} on: {why}", copied.end))?;
    }
    Ok(copied)
}

fn is_in(path: &Path, directory: &Path) -> Result<bool, Error> {
    let full = |path: &Path| path.canonicalize().map_err(at(path));
    Ok(full(path)?.starts_with(full(directory)?))
}

/// Copies what is neither log, nor made from it or about it, nor the mark of an open store.
fn copy_other(path: &Path, target: &Path) -> Result<(), Error> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let is_left = |left: &str| {
        let of_rebuild = name.to_str().and_then(|name| name.strip_prefix(left)).unwrap_or("-");
        ["", ".rebuild", ".old"].contains(&of_rebuild)
    };
    if DERIVED.into_iter().chain(["commitlog", "checkpoint", "queueEnds", "abort", "lock"]).any(is_left) {
        return Ok(());
    }
    copy(path, &target.join(name))
}
