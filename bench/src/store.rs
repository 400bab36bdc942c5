//! The store with synchronous flush in this process, without a network and without requests, beside what the disk does with
//! as many bare writes and syncs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use apogee_config::{FlushDiskType, MessageStoreConfig};
use apogee_remoting::message::record::Draft;
use apogee_store::{Hooks, Marks, Store};
use clap::Args;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::compare::bare;
use crate::report::{Latency, Report, histogram, median, ratio};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Where the store and the bare file are put; both are removed afterwards.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Senders with one message in flight each; one sender is measured besides.
    #[arg(long, default_value_t = 64)]
    senders: usize,
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    body: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 3.0)]
    duration: f64,
    /// How often store and bare system calls are measured in turn.
    #[arg(long, default_value_t = 5)]
    alternations: usize,
    /// Print each measurement as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    let dir = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    for senders in [options.senders, 1] {
        let mut pairs = Vec::new();
        for _ in 0..options.alternations.max(1) {
            let store = flush(&dir, senders, options.body, options.duration)?;
            let bare = bare::flush(&dir, senders, options.body + RECORD, options.duration)?;
            if options.json {
                store.print(true)?;
                bare.print(true)?;
            }
            pairs.push((store, bare));
        }
        print(senders, &pairs);
    }
    Ok(())
}

/// Medians, and the median of the ratios of each pair.
fn print(senders: usize, pairs: &[(Report, Report)]) {
    println!("{senders} in flight, medians of {}: store, bare, store : bare", pairs.len());
    let row = |name: &str, value: fn(&Report) -> f64| {
        let of = |pick: fn(&(Report, Report)) -> &Report| median(pairs.iter().map(|pair| value(pick(pair))));
        let both = median(pairs.iter().map(|(store, bare)| ratio(value(store), value(bare))));
        println!("  {name:<18} {:>10.1} {:>10.1} {both:>8.2}", of(|pair| &pair.0), of(|pair| &pair.1));
    };
    row("messages/s", |report| report.messages_per_second);
    row("p50 µs", |report| report.latency.unwrap_or_default().p50);
    row("p99 µs", |report| report.latency.unwrap_or_default().p99);
    row("CPU µs a message", |report| report.server.unwrap_or_default().cpu_micros_per_message);
}

/// So many senders, each with one message that it waits for until it is on the disk, on the runtime that the broker uses.
pub fn flush(dir: &Path, senders: usize, body: usize, seconds: f64) -> Result<Report> {
    let root = tempfile::tempdir_in(dir).with_context(|| format!("no directory in {}", dir.display()))?;
    let config = MessageStoreConfig {
        store_path_root_dir: root.path().to_string_lossy().into_owned(),
        flush_disk_type: FlushDiskType::SyncFlush,
        ..MessageStoreConfig::default()
    };
    let store = Store::open(&config, Hooks::default())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let send = |seconds: f64| {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let tasks = (0..senders).map(|number| runtime.spawn(sender(Arc::clone(&store), number, body, until)));
        let tasks: Vec<_> = tasks.collect();
        let joined = tasks.into_iter().map(|task| runtime.block_on(task)?);
        joined.collect::<Result<Vec<_>>>()
    };
    send(WARM_UP)?;
    let (start, used) = (Instant::now(), cpu());
    let took = send(seconds)?;
    let (seconds, used) = (start.elapsed().as_secs_f64(), cpu() - used);
    store.close()?;
    let mut latency = histogram();
    took.iter().flatten().for_each(|nanos| latency.saturating_record(u64::from(*nanos)));
    let count = latency.len();
    let report = Report::new("append and wait for the disk".into(), seconds, count, count * body as u64);
    Ok(Report { latency: Latency::of(&latency), server: Some(bare::usage(used, count)), ..report })
}

/// Stands in for what answers requests, at little cost; gives what each message took, ns.
async fn sender(store: Arc<Store>, number: usize, body: usize, until: Instant) -> Result<Vec<u32>> {
    let (body, host, queue_id) = (vec![7; body], ([127, 0, 0, 1], 10_911).into(), (number % QUEUES) as i32);
    let mut properties = format!("WAIT\u{1}true\u{2}UNIQ_KEY\u{1}{number:016}{:016}\u{2}", 0).into_bytes();
    let unique_key = properties.len() - 33..properties.len() - 1;
    let (mut took, mut begun) = (Vec::new(), Instant::now());
    while begun < until {
        count_up(&mut properties[unique_key.clone()]);
        let draft = Draft { properties: &properties, ..Draft::new("apogee-store", queue_id, host, &body) };
        let marks = Marks { unique_key: Some(&properties[unique_key.clone()]), ..Marks::default() };
        let appended = store.append_awaited(&draft, &marks)?;
        store.flushed(appended.end()).await?;
        let now = Instant::now();
        took.push((now - begun).as_nanos().try_into().unwrap_or(u32::MAX));
        begun = now;
    }
    Ok(took)
}

/// The next number, in as many digits.
fn count_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = if *digit == b'9' { b'0' } else { *digit + 1 };
        if *digit != b'0' {
            return;
        }
    }
}

/// Processor time of this process in seconds.
fn cpu() -> f64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(tv_sec as u64, tv_nsec as u32).as_secs_f64()
}

/// Bytes of a record beside its body, about.
pub const RECORD: usize = 180;
const QUEUES: usize = 8;
/// Seconds.
const WARM_UP: f64 = 0.5;
