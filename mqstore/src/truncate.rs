//! `mqstore truncate`: the log, its queues and index, cut off at a physical offset.
//!
//! The store is marked as unclean, the log is cut from its end backwards, and the store's own recovery does the rest. A stop
//! at any moment leaves a log that ends with a whole record, and a store that recovers.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Record;
use apogee_store::{AbortMark, Checkpoint, Hooks, QueueKind, QueueKinds, Store};

use crate::Outcome;
use crate::arguments::TruncateArguments;
use crate::error::{Error, at};
use crate::layout::{Layout, show_time};
use crate::log::{Entry, LogFiles, Walk};
use crate::output::Output;
use crate::topics::Topics;

pub(crate) fn run(arguments: &TruncateArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let lock = if arguments.yes { Some(layout.lock_to_write()?) } else { layout.lock_to_read()? };
    let log = layout.log()?;
    let last = last_before(&log, arguments.at)?;
    let end = tell_what_goes(&log, arguments.at)?;
    if !arguments.yes {
        return Err(Error::refused("nothing was changed: the same command with --yes cuts this off"));
    }
    let config = recovery_config(&layout, &log)?;
    AbortMark::new(&layout.root).set().map_err(at(&layout.root))?;
    forget(&layout, arguments.at, last)?;
    cut(&log, arguments.at, end)?;
    // the store takes it again
    drop(lock);
    let topics = Topics::of(&layout.root, &layout.queues()?)?;
    let kinds = Arc::new(topics.clone());
    let store = Store::open(&config, Hooks { queue_kinds: kinds, ..Hooks::default() })?;
    for topic in store.topics() {
        // the log still has records of topics that were deleted
        if !topics.is_known(&topic) {
            store.delete_topic(&topic).map_err(at(&layout.root))?;
        }
    }
    store.close().map_err(at(&layout.root))?;
    Ok(Outcome::Well)
}

/// Physical offset and store time (ms) of the last record before a place; 0 twice without one.
///
/// # Errors
/// No entry starts at the place.
fn last_before(log: &LogFiles, place: i64) -> Result<(i64, i64), Error> {
    let (min, end) = (log.min_offset(), log.end_of_files());
    let Some(file) = log.find((place - 1).max(min)).filter(|_| place >= min) else {
        return Err(Error::refused(format!("--at {place}: the log has files from {min} to {end}")));
    };
    let mut walk = Walk::new(log, file.start, end);
    let (mut last_record, mut last) = ((0, 0), file.start);
    while walk.position() < place {
        last = walk.position();
        let Some(entry) = walk.next()? else { break };
        if let Entry::Record(bytes) = entry {
            last_record = Record::parse(&bytes).map_or(last_record, |record| (last, record.store_timestamp));
        }
    }
    if walk.position() != place {
        let next = walk.position();
        return Err(Error::refused(format!(
            "--at {place}: no record starts there: the nearest places are {last} and {next}"
        )));
    }
    Ok(last_record)
}

/// Says which records lie behind a place; gives the end of the log.
fn tell_what_goes(log: &LogFiles, place: i64) -> Result<i64, Error> {
    let mut queues: BTreeMap<(String, i32), (i64, i64)> = BTreeMap::new();
    let (mut records, mut first, mut last) = (0_u64, 0, 0);
    let mut walk = Walk::new(log, place, log.end_of_files());
    while let Some(bytes) = walk.next_record()? {
        let Ok(record) = Record::parse(&bytes) else { continue };
        records += 1;
        first = if records == 1 { record.store_timestamp } else { first };
        last = record.store_timestamp;
        let offset = record.queue_offset;
        let range = queues.entry((record.topic.to_owned(), record.queue_id)).or_insert((offset, offset));
        *range = (range.0.min(offset), range.1.max(offset));
    }
    let end = walk.position();
    let mut output = Output::stdout();
    output.line(format_args!("{records} records go, {} bytes, physical offsets {place} to {end}", end - place))?;
    if records > 0 {
        output.line(format_args!("stored {} to {}", show_time(first), show_time(last)))?;
        output.line("TOPIC\tQUEUE\tFROM\tTO")?;
    }
    for ((topic, id), (from, to)) in &queues {
        output.line(format_args!("{topic}\t{id}\t{from}\t{to}"))?;
    }
    output.flush()?;
    Ok(end)
}

/// Lets the checkpoint, and what is known of queues, know nothing of what goes.
fn forget(layout: &Layout, place: i64, last_record: (i64, i64)) -> Result<(), Error> {
    let root = &layout.root;
    if let Some((mut file, mut known)) = layout.known_ends()? {
        known.cut(place);
        (known.last_record, known.synced_record) = (last_record, last_record);
        known.listed_before = 0;
        file.write(&known).map_err(at(root))?;
    }
    let (path, newest) = (root.join("checkpoint"), last_record.1);
    let updated = Checkpoint::open(root).and_then(|checkpoint| {
        checkpoint.update(|positions| {
            positions.log_timestamp = positions.log_timestamp.min(newest);
            positions.queue_timestamp = positions.queue_timestamp.min(newest);
            positions.index_timestamp = positions.index_timestamp.min(newest);
            positions.master_flushed = positions.master_flushed.min(place);
            positions.confirmed = positions.confirmed.min(place);
            positions.dispatched_record = 0;
            positions.synced_record = None;
        })
    });
    updated.map_err(at(&path))
}

/// Removes files from the last one on, then zeros the rest of the one that holds the place, from its end backwards: what is
/// left ends with a whole record at every moment.
fn cut(log: &LogFiles, place: i64, end: i64) -> Result<(), Error> {
    for file in log.list().iter().skip(1).rev().filter(|file| file.start >= place) {
        fs::remove_file(&file.path).map_err(at(&file.path))?;
    }
    for directory in log.list().iter().filter_map(|file| file.path.parent()) {
        if directory.exists() {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(at(directory))?;
        }
    }
    // one that starts here is removed already
    let Some(file) = log.find(place).filter(|file| file.start < place || place == log.min_offset()) else {
        return Ok(());
    };
    let writing = OpenOptions::new().write(true).open(&file.path).map_err(at(&file.path))?;
    let from = (place - file.start) as u64;
    let mut to = file.length.min((end.max(place) - file.start) as u64 + SLACK);
    while to > from {
        let start = to.saturating_sub(ZEROS).max(from);
        let zeros = vec![0; (to - start) as usize];
        writing.write_all_at(&zeros, start).and_then(|()| writing.sync_data()).map_err(at(&file.path))?;
        to = start;
    }
    Ok(())
}

/// The configuration that the store is recovered with: what it is configured with, in the sizes that it has.
fn recovery_config(layout: &Layout, log: &LogFiles) -> Result<MessageStoreConfig, Error> {
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| Error::refused(format!("{}: the name is no UTF-8: move the store", path.display())))
    };
    let directories: Vec<_> = layout.log_directories.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
    let (queues, shape) = (layout.queues()?, layout.index_shape()?);
    let size = |size: u64| i32::try_from(size).map_err(|_| Error::refused(format!("{size} is no size of a file")));
    Ok(MessageStoreConfig {
        store_path_root_dir: text(&layout.root)?,
        store_path_commit_log: Some(directories.join(",")),
        mapped_file_size_commit_log: size(log.file_size() as u64)?,
        mapped_file_size_consume_queue: size(queues.file_size(QueueKind::Simple))?,
        mapper_file_size_batch_consume_queue: size(queues.file_size(QueueKind::Batch))?,
        mapped_file_size_consume_queue_ext: size(queues.extension_size())?,
        enable_consume_queue_ext: layout.has_extensions(),
        max_hash_slot_num: size(shape.slots as u64)?,
        max_index_num: size(shape.items as u64)?,
        message_delay_level: layout.delays(&queues)?.to_string(),
        enable_multi_dispatch: layout.has_light_queues(&queues)?,
        ..layout.config.clone()
    })
}

/// Bytes zeroed at a time.
const ZEROS: u64 = 16 << 20;
/// What is torn behind the end goes as well.
const SLACK: u64 = 64 << 20;
