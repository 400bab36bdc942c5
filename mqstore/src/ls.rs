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
        let max = queue.max_offset()?;
        let min = queue.offset_of(log_min, max)?;
        let (from, to) = match (queue.unit(min)?, queue.unit(max - 1)?) {
            (Some(first), Some(last)) if min < max => (first.physical_offset.to_string(), last.end().to_string()),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        output.line(format_args!("{topic}\t{id}\t{min}\t{max}\t{}\t{from}\t{to}\t{}", max - min, queue.bytes()))
    })?;
    output.flush()?;
    Ok(Outcome::Well)
}
