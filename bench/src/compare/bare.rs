//! What the machine can do: the work of a broker as nothing but system calls.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use memmap2::MmapMut;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::journal::scratch;
use crate::report::{Latency, Report, Usage, histogram, ratio};
use crate::server_process::Memory;
use crate::wire::connect;

/// Writes `records` records of `size` bytes each and waits for the disk, again and again: what one group commit after the other
/// reaches, or one sender when `records` is 1. Into allocated space, as into a commit log.
pub fn flush(dir: &Path, records: usize, size: usize, seconds: f64) -> Result<Report> {
    let (file, block) = (scratch(dir, FILE)?, vec![7; records * size]);
    let (mut latency, mut count, mut at) = (histogram(), 0, 0);
    let (start, used) = (Instant::now(), cpu());
    while start.elapsed().as_secs_f64() < seconds {
        let begun = Instant::now();
        file.write_all_at(&block, at).with_context(|| format!("cannot write in {}", dir.display()))?;
        file.sync_data().with_context(|| format!("cannot sync in {}", dir.display()))?;
        latency.saturating_record(begun.elapsed().as_nanos() as u64);
        at = (at + block.len() as u64) % (FILE - block.len() as u64);
        count += records as u64;
    }
    let report = Report::new("write and fdatasync".into(), start.elapsed().as_secs_f64(), count, count * size as u64);
    Ok(Report { latency: Latency::of(&latency), server: Some(usage(cpu() - used, count)), ..report })
}

/// Copies messages of `size` bytes into fresh pages and takes the CRC of each: what storing costs at least.
pub fn append(size: usize, seconds: f64) -> Result<Report> {
    let body = vec![7; size];
    let (start, mut used, mut count, mut sum) = (Instant::now(), 0.0, 0, 0);
    while start.elapsed().as_secs_f64() < seconds {
        let mut map = MmapMut::map_anon(FILE as usize).context("no memory to write to")?;
        let before = cpu();
        for room in map.chunks_exact_mut(size) {
            sum ^= crc32fast::hash(&body);
            room.copy_from_slice(&body);
            count += 1;
        }
        used += cpu() - before;
    }
    std::hint::black_box(sum);
    let report = Report::new("copy and CRC".into(), start.elapsed().as_secs_f64(), count, count * size as u64);
    Ok(Report { server: Some(usage(used, count)), ..report })
}

/// Sends the `bytes` of a file in the page cache to a connection with sendfile, in pieces of `piece` bytes: what pulling costs at
/// least. A message is `size` of them.
pub fn transfer(dir: &Path, bytes: u64, piece: usize, size: usize) -> Result<Report> {
    let file = scratch(dir, bytes)?;
    let block = vec![7; 1 << 20];
    for at in (0..bytes).step_by(block.len()) {
        let block = &block[..block.len().min((bytes - at) as usize)];
        file.write_all_at(block, at).with_context(|| format!("cannot write in {}", dir.display()))?;
    }
    let listener = TcpListener::bind("127.0.0.1:0").context("no port for sendfile")?;
    let address = listener.local_addr().context("no address for sendfile")?;
    let reader = thread::spawn(move || -> Result<()> {
        let (mut stream, mut room) = (connect(&address.to_string())?, vec![0; 256 << 10]);
        while stream.read(&mut room).context("cannot read what sendfile sends")? > 0 {}
        Ok(())
    });
    let (stream, _) = listener.accept().context("nobody connects for sendfile")?;
    let (start, used, mut sent) = (Instant::now(), cpu(), 0);
    while sent < bytes {
        sent += rustix::fs::sendfile(&stream, &file, Some(&mut sent.clone()), piece).context("sendfile")? as u64;
    }
    let (seconds, used) = (start.elapsed().as_secs_f64(), cpu() - used);
    drop(stream);
    reader.join().map_err(|_| anyhow!("the reading thread panicked"))??;
    let report = Report::new("sendfile".into(), seconds, bytes / size as u64, bytes);
    Ok(Report { server: Some(usage(used, bytes / size as u64)), ..report })
}

/// So many seconds of processor time for so many messages.
pub fn usage(cpu_seconds: f64, messages: u64) -> Usage {
    Usage {
        cpu_seconds,
        messages_per_cpu_second: ratio(messages as f64, cpu_seconds),
        cpu_micros_per_message: ratio(cpu_seconds * 1e6, messages as f64),
        memory: Memory::default(),
    }
}

/// Processor time of this thread in seconds.
fn cpu() -> f64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(tv_sec as u64, tv_nsec as u32).as_secs_f64()
}

const FILE: u64 = 1 << 30;
