//! The tables of the broker can be read.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use apogee_remoting::json;
use serde::de::IgnoredAny;

use super::report::Report;
use crate::error::{Error, at};

/// Looks at every JSON file of the directory `config`.
pub(super) fn check(directory: &Path, report: &mut Report) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| is_table(path)).collect();
    paths.sort_unstable();
    for path in paths {
        let Some(fault) = fault(&path)? else { continue };
        let mut backup = path.clone().into_os_string();
        backup.push(".bak");
        let backup = Path::new(&backup);
        let advice = match backup.exists().then(|| self::fault(backup)).transpose()? {
            Some(None) => "its .bak can be read and is taken at the next start",
            _ => "restore it: there is no .bak that can be read",
        };
        report.problem("configuration", format_args!("{}: {fault}: {advice}", path.display()))?;
    }
    Ok(())
}

fn is_table(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("json"))
        || matches!(path.file_name().and_then(OsStr::to_str), Some("timermetrics" | "transactionMetrics"))
}

fn fault(path: &Path) -> Result<Option<String>, Error> {
    let bytes = fs::read(path).map_err(at(path))?;
    Ok(json::from_slice::<IgnoredAny>(&bytes).err().map(|error| error.to_string()))
}
