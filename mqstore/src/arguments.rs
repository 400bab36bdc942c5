//! The command line.

use std::path::PathBuf;

use clap::builder::{RangedI64ValueParser, RangedU64ValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::layout::parse_time;

/// Looks at store directories, verifies and repairs them.
///
/// Status: 0 all is well, 1 something is wrong with the store or two stores differ, 2 the work could not be done.
#[derive(Debug, Parser)]
#[command(name = "mqstore", version, about, long_about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sizes, ranges, times, checkpoint, marks and configuration files
    Info(InfoArguments),
    /// The queues, with their offsets and where their records lie
    Ls(LsArguments),
    /// Records as JSON lines
    Cat(CatArguments),
    /// Check every record, queue unit and index item
    Verify(VerifyArguments),
    /// Make consume queues and index anew from the log
    Rebuild(RebuildArguments),
    /// Cut the log, its queues and index off at a physical offset
    Truncate(TruncateArguments),
    /// Write records into a file
    Export(ExportArguments),
    /// Copy what verifies of a damaged store into a new directory
    Salvage(SalvageArguments),
    /// Compare two stores and name the first difference
    Diff(DiffArguments),
}

/// Which store, and what it looks like where that is not detected.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreOptions {
    /// Take paths and sizes from this configuration file of its broker
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Directories of the commit log (storePathCommitLog) [default: DIR/commitlog]
    #[arg(long, value_name = "DIRECTORIES", value_delimiter = ',')]
    pub(crate) commit_log: Vec<PathBuf>,
    /// Bytes of a commit-log file (mappedFileSizeCommitLog) [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::<usize>())]
    pub(crate) log_file_size: Option<usize>,
    /// Bytes of a consume-queue file (mappedFileSizeConsumeQueue) [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::<u64>())]
    pub(crate) queue_file_size: Option<u64>,
    /// Bytes of a file of a batch queue (mapperFileSizeBatchConsumeQueue) [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::<u64>())]
    pub(crate) batch_queue_file_size: Option<u64>,
    /// Bytes of a file of a queue's extension (mappedFileSizeConsumeQueueExt) [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::<u64>())]
    pub(crate) extension_file_size: Option<u64>,
    /// Slots of an index file (maxHashSlotNum) [default: detected]
    #[arg(long, value_name = "NUMBER", value_parser = size::<usize>())]
    pub(crate) index_slots: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct LsArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    /// Only queues of this topic
    #[arg(long)]
    pub(crate) topic: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

/// Which records; what is given must all be true of them.
#[derive(Debug, Default, Args)]
pub(crate) struct Selection {
    /// From this physical offset on
    #[arg(long, value_name = "OFFSET", value_parser = offset())]
    pub(crate) offset: Option<i64>,
    /// Of this topic
    #[arg(long)]
    pub(crate) topic: Option<String>,
    /// Of this queue of the topic
    #[arg(long, value_name = "ID", requires = "topic")]
    pub(crate) queue: Option<i32>,
    /// From this queue offset on
    #[arg(long, value_name = "OFFSET", requires = "queue", value_parser = offset())]
    pub(crate) from: Option<i64>,
    /// Before this queue offset
    #[arg(long, value_name = "OFFSET", requires = "queue", value_parser = offset())]
    pub(crate) to: Option<i64>,
    /// With this word among their KEYS
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// With this unique key (UNIQ_KEY, the message id that producers see)
    #[arg(long)]
    pub(crate) unique_key: Option<String>,
    /// Stored at this time or later: ms since 1970, or as 2026-01-31T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) begin: Option<i64>,
    /// Stored at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) end: Option<i64>,
    /// At most so many
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max: Option<u64>,
    /// Look for keys in the log itself and not in the index
    #[arg(long)]
    pub(crate) scan: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CatArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    /// Name at most so many problems of each kind; all are counted
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) show: u64,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct TruncateArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    /// Physical offset of the first record that goes
    #[arg(long, value_name = "OFFSET", value_parser = offset())]
    pub(crate) at: i64,
    /// Do it; without, only what would be lost is told
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A JSON object a line, as `cat` prints it
    Json,
    /// Records as they are stored, one behind another
    Raw,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// storePathRootDir
    pub(crate) dir: PathBuf,
    /// The file to write; it must not exist
    pub(crate) file: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value = "json")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct SalvageArguments {
    /// storePathRootDir of the damaged store; nothing in it is changed
    pub(crate) dir: PathBuf,
    /// The directory of the new store; it must not exist
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// storePathRootDir of one store
    pub(crate) a: PathBuf,
    /// storePathRootDir of the other
    pub(crate) b: PathBuf,
    /// Directories of the other's commit log [default: B/commitlog]
    #[arg(long, value_name = "DIRECTORIES", value_delimiter = ',')]
    pub(crate) commit_log_b: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

/// An offset: no log and no queue reaches further.
fn offset() -> RangedI64ValueParser<i64> {
    RangedI64ValueParser::new().range(0..=i64::MAX / 2)
}

/// What the configuration has as a positive `int`.
fn size<T: TryFrom<u64> + Clone + Send + Sync>() -> RangedU64ValueParser<T> {
    RangedU64ValueParser::new().range(1..=i32::MAX as u64)
}
