//! `mqstore diff`: whether two stores hold the same, over what both have of the log.

mod index;
mod queues;

use apogee_remoting::message::record::Record;

use crate::Outcome;
use crate::arguments::{DiffArguments, StoreOptions};
use crate::error::Error;
use crate::layout::Layout;
use crate::log::{LogFiles, Walk};
use crate::output::Output;
use crate::progress::Progress;

/// One of the two stores.
struct Side {
    layout: Layout,
    log: LogFiles,
    end: i64,
}

/// The physical offsets [from, to) that both logs have.
#[derive(Clone, Copy, Debug)]
struct Common {
    from: i64,
    to: i64,
}

pub(crate) fn run(arguments: &DiffArguments) -> Result<Outcome, Error> {
    let a = Layout::new(&arguments.a, &arguments.store)?;
    let options = StoreOptions { commit_log: arguments.commit_log_b.clone(), ..arguments.store.clone() };
    let b = Layout::new(&arguments.b, &options)?;
    let _locks = (a.lock_to_read()?, b.lock_to_read()?);
    let [a, b] = [Side::new(a)?, Side::new(b)?];
    let common = Common { from: a.log.min_offset().max(b.log.min_offset()), to: a.end.min(b.end) };
    let mut output = Output::stdout();
    output.line(format_args!("A {} to {}, B {} to {}", a.log.min_offset(), a.end, b.log.min_offset(), b.end))?;
    if common.from >= common.to {
        output.line("no part of the log is in both")?;
        output.flush()?;
        return Ok(if a.end == b.end { Outcome::Well } else { Outcome::Found });
    }
    let mut differs = log(&a, &b, common, &mut output)?;
    // what is made from different logs differs
    if !differs {
        differs = queues::differ(&a, &b, common, &mut output)?;
        differs |= index::differ(&a, &b, common, &mut output)?;
    }
    if !differs {
        output.line(format_args!("no difference from {} to {}", common.from, common.to))?;
    }
    output.flush()?;
    Ok(if differs { Outcome::Found } else { Outcome::Well })
}

impl Side {
    fn new(layout: Layout) -> Result<Self, Error> {
        let log = layout.log()?;
        let end = log.find_end()?;
        Ok(Self { layout, log, end })
    }

    /// The record that holds a physical offset, in words.
    fn record_with(&self, offset: i64) -> Result<String, Error> {
        let start = self.log.find(offset).map_or(offset, |file| file.start);
        let mut walk = Walk::new(&self.log, start, self.end);
        while let Some(bytes) = walk.next_record()? {
            if walk.position() > offset {
                let Ok(record) = Record::parse(&bytes) else { break };
                if record.physical_offset > offset {
                    break;
                }
                let Record { topic, queue_id, queue_offset, physical_offset, .. } = record;
                return Ok(format!("{topic} queue {queue_id} offset {queue_offset}, record at {physical_offset}"));
            }
        }
        Ok("no record that verifies".to_owned())
    }
}

/// Compares the bytes of the logs; says where the first difference is.
fn log(a: &Side, b: &Side, common: Common, output: &mut Output) -> Result<bool, Error> {
    let mut progress = Progress::new("diff", common.from, common.to);
    let mut at = common.from;
    while at < common.to {
        progress.at(at);
        let length = CHUNK.min((common.to - at) as usize).min(a.log.left_in_file(at)).min(b.log.left_in_file(at));
        let (mut in_a, mut in_b) = (a.log.read(at, length)?, b.log.read(at, length)?);
        in_a.resize(length, 0);
        in_b.resize(length, 0);
        if let Some(n) = in_a.iter().zip(&in_b).position(|(a, b)| a != b) {
            let at = at + n as i64;
            output.line(format_args!("log: first difference at {at}: {:#04x} in A, {:#04x} in B", in_a[n], in_b[n]))?;
            output.line(format_args!("  A: {}", a.record_with(at)?))?;
            output.line(format_args!("  B: {}", b.record_with(at)?))?;
            return Ok(true);
        }
        at += length as i64;
    }
    Ok(false)
}

const CHUNK: usize = 1 << 20;
