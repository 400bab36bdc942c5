//! `mqstore cat`: records as JSON lines.

use crate::Outcome;
use crate::arguments::CatArguments;
use crate::error::Error;
use crate::json;
use crate::layout::Layout;
use crate::output::Output;
use crate::select::select;

pub(crate) fn run(arguments: &CatArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_read()?;
    let mut output = Output::stdout();
    let outcome = select(&layout, &arguments.selection, |record| output.line(json::line(record)))?;
    output.flush()?;
    Ok(outcome)
}
