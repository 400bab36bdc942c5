//! Masters with a slave, ours and the reference's in turn: how fast a slave catches up, how far it is behind, what a synchronous
//! master adds to the latency of a send, and what a slave costs of the master's memory.

mod readers;
mod relay;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use apogee_remoting::protocol::ha::{ExchangeHAInfoRequestHeader, HARuntimeInfo};
use apogee_remoting::{Command, RequestCode, Serialization, json};
use clap::Args;
use rustix::process::Signal;

use crate::compare::machine::{self, Ballast};
use crate::compare::servers::{Kind, Running, Site};
use crate::log_end::log_end;
use crate::report::{Latency, median, ratio};
use crate::send;
use crate::server_process::ServerProcess;
use crate::wire::Caller;
use readers::Readers;
use relay::Relay;

/// What to compare.
#[derive(Args)]
pub struct Options {
    /// How often each is started and measured.
    #[arg(long, default_value_t = 3)]
    alternations: usize,
    /// One alternation with short times. Only good to see that everything runs.
    #[arg(long)]
    quick: bool,
    /// Which servers, in this order.
    #[arg(long, value_delimiter = ',', default_value = "reference,ours")]
    servers: Vec<Kind>,
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    body: usize,
    /// Messages per second, where latencies are measured.
    #[arg(long, default_value_t = 2000.0)]
    rate: f64,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10.0)]
    duration: f64,
    /// Slaves that the memory of a master is measured with.
    #[arg(long, default_value_t = 16)]
    slaves: usize,
    /// Where the servers' programs are; beside this one by default.
    #[arg(long)]
    bin: Option<PathBuf>,
    /// The script that runs the reference.
    #[arg(long, default_value = "scripts/reference")]
    reference: PathBuf,
    /// Where stores are put; each is removed after its run.
    #[arg(long)]
    work_dir: Option<PathBuf>,
}

/// One life of a master and its slaves.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    catch_up: f64,
    lag: Latency,
    asynchronous: Latency,
    synchronous: Latency,
    memory: f64,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    let site = Site::new(options.bin.clone(), options.reference.clone(), options.work_dir.clone())?;
    let rounds = if options.quick { 1 } else { options.alternations.max(1) };
    let mut figures: Vec<Vec<Figures>> = vec![Vec::new(); options.servers.len()];
    for round in 1..=rounds {
        for (kind, figures) in options.servers.iter().zip(&mut figures) {
            eprintln!("round {round} of {rounds}: {kind}");
            figures.push(options.measure(&site, *kind).with_context(|| format!("{kind}, round {round}"))?);
        }
    }
    println!("\n{} bytes, {} messages/s for latencies, medians of {rounds}:", options.body, options.rate);
    print!("{:<44}", "");
    for kind in &options.servers {
        print!("{kind:>14}");
    }
    println!("{:>14}", "last/first");
    for (name, value) in MEASURES {
        let medians: Vec<f64> = figures.iter().map(|figures| median(figures.iter().map(value))).collect();
        print!("  {name:<42}");
        for median in &medians {
            print!("{median:>14.1}");
        }
        let (first, last) = (medians.first().copied().unwrap_or(0.0), medians.last().copied().unwrap_or(0.0));
        println!("{:>14.3}", ratio(last, first));
    }
    Ok(())
}

impl Options {
    fn measure(&self, site: &Site, kind: Kind) -> Result<Figures> {
        ensure!(matches!(kind, Kind::Reference | Kind::Ours), "{kind} has no slaves");
        let _ballast = if self.quick { None } else { Some(Ballast::take()?) };
        let mut figures = Figures::default();
        {
            let pair = Pair::start(site, kind, "ASYNC_MASTER", None)?;
            figures.asynchronous = self.latency(&pair, kind)?;
            figures.catch_up = self.catch_up(&pair)?;
            figures.memory = self.memory(&pair)?;
            pair.stop()?;
        }
        {
            let pair = Pair::start(site, kind, "SYNC_MASTER", None)?;
            figures.synchronous = self.latency(&pair, kind)?;
            pair.stop()?;
        }
        let pair = Pair::start(site, kind, "ASYNC_MASTER", Some(Relay::start))?;
        self.warm_up(&pair, kind)?;
        let relay = pair.relay.as_ref().context("the pair has a relay")?;
        relay.take_lag();
        send::measure(&send::Options { rate: Some(self.rate), no_create: true, ..self.load(&pair) })?;
        pair.caught_up()?;
        figures.lag = Latency::of(&relay.take_lag()).context("the slave reported nothing")?;
        pair.stop()?;
        Ok(figures)
    }

    /// Latency of sends at the rate.
    fn latency(&self, pair: &Pair, kind: Kind) -> Result<Latency> {
        self.warm_up(pair, kind)?;
        let options = send::Options { rate: Some(self.rate), no_create: true, ..self.load(pair) };
        let report = send::measure(&options)?;
        ensure!(report.failures.is_empty(), "{kind} did not take all messages: {:?}", report.failures);
        report.latency.context("nothing was acknowledged")
    }

    /// Megabytes per second that a slave gets which stood still for a while.
    fn catch_up(&self, pair: &Pair) -> Result<f64> {
        pair.slave.signal(Signal::STOP)?;
        let gib = if self.quick { 0.1 } else { 1.5 };
        send::measure(&send::Options { duration: 15.0, most_gib: gib, no_create: true, ..self.load(pair) })?;
        machine::settle();
        pair.slave.signal(Signal::CONT)?;
        let (from, started) = (log_end(pair.slave.address())?, Instant::now());
        pair.caught_up()?;
        let bytes = log_end(pair.slave.address())? - from;
        Ok(ratio(bytes as f64 / 1e6, started.elapsed().as_secs_f64()))
    }

    /// KiB of the master's own memory that each of many slaves takes.
    fn memory(&self, pair: &Pair) -> Result<f64> {
        let process = ServerProcess(pair.master.pid());
        let load = send::Options { rate: Some(self.rate), no_create: true, ..self.load(pair) };
        send::measure(&load)?;
        let before = process.memory()?.anonymous;
        let readers = Readers::start(pair.master.ha_address(), self.slaves, log_end(pair.master.address())?)?;
        send::measure(&load)?;
        let after = process.memory()?.anonymous;
        readers.stop(log_end(pair.master.address())?)?;
        Ok((after as f64 - before as f64) / 1024.0 / self.slaves.max(1) as f64)
    }

    /// The reference is slow until its code is compiled.
    fn warm_up(&self, pair: &Pair, kind: Kind) -> Result<()> {
        let duration = match (kind, self.quick) {
            (Kind::Reference, false) => 30.0,
            (Kind::Reference, true) => 5.0,
            _ => 3.0,
        };
        // A fraction of what it could take, for the slave is to be warm, too, and not to be behind.
        let rate = Some(self.rate.max(5000.0));
        send::measure(&send::Options { warm_up: 0.0, duration, rate, ..self.load(pair) })?;
        pair.caught_up()
    }

    fn load(&self, pair: &Pair) -> send::Options {
        let duration = if self.quick { 2.0 } else { self.duration };
        send::Options::closed_loop(pair.master.address(), self.body, duration)
    }
}

/// A master and its slave.
struct Pair {
    slave: Running,
    master: Running,
    relay: Option<Relay>,
}

impl Pair {
    /// Starts both and waits until the slave follows; through a relay, if one is to be made.
    fn start(site: &Site, kind: Kind, role: &str, relay: Option<fn(&str) -> Result<Relay>>) -> Result<Self> {
        // What the pair before left is no part of it: gigabytes were just removed.
        machine::settle();
        // The slave stands still for a while and is not to be given up; and what waits for a busy machine is to be late, not
        // refused.
        let shared = "haHousekeepingInterval=600000\ninSyncReplicas=2\nwaitTimeMillsInSendQueue=10000\n";
        let master = Running::start(site, kind, Serialization::Json, &format!("brokerRole={role}\n{shared}"))?;
        let relay = relay.map(|start| start(master.ha_address())).transpose()?;
        let ha_address = relay.as_ref().map_or(master.ha_address(), Relay::address);
        let as_slave = format!("brokerRole=SLAVE\nbrokerId=1\nhaMasterAddress={ha_address}\n{shared}");
        let slave = Running::start(site, kind, Serialization::Json, &as_slave)?;
        // 5.5.0 takes haMasterAddress from its configuration too early, and loses it.
        let header = ExchangeHAInfoRequestHeader {
            master_ha_address: Some(ha_address),
            master_flush_offset: Some(0),
            master_address: Some(master.address()),
        };
        Caller::connect(slave.address())?
            .call(&Command::request(RequestCode::EXCHANGE_BROKER_HA_INFO).with_header(&header))?;
        let pair = Self { slave, master, relay };
        wait("the slave does not connect to its master", || pair.follows())?;
        Ok(pair)
    }

    /// Whether the master knows of its slave.
    fn follows(&self) -> Result<bool> {
        let status = Command::request(RequestCode::GET_BROKER_HA_STATUS);
        let answer = Caller::connect(self.master.address())?.call(&status)?;
        let info: HARuntimeInfo = json::from_slice(&answer.body.bytes())?;
        Ok(!info.ha_connection_info.is_empty())
    }

    /// Ends when the slave has all that the master has.
    fn caught_up(&self) -> Result<()> {
        let end = log_end(self.master.address())?;
        wait(&format!("the slave does not come to {end}"), || Ok(log_end(self.slave.address())? >= end))
    }

    fn stop(self) -> Result<()> {
        self.slave.stop()?;
        self.master.stop()
    }
}

fn wait(failure: &str, is_true: impl Fn() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !is_true()? {
        ensure!(Instant::now() < deadline, "{failure}");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

type Measure = (&'static str, fn(&Figures) -> f64);

const MEASURES: &[Measure] = &[
    ("a slave catches up, MB/s", |f| f.catch_up),
    ("from send until the slave has it, p50 µs", |f| f.lag.p50),
    ("from send until the slave has it, p99 µs", |f| f.lag.p99),
    ("latency at an ASYNC_MASTER, p50 µs", |f| f.asynchronous.p50),
    ("latency at an ASYNC_MASTER, p99 µs", |f| f.asynchronous.p99),
    ("latency at a SYNC_MASTER, p50 µs", |f| f.synchronous.p50),
    ("latency at a SYNC_MASTER, p99 µs", |f| f.synchronous.p99),
    ("added by SYNC_MASTER, p50 µs", |f| f.synchronous.p50 - f.asynchronous.p50),
    ("added by SYNC_MASTER, p99 µs", |f| f.synchronous.p99 - f.asynchronous.p99),
    ("the master's memory for a slave, KiB", |f| f.memory),
];

const PATIENCE: Duration = Duration::from_mins(2);
