//! `mqstore ls`: the queues.

use crate::Outcome;
use crate::arguments::LsArguments;
use crate::error::Error;
use crate::layout::Layout;
use crate::output::Output;

/// Columns, separated by tabs; the physical range is that of the records which the log still has.
const TITLE: &str = "TOPIC\tQUEUE\tMIN\tMAX\tCOUNT\tFROM\tTO\tBYTES";

pub(crate) fn run(arguments: &LsArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_read()?;
    let log_min = layout.log()?.min_offset();
    let queues = layout.queues()?;
    let mut output = Output::stdout();
    output.line(TITLE)?;
    queues.for_each(|topic, id, queue| {
        if arguments.topic.as_deref().is_some_and(|only| only != topic) {
            return Ok(());
        }
        let end = queue.end()?;
        let first = queue.place_of_physical(log_min, end)?;
        let (min, max) = (queue.offset_at(first, end)?, queue.offset_at(end, end)?);
        let (from, to) = match (queue.entry(first)?, queue.entry(end - 1)?) {
            (Some(first), Some(last)) if min < max => {
                (first.unit.physical_offset.to_string(), last.unit.end().to_string())
            }
            _ => ("-".to_owned(), "-".to_owned()),
        };
        output.line(format_args!("{topic}\t{id}\t{min}\t{max}\t{}\t{from}\t{to}\t{}", max - min, queue.bytes()))
    })?;
    output.flush()?;
    Ok(Outcome::Well)
}
