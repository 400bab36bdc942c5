//! `mqstore export`: records into a file.

use std::fs::File;
use std::io::{BufWriter, Write};

use crate::Outcome;
use crate::arguments::{ExportArguments, Format};
use crate::error::{Error, at};
use crate::json;
use crate::layout::Layout;
use crate::output::Output;
use crate::select::select;

pub(crate) fn run(arguments: &ExportArguments) -> Result<Outcome, Error> {
    let layout = Layout::new(&arguments.dir, &arguments.store)?;
    let _lock = layout.lock_to_read()?;
    let path = &arguments.file;
    let mut file = BufWriter::new(File::create_new(path).map_err(at(path))?);
    let (mut records, mut bytes) = (0_u64, 0_u64);
    let outcome = select(&layout, &arguments.selection, |record| {
        records += 1;
        let written = match arguments.format {
            Format::Json => {
                let line = json::line(record);
                bytes += line.len() as u64 + 1;
                writeln!(file, "{line}")
            }
            Format::Raw => {
                bytes += record.size() as u64;
                file.write_all(record.as_bytes())
            }
        };
        written.map_err(at(path))
    })?;
    file.into_inner().map_err(|error| at(path)(error.into_error()))?.sync_all().map_err(at(path))?;
    let mut output = Output::stdout();
    output.line(format_args!("{records} records, {bytes} bytes in {}", path.display()))?;
    output.flush()?;
    Ok(outcome)
}
