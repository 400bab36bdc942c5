//! What the measured process has used, as the kernel counts it.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A process by its id.
#[derive(Clone, Copy, Debug)]
pub struct ServerProcess(pub u32);

/// Resident memory in bytes (`/proc/PID/smaps_rollup`).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// All resident pages.
    pub resident: u64,
    /// Of these, pages that no file backs: heap, stacks, the Java heap.
    pub anonymous: u64,
    /// Of these, mapped pages of files, which the kernel can take back.
    pub file: u64,
}

impl ServerProcess {
    /// Processor time of all threads, living and ended, in seconds; the kernel counts in steps of 10 ms.
    pub fn cpu_seconds(self) -> Result<f64> {
        let path = format!("/proc/{}/stat", self.0);
        let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        // The name in parentheses may contain anything; utime and stime are the 12th and 13th fields behind it.
        let fields = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace())
            .with_context(|| format!("unknown form of {path}"))?;
        let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Bytes that it had to be read from the disk for (`/proc/PID/io`).
    pub fn bytes_from_disk(self) -> Result<u64> {
        let path = format!("/proc/{}/io", self.0);
        let io = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let bytes = io.lines().find_map(|line| line.strip_prefix("read_bytes:")?.trim().parse().ok());
        bytes.with_context(|| format!("no read_bytes in {path}"))
    }

    /// Resident memory now.
    pub fn memory(self) -> Result<Memory> {
        let path = format!("/proc/{}/smaps_rollup", self.0);
        let rollup = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let bytes = |key: &str| {
            let value = rollup.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix(" kB"));
            value.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
        };
        let (resident, anonymous) = (bytes("Rss:"), bytes("Anonymous:"));
        Ok(Memory { resident, anonymous, file: resident.saturating_sub(anonymous) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_process() {
        let this = ServerProcess(std::process::id());
        let memory = this.memory().unwrap();
        assert!(memory.anonymous > 0 && memory.resident > memory.anonymous);
        assert!(this.cpu_seconds().unwrap() < 3600.0);
    }
}
