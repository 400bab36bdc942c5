//! Between a master and its slave: forwards what they say and notes when the slave says that it has a message.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use parking_lot::Mutex;

use crate::clock::nanos;
use crate::report::histogram;

/// Takes connections of slaves until the process ends.
pub struct Relay {
    address: String,
    seen: Arc<Mutex<Seen>>,
}

/// What went through.
struct Seen {
    /// End of each record on its way, and when its producer meant to send it, in nanoseconds of [`nanos`].
    under_way: VecDeque<(i64, u64)>,
    /// From then until the slave had it, in nanoseconds.
    lag: Histogram<u64>,
}

impl Relay {
    /// Forwards to the master's port for slaves.
    pub fn start(master: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for a relay")?;
        let address = listener.local_addr().context("no address of a relay")?.to_string();
        let seen = Arc::new(Mutex::new(Seen { under_way: VecDeque::new(), lag: histogram() }));
        let (master, shared) = (master.to_owned(), Arc::clone(&seen));
        thread::spawn(move || {
            for slave in listener.incoming().map_while(Result::ok) {
                let Ok(master) = TcpStream::connect(&master) else { continue };
                // A connection that ends takes nothing else with it: the slave connects again.
                let _ = forward(&slave, &master, &shared);
            }
        });
        Ok(Self { address, seen })
    }

    /// Where the slave connects, host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The lags since the last call, in nanoseconds.
    pub fn take_lag(&self) -> Histogram<u64> {
        std::mem::replace(&mut self.seen.lock().lag, histogram())
    }
}

fn forward(slave: &TcpStream, master: &TcpStream, seen: &Arc<Mutex<Seen>>) -> Result<()> {
    slave.set_nodelay(true)?;
    master.set_nodelay(true)?;
    let (mut from_slave, mut to_master) = (slave.try_clone()?, master.try_clone()?);
    let shared = Arc::clone(seen);
    let up = thread::spawn(move || {
        let mut report = [0; 8];
        while from_slave.read_exact(&mut report).is_ok() && to_master.write_all(&report).is_ok() {
            shared.lock().reported(i64::from_be_bytes(report));
        }
        let _ = to_master.shutdown(Shutdown::Both);
    });
    let down = down(slave, master, seen);
    let _ = slave.shutdown(Shutdown::Both);
    let _ = up.join();
    down
}

fn down(mut slave: &TcpStream, mut master: &TcpStream, seen: &Mutex<Seen>) -> Result<()> {
    let mut log = Vec::new();
    let mut head = [0; 12];
    loop {
        master.read_exact(&mut head)?;
        let place = i64::from_be_bytes(*head.first_chunk().context("a head is long enough")?);
        let size = u32::from_be_bytes(*head.last_chunk().context("a head is long enough")?) as usize;
        let before = log.len();
        log.resize(before + size, 0);
        master.read_exact(&mut log[before..])?;
        let taken = seen.lock().sent(&log, place - before as i64);
        slave.write_all(&head)?;
        slave.write_all(&log[before..])?;
        log.drain(..taken);
    }
}

impl Seen {
    /// Notes the whole records in a part of the log that begins at `place`; says how many bytes they are.
    fn sent(&mut self, log: &[u8], place: i64) -> usize {
        let mut at = 0;
        while let Some(record) = log.get(at..).filter(|rest| rest.len() >= BODY_AT + 8) {
            let size = record.first_chunk().map_or(0, |size| u32::from_be_bytes(*size) as usize);
            if size < BODY_AT || size > record.len() {
                break;
            }
            if record[4..8] == MAGIC {
                let time = record[BODY_AT..].first_chunk().map_or(0, |time| u64::from_be_bytes(*time));
                self.under_way.push_back((place + (at + size) as i64, time));
            }
            at += size;
        }
        at
    }

    fn reported(&mut self, end: i64) {
        let now = nanos();
        while let Some((_, time)) = self.under_way.pop_front_if(|(record, _)| *record <= end) {
            self.lag.saturating_record(now.saturating_sub(time).max(1));
        }
    }
}

const MAGIC: [u8; 4] = 0xDAA3_20A7_u32.to_be_bytes();
/// Where the body begins in a record with IPv4 hosts; its first eight bytes are the time at which it was to be sent.
const BODY_AT: usize = 88;
