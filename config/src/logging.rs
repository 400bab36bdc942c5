//! Logs: to standard error, and to files when a directory is configured.
//!
//! | environment | means |
//! |---|---|
//! | `ROCKETMQ_LOG_DIR` | a directory for log files (`broker.log`, `namesrv.log`); unset or empty: no files |
//! | `ROCKETMQ_LOG_LEVEL` | what is logged, `info` by default: a level, or `module=level` pairs separated by commas |
//!
//! A file that has grown to 128 MiB becomes `NAME.1.log`, and so on up to `NAME.10.log`.

mod rotating_file;

use std::path::PathBuf;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use self::rotating_file::RotatingFile;

/// Keeps the log files' writer alive; dropped last, it writes what is still waiting.
#[derive(Debug)]
#[must_use = "log lines are written until it is dropped"]
pub struct LogGuard {
    _worker: Option<WorkerGuard>,
}

/// Why logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// `ROCKETMQ_LOG_LEVEL` is none.
    #[error("ROCKETMQ_LOG_LEVEL={value}: {source}")]
    Level {
        /// The value.
        value: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// A log file cannot be opened.
    #[error("cannot write logs to {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Logs have been set up before.
    #[error(transparent)]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Sets up logs for the process. `name` is the log file's, without `.log`. Files are written by a thread of their own: a
/// slow disk costs log lines, not requests.
pub fn install(name: &str) -> Result<LogGuard, LoggingError> {
    let directory = std::env::var_os("ROCKETMQ_LOG_DIR").filter(|directory| !directory.is_empty());
    let (file, guard) = match directory {
        Some(directory) => {
            let file = PathBuf::from(directory).join(format!("{name}.log"));
            let rotating = RotatingFile::open(&file, FILE_BYTES, FILES_KEPT)
                .map_err(|source| LoggingError::File { file, source })?;
            let (writer, guard) = tracing_appender::non_blocking(rotating);
            (Some(fmt::layer().with_ansi(false).with_writer(writer).with_filter(filter()?)), Some(guard))
        }
        None => (None, None),
    };
    let console = fmt::layer().with_ansi(false).with_writer(std::io::stderr).with_filter(filter()?);
    tracing_subscriber::registry().with(console).with(file).try_init()?;
    Ok(LogGuard { _worker: guard })
}

fn filter() -> Result<EnvFilter, LoggingError> {
    let value = std::env::var("ROCKETMQ_LOG_LEVEL").unwrap_or_else(|_| "info".to_owned());
    EnvFilter::builder().parse(&value).map_err(|source| LoggingError::Level { value, source })
}

/// As the reference's log files: 128 MiB, ten of them.
const FILE_BYTES: u64 = 128 << 20;
const FILES_KEPT: usize = 10;
