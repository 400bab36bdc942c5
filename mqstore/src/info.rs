//! `mqstore info`: what a store is, at a glance. The one command that also looks at a store in use: it reads the newest
//! log file and heads of others only.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use apogee_remoting::message::record::Record;
use apogee_store::{Positions, QueueKind};

use crate::Outcome;
use crate::arguments::InfoArguments;
use crate::derive::DERIVED;
use crate::error::{Error, at};
use crate::layout::{Layout, show_time};
use crate::log::{LogFiles, Walk};
use crate::output::Output;

pub(crate) fn run(arguments: &InfoArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let locked = match layout.lock_to_read() {
        Ok(_) => false,
        Err(Error::Locked(_)) => true,
        Err(error) => return Err(error),
    };
    let mut output = Output::stdout();
    output.line(format_args!("store            {}", layout.root.display()))?;
    output.line(format_args!("in use           {}", if locked { "yes: a broker holds the lock" } else { "no" }))?;
    let stop = if layout.is_unclean() { "unclean: the file abort is there" } else { "clean" };
    output.line(format_args!("last stop        {}", if locked { "-" } else { stop }))?;
    layout_kinds(&layout, &mut output)?;
    log(&layout, &layout.log()?, &mut output)?;
    queues(&layout, &mut output)?;
    index(&layout, &mut output)?;
    checkpoint(&layout, &mut output)?;
    configuration(&layout.root.join("config"), &mut output)?;
    output.flush()?;
    Ok(Outcome::Well)
}

/// Which generation of the layout this is, by what is there.
fn layout_kinds(layout: &Layout, output: &mut Output) -> Result<(), Error> {
    let kinds = [
        ("consumequeue_ext", "queue extensions"),
        ("batchconsumequeue", "batch queues (5.x)"),
        ("timerwheel", "timer messages (5.x)"),
        ("compaction", "compaction (5.x)"),
        ("rocksdbstore", "RocksDB (5.x)"),
    ];
    let left = DERIVED.map(|name| format!("{name}.rebuild"));
    let mut found = vec!["commit log, consume queues, index (4.x and 5.x)".to_owned()];
    for (name, kind) in kinds {
        if layout.root.join(name).exists() {
            found.push(format!("{name}: {kind}"));
        }
    }
    for name in left.iter().map(String::as_str).chain(["consumequeue.old"]) {
        if layout.root.join(name).exists() {
            found.push(format!("{name}: left by a rebuild that was interrupted"));
        }
    }
    output.line(format_args!("layout           {}", found.join("; ")))
}

fn log(layout: &Layout, log: &LogFiles, output: &mut Output) -> Result<(), Error> {
    for directory in &layout.log_directories {
        output.line(format_args!("commit log       {}", directory.display()))?;
    }
    let bytes: u64 = log.list().iter().map(|file| file.length).sum();
    output.line(format_args!("  files          {} of {} bytes, {bytes} in all", log.list().len(), log.file_size()))?;
    let (min, end) = (log.min_offset(), log.find_end()?);
    output.line(format_args!("  range          {min} to {end}, {} bytes", end - min))?;
    let first = Walk::whole(log).next_record()?;
    let mut last = None;
    if let Some(file) = log.find((end - 1).max(min)) {
        let mut walk = Walk::new(log, file.start, end);
        while let Some(record) = walk.next_record()? {
            last = Some(record);
        }
    }
    let time = |record: Option<bytes::Bytes>| {
        let record = record.as_deref().and_then(|bytes| Record::parse(bytes).ok());
        show_time(record.map_or(0, |record| record.store_timestamp))
    };
    output.line(format_args!("  stored         {} to {}", time(first), time(last)))
}

fn queues(layout: &Layout, output: &mut Output) -> Result<(), Error> {
    let queues = layout.queues()?;
    for (kind, name) in [(QueueKind::Simple, "consume queues"), (QueueKind::Batch, "batch queues")] {
        let (mut count, mut bytes, mut topics) = (0, 0, BTreeSet::new());
        queues.for_each(|topic, _, queue| {
            if queue.kind() == kind {
                count += 1;
                bytes += queue.bytes();
                topics.insert(topic.to_owned());
            }
            Ok(())
        })?;
        if kind == QueueKind::Simple || count > 0 {
            let (topics, size) = (topics.len(), queues.file_size(kind));
            output
                .line(format_args!("{name:<16} {count} of {topics} topics, files of {size} bytes, {bytes} in all"))?;
        }
    }
    Ok(())
}

fn index(layout: &Layout, output: &mut Output) -> Result<(), Error> {
    let index = layout.index()?;
    let shape = match index.shape() {
        Some(shape) => format!(", {} slots and {} items each", shape.slots, shape.items),
        None => String::new(),
    };
    output.line(format_args!("index            {} files{shape}", index.paths().len()))
}

fn checkpoint(layout: &Layout, output: &mut Output) -> Result<(), Error> {
    let path = layout.root.join("checkpoint");
    let Some(positions) = Positions::read(&layout.root).map_err(at(&path))? else {
        return output.line("checkpoint       none");
    };
    output.line(format_args!("checkpoint       log {}", show_time(positions.log_timestamp)))?;
    output.line(format_args!("  queues         {}", show_time(positions.queue_timestamp)))?;
    output.line(format_args!("  index          {}", show_time(positions.index_timestamp)))?;
    output.line(format_args!("  dispatched     record at {}", positions.dispatched_record))?;
    output.line(format_args!("  master flushed {}, confirmed {}", positions.master_flushed, positions.confirmed))?;
    match positions.synced_record {
        Some(record) => output.line(format_args!("  synced         record at {record} (written by Apogee)")),
        None => output.line("  synced         not known (written by the reference)"),
    }
}

fn configuration(directory: &Path, output: &mut Output) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(directory) else { return output.line("config           none") };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    output.line("config")?;
    for name in names {
        let length = fs::metadata(directory.join(&name)).map_or(0, |metadata| metadata.len());
        output.line(format_args!("  {name:<40} {length} bytes"))?;
    }
    Ok(())
}
