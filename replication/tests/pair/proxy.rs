//! A network between master and slave that delays, cuts and half-closes, as a seed says.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apogee_replication::slave::Fit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::pair::{Following, Node, Serving, assert_same, caught_up, urgent};

/// Forwards connections, and does something bad to each of the first `bad` ones.
pub struct Proxy {
    pub address: String,
    /// Taken so far.
    pub connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub async fn start(target: String, seed: u64, bad: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            loop {
                let (slave, _) = listener.accept().await.unwrap();
                let number = count.fetch_add(1, Ordering::Relaxed);
                let master = TcpStream::connect(&target).await.unwrap();
                let fate = if number < bad { Fate::of(seed, number as u64) } else { Fate::Good };
                tokio::spawn(forward(slave, master, fate));
            }
        });
        Self { address, connections, task }
    }
}

/// What becomes of a connection after so many bytes from the master.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Good,
    /// Both directions end at once.
    Cut(usize),
    /// What the master sends no longer arrives, and neither side is told.
    Hang(usize),
    /// The slave is told that the master sends nothing more.
    HalfClose(usize),
    /// Every few bytes there is a pause, and then both directions end.
    Delay(usize),
}

impl Fate {
    fn of(seed: u64, number: u64) -> Self {
        // any spread of numbers does
        let chance = (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 17;
        let bytes = 1 + (chance / 4 % 60_000) as usize;
        match chance % 4 {
            0 => Self::Cut(bytes),
            1 => Self::Hang(bytes),
            2 => Self::HalfClose(bytes),
            _ => Self::Delay(bytes),
        }
    }
}

async fn forward(slave: TcpStream, master: TcpStream, fate: Fate) {
    let (from_slave, to_slave) = slave.into_split();
    let (from_master, to_master) = master.into_split();
    let up = tokio::spawn(copy(from_slave, to_master, Fate::Good));
    let ended = copy(from_master, to_slave, fate).await;
    if let Fate::Cut(_) | Fate::Delay(_) | Fate::Good = fate {
        up.abort();
    }
    drop(ended);
    // Otherwise what the slave says still arrives, until it gives up.
    let _ = up.await;
}

/// Copies until the end or the fate; what it gives keeps the connection from being closed.
async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    fate: Fate,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let mut left = match fate {
        Fate::Good => usize::MAX,
        Fate::Cut(bytes) | Fate::Hang(bytes) | Fate::HalfClose(bytes) | Fate::Delay(bytes) => bytes,
    };
    let mut buffer = [0; 999];
    while left > 0 {
        let length = buffer.len().min(left);
        let read = from.read(&mut buffer[..length]).await?;
        if read == 0 {
            break;
        }
        to.write_all(&buffer[..read]).await?;
        left -= read;
        if let Fate::Delay(_) = fate {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
    match fate {
        Fate::HalfClose(_) => to.shutdown().await?,
        // Until the slave gives up.
        Fate::Hang(_) => std::future::pending().await,
        _ => {}
    }
    Ok((from, to))
}

/// Connections that something happens to.
const BAD: usize = 6;

/// The slave has everything in the end, whatever the network does.
async fn survives(seed: u64) {
    let (master, slave) = (Node::new(), Node::new());
    let serving = Serving::with(&master, urgent()).await;
    let proxy = Proxy::start(serving.address.clone(), seed, BAD).await;
    let following = Following::start(&slave, &proxy.address, Fit::Proved);
    while proxy.connections.load(Ordering::Relaxed) <= BAD {
        master.append(20);
        let end = master.store.max_physical_offset();
        let _ = tokio::time::timeout(Duration::from_millis(20), serving.master.acknowledged(end, 1)).await;
        let reached = serving.master.slaves().list().iter().map(|slave| slave.acknowledged()).max().unwrap_or(0);
        assert!(reached <= slave.store.max_physical_offset(), "seed {seed}: what is acknowledged is there");
    }
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    following.stop().await;
    proxy.task.abort();
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_network_does_nothing_is_lost() {
    let seed = std::env::var("SEED").map_or_else(|_| u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("SEED={seed} repeats this");
    survives(seed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_network_again() {
    survives(7).await;
}
