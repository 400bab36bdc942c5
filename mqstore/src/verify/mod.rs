//! `mqstore verify`: one walk over the log, with the queues and the index beside it.
//!
//! Memory: some state for each queue, a few blocks of units, and the slots of one index file.

mod configuration;
mod index;
mod queues;
mod report;

use apogee_remoting::message::record::Record;
use apogee_store::Positions;

use crate::Outcome;
use crate::arguments::VerifyArguments;
use crate::error::{Error, at};
use crate::layout::{Layout, show_time};
use crate::log::{Entry, LogFiles, Walk};
use crate::output::Output;
use crate::progress::Progress;
use index::IndexCheck;
use queues::QueueCheck;
use report::Report;

pub(crate) fn run(arguments: &VerifyArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_read()?;
    let mut report = Report::new(Output::stdout(), arguments.show);
    let (log, queues, index) = (layout.log()?, layout.queues()?, layout.index()?);
    let rules = layout.rules(&queues)?;
    let unclean = layout.is_unclean();
    file_names(&log, unclean, &mut report)?;
    let mut queues = QueueCheck::new(&layout.root, &queues, &rules, unclean);
    let mut index =
        IndexCheck::new(&index, log.min_offset(), unclean, layout.config.message_index_enable, &mut report)?;
    let (end, newest) = walk(&log, unclean, &mut queues, &mut index, &mut report)?;
    queues.finish(&log, end, &mut report)?;
    index.finish(end, &mut report)?;
    checkpoint(&layout, newest, &mut report)?;
    configuration::check(&layout.root.join("config"), &mut report)?;
    Ok(if report.finish()? { Outcome::Well } else { Outcome::Found })
}

/// Every file has its length, and none is missing.
fn file_names(log: &LogFiles, unclean: bool, report: &mut Report) -> Result<(), Error> {
    let size = log.file_size() as u64;
    let last = log.list().last().map(|file| file.start);
    for file in log.list() {
        let unfinished =
            Some(file.start) == last && file.length < size && log.read(file.start, 8)?.iter().all(|b| *b == 0);
        if unfinished && unclean {
            report.pending("file of the log whose creation was interrupted", 1);
        } else if file.length != size {
            let (path, length) = (file.path.display(), file.length);
            report.problem("log", format_args!("{path} has {length} bytes, files of this log have {size}"))?;
        }
    }
    Ok(())
}

/// Walks over the log; gives its end and the store time of its last record.
fn walk(
    log: &LogFiles,
    unclean: bool,
    queues: &mut QueueCheck<'_>,
    index: &mut IndexCheck<'_>,
    report: &mut Report,
) -> Result<(i64, i64), Error> {
    let mut walk = Walk::whole(log);
    let mut progress = Progress::new("verify", log.min_offset(), log.end_of_files());
    let (mut records, mut bytes, mut newest) = (0_u64, 0_u64, 0);
    while let Some(entry) = walk.next()? {
        progress.at(walk.position());
        match entry {
            Entry::Record(stored) => {
                let Ok(record) = Record::parse(&stored) else { continue };
                records += 1;
                bytes += record.size() as u64;
                newest = record.store_timestamp;
                queues.record(&record, report)?;
                index.record(&record, report)?;
            }
            Entry::Blank { at, length } => {
                let rest = log.left_in_file(at);
                if length != rest {
                    let text = format!("{}: the blank says {length} bytes, {rest} are left", place(log, at));
                    report.problem("log", text)?;
                }
            }
            Entry::Damage { from, to, why } => {
                let text = format!("{}: no record, up to {to} ({} bytes): {why}", place(log, from), to - from);
                report.problem("log", text)?;
            }
        }
    }
    let end = walk.position();
    match walk.torn() {
        Some(_) if unclean => report.pending("torn end of the log, which is cut off", 1),
        Some(why) => {
            let text = format!("{}: what is written behind the last record is none: {why}", place(log, end));
            report.problem("log", text)?;
        }
        None => {}
    }
    report.line(format_args!("log {} to {end}: {records} records, {bytes} bytes", log.min_offset()))?;
    Ok((end, newest))
}

/// A physical offset with its file and the byte there.
fn place(log: &LogFiles, at: i64) -> String {
    match log.find(at) {
        Some(file) => format!("{at} ({} byte {})", file.path.display(), at - file.start),
        None => at.to_string(),
    }
}

/// The checkpoint knows no record that the log does not have.
fn checkpoint(layout: &Layout, newest: i64, report: &mut Report) -> Result<(), Error> {
    let path = layout.root.join("checkpoint");
    let Some(positions) = Positions::read(&layout.root).map_err(at(&path))? else {
        report.pending("checkpoint, which is made", 1);
        return Ok(());
    };
    if positions.log_timestamp > newest {
        let (known, newest) = (show_time(positions.log_timestamp), show_time(newest));
        let path = path.display();
        report
            .problem("checkpoint", format_args!("{path}: a record of {known} was stored, the log ends at {newest}"))?;
    }
    Ok(())
}
