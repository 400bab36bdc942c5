//! Sends at a rate while something else goes on: how late the latest answers get.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};

use super::super::servers::Running;
use super::super::{machine, pull, send};
use super::{Bench, RECORD, fill, first_send, pull_all};
use crate::generate::beside;
use crate::log_end::log_end;
use crate::pull::{Filter, PullShape, Puller};
use crate::report::Report;
use crate::server_process::ServerProcess;

/// All of them.
pub fn all(bench: &mut Bench) -> Result<()> {
    readers_and_commit_log(bench)?;
    index(bench)
}

fn readers_and_commit_log(bench: &mut Bench) -> Result<()> {
    let lab = bench.lab;
    let window = bytes_of(&lab.load_at("", RATE));
    let file = (window * 3 / 2 / MIB + 1) * MIB;
    let mut server = bench.start(&format!("mappedFileSizeCommitLog={file}\n"))?;
    let backlog = fill(&send::Options { topic: "apogee-backlog".into(), ..lab.load(&server) }, lab.bytes / 2)?;
    // What a process has mapped and touched cannot be put out of the page cache.
    server.end_broker()?;
    first_send(&mut server)?;
    let load = send::Options { rate: Some(RATE), ..bench.warm(&server)? };
    let backlog = send::Options { server_pid: load.server_pid, ..backlog };

    leave_room(&load, file, window..file)?;
    bench.send(UNDISTURBED, &load)?;

    leave_room(&load, file, window..file)?;
    machine::settle();
    let report = beside_slow_readers(&load, &backlog)?;
    bench.add(SLOW_READERS, report)?;

    leave_room(&load, file, window..file)?;
    machine::settle();
    put_on_disk_only(&server)?;
    let report = beside_backlog_reader(&load, &backlog)?;
    bench.add(BACKLOG, report)?;

    leave_room(&load, file, window * 2 / 5..window * 3 / 5)?;
    bench.send(NEXT_FILE, &load)?;
    server.stop()
}

fn index(bench: &mut Bench) -> Result<()> {
    // Full once or twice while it is measured.
    let entries = (RATE * bench.lab.seconds * 0.6) as u64;
    let server = bench.start(&format!("maxIndexNum={entries}\n"))?;
    let load = send::Options { rate: Some(RATE), ..bench.warm(&server)? };
    bench.send(NEXT_INDEX, &load)?;
    server.stop()
}

/// Bytes that an open loop adds to the log.
fn bytes_of(load: &send::Options) -> i64 {
    let seconds = load.warm_up + load.duration;
    (load.rate.unwrap_or(0.0) * seconds) as i64 * (load.body + RECORD) as i64
}

/// Sends until what is left of the current file of the log is within `room`.
fn leave_room(load: &send::Options, file: i64, room: std::ops::Range<i64>) -> Result<()> {
    let left = || Ok::<_, anyhow::Error>(file - log_end(&load.broker)? % file);
    let aim = i64::midpoint(room.start, room.end);
    loop {
        let now = left()?;
        if room.contains(&now) {
            return Ok(());
        }
        let bytes = if now > aim { now - aim } else { now + file - aim };
        // Somewhat less: what is in flight at the end comes on top, and a record is longer than what was sent.
        fill(&send::Options { rate: None, ..load.clone() }, (bytes as u64 * 4 / 5).max(1 << 20))?;
    }
}

/// Readers that ask for much more of the backlog than fits into a socket, and take no answer. Who asks without end has the
/// reference run out of memory.
fn beside_slow_readers(load: &send::Options, backlog: &send::Options) -> Result<Report> {
    let over = AtomicBool::new(false);
    let queues = || (0..backlog.queues).map(|queue| (backlog.topic.clone(), queue, 0));
    let reader = || {
        let shape = PullShape { most: 32, filter: Filter::Tags("*".into()), hold_millis: 0 };
        let puller = Puller::connect(&backlog.broker, queues(), shape)?;
        let over = &over;
        Ok(move || puller.take_nothing(ASKED, || over.load(Ordering::Relaxed)))
    };
    let readers = (0..READERS).map(|_| reader()).collect::<Result<_>>()?;
    let sends = || {
        let report = send::measure(load);
        over.store(true, Ordering::Relaxed);
        report
    };
    Ok(beside(readers, (), |(), ()| Ok(()), sends)?.1)
}

/// A reader of a backlog that comes from the disk.
fn beside_backlog_reader(load: &send::Options, backlog: &send::Options) -> Result<Report> {
    let options = pull::Options { connections: 1, duration: load.warm_up + load.duration, ..pull_all(backlog) };
    let process = load.server_pid.map(ServerProcess);
    let from_disk = || process.map_or(Ok(0), ServerProcess::bytes_from_disk);
    let before = from_disk()?;
    let take = |sum: &mut Report, one: &Report| {
        *sum = one.clone();
        Ok(())
    };
    let reader = || pull::measure(&options);
    let (read, report) = beside(vec![reader], Report::default(), take, || send::measure(load))?;
    let Report { seconds, megabytes_per_second, .. } = read;
    let megabytes = (from_disk()? - before) as f64 / 1e6;
    eprintln!("  backlog: {megabytes_per_second:.0} MB/s for {seconds:.1} s; {megabytes:.0} MB came from the disk");
    Ok(report)
}

/// Takes the log out of the page cache, but for what the server has mapped and touched.
fn put_on_disk_only(server: &Running) -> Result<()> {
    let folder = server.store().join("commitlog");
    let forget = |path: &Path| -> Result<()> { Ok(fadvise(File::open(path)?, 0, None, Advice::DontNeed)?) };
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        forget(&path).with_context(|| format!("cannot forget {}", path.display()))?;
    }
    Ok(())
}

/// Messages per second: about half of what the reference can take.
const RATE: f64 = 20_000.0;
const MIB: i64 = 1 << 20;
const READERS: usize = 4;
/// Requests of a reader for each queue: some 40 MB in all.
const ASKED: usize = 128;

const UNDISTURBED: &str = "sends at 20,000/s, undisturbed";
const SLOW_READERS: &str = "sends at 20,000/s, four readers take no answer";
const BACKLOG: &str = "sends at 20,000/s, a backlog is read from disk";
const NEXT_FILE: &str = "sends at 20,000/s, the commit log goes to its next file";
const NEXT_INDEX: &str = "sends at 20,000/s, the index goes to its next file";
