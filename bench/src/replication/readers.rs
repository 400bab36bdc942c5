//! Slaves that keep nothing: they read what a master sends and say that they have it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::wire::connect_patiently;

/// Slaves, each on a thread of its own.
pub struct Readers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<i64>>>,
}

impl Readers {
    /// Connects `count` slaves that have the log up to `end`.
    pub fn start(master: &str, count: usize, end: i64) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let stream = connect_patiently(master, HEARTBEAT)?;
            let (stop, master) = (Arc::clone(&stop), master.to_owned());
            Ok(thread::spawn(move || follow(stream, end, &stop).with_context(|| format!("a slave of {master}"))))
        };
        let threads = (0..count).map(start).collect::<Result<_>>()?;
        Ok(Self { stop, threads })
    }

    /// Ends them.
    ///
    /// # Errors
    /// One of them had less than the log up to `end`, or was given up: then it was no slave.
    pub fn stop(self, end: i64) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let has = thread.join().map_err(|_| anyhow!("a slave panicked"))??;
            ensure!(has + BEHIND >= end, "a slave has the log up to {has}, and the master to {end}");
        }
        Ok(())
    }
}

fn follow(mut stream: TcpStream, mut end: i64, stop: &AtomicBool) -> Result<i64> {
    let mut buffer = vec![0; 64 << 10];
    let mut head = Vec::new();
    let mut body = 0;
    stream.write_all(&end.to_be_bytes())?;
    while !stop.load(Ordering::Relaxed) {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Err(anyhow!("the master closed the connection")),
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut bytes = &buffer[..read];
        while !bytes.is_empty() {
            if body > 0 {
                let taken = body.min(bytes.len());
                (body, end, bytes) = (body - taken, end + taken as i64, &bytes[taken..]);
            } else {
                let taken = (HEAD - head.len()).min(bytes.len());
                head.extend_from_slice(&bytes[..taken]);
                bytes = &bytes[taken..];
                if let Some(size) = head.get(8..HEAD).and_then(<[u8]>::first_chunk) {
                    body = u32::from_be_bytes(*size) as usize;
                    head.clear();
                }
            }
        }
        stream.write_all(&end.to_be_bytes())?;
    }
    Ok(end)
}

/// Bytes of the head of a transfer: offset and size.
const HEAD: usize = 12;
const HEARTBEAT: Duration = Duration::from_secs(1);
/// What may be under way when they are ended.
const BEHIND: i64 = 1 << 20;
