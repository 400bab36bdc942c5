//! What is measured, each with servers of its own.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::ValueEnum;

mod disturbances;
mod growth;
mod name_server;

use super::bare;
use super::machine::{self, Hoard};
use super::results::{Measurement, Results};
use super::servers::{Kind, Running};
use super::{Lab, connections, delay, proof, pull, send, tail, topic, transaction};
use crate::report::{Latency, Report, Usage, histogram};
use crate::server_process::ServerProcess;
use crate::store::{self, RECORD};
use crate::wire::Caller;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Experiment {
    /// Single messages: as many as it can, and at half of the first server's maximum.
    Sends,
    /// Single messages: one in flight, and 2,000 a second.
    Calm,
    /// Batches of 32.
    Batches,
    /// Synchronous flush.
    Flush,
    /// Synchronous flush of our store alone, without a network.
    StoreFlush,
    /// Pulls of a store in the page cache.
    Pull,
    /// Long polls beside production.
    Tail,
    /// Delayed messages: how late they are, and what delivering them costs.
    Delays,
    /// Half messages that are committed.
    Transactions,
    /// Pulls of a store in the page cache with an SQL-92 expression.
    Filters,
    /// A thousand topics.
    Topics,
    /// Starts, empty and with a store.
    Starts,
    /// Memory, empty, with clients and with queues.
    Memory,
    /// Route queries at a name server while brokers register.
    NameServer,
    /// Sends at 20,000 a second while readers or full files are in the way.
    Disturbances,
    /// What ours costs with more queues, connections, bytes, files and topics.
    Growth,
}

impl Experiment {
    /// Measures one kind of server; nothing where it has no meaning.
    pub fn run(self, lab: &Lab, kind: Kind, results: &mut Results) -> Result<()> {
        if !self.kinds().contains(&kind) {
            return Ok(());
        }
        machine::settle();
        let mut bench = Bench { lab, kind, results };
        if kind == Kind::Bare {
            return self.bare(&mut bench);
        }
        if let Some(ballast) = &lab.ballast {
            ballast.refill()?;
        }
        match self {
            Self::Sends => sends(&mut bench),
            Self::Calm => calm(&mut bench),
            Self::Batches => batches(&mut bench),
            Self::Flush => flush(&mut bench),
            Self::StoreFlush => store_flush(&mut bench),
            Self::Pull => pulls(&mut bench),
            Self::Tail => tails(&mut bench),
            Self::Delays => delays(&mut bench),
            Self::Transactions => transactions(&mut bench),
            Self::Filters => filters(&mut bench),
            Self::Topics => topics(&mut bench),
            Self::Starts => starts(&mut bench),
            Self::Memory => memory(&mut bench),
            Self::NameServer => name_server::queries(&mut bench),
            Self::Disturbances => disturbances::all(&mut bench),
            Self::Growth => growth::all(&mut bench),
        }
    }

    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Sends | Self::Calm | Self::NameServer => &[Kind::Reference, Kind::Ours, Kind::Echo],
            Self::Growth => &[Kind::Ours],
            Self::Flush => &[Kind::Reference, Kind::Ours, Kind::Journal, Kind::Bare],
            Self::StoreFlush => &[Kind::Ours, Kind::Bare],
            Self::Batches | Self::Pull => &[Kind::Reference, Kind::Ours, Kind::Bare],
            Self::Tail
            | Self::Delays
            | Self::Transactions
            | Self::Filters
            | Self::Topics
            | Self::Starts
            | Self::Disturbances
            | Self::Memory => &[Kind::Reference, Kind::Ours],
        }
    }

    /// The same work as system calls.
    fn bare(self, bench: &mut Bench) -> Result<()> {
        let (lab, dir) = (bench.lab, bench.lab.site.work_dir());
        let record = lab.body + RECORD;
        match self {
            Self::Batches => bench.add(BATCHES, bare::append(lab.body, lab.seconds)?),
            Self::Flush => {
                bench.add(FLUSH_MANY, bare::flush(dir, SENDERS, record, lab.seconds)?)?;
                bench.add(FLUSH_ONE, bare::flush(dir, 1, record, lab.seconds)?)
            }
            Self::StoreFlush => {
                bench.add(STORE_MANY, bare::flush(dir, SENDERS, record, lab.seconds)?)?;
                bench.add(STORE_ONE, bare::flush(dir, 1, record, lab.seconds)?)
            }
            Self::Pull => bench.add(PULL, bare::transfer(dir, lab.bytes / 2, 32 * record, record)?),
            _ => Ok(()),
        }
    }
}

/// One server's turn.
struct Bench<'a> {
    lab: &'a Lab,
    kind: Kind,
    results: &'a mut Results,
}

impl Bench<'_> {
    fn start(&self, settings: &str) -> Result<Running> {
        Running::start(&self.lab.site, self.kind, self.lab.serialization, settings)
    }

    /// Full load until the server is warm; the load that follows finds its topic.
    fn warm(&self, server: &Running) -> Result<send::Options> {
        let load = self.lab.load(server);
        send::measure(&send::Options { warm_up: 0.0, duration: self.lab.warm_up(self.kind), ..load.clone() })?;
        Ok(send::Options { no_create: true, ..load })
    }

    /// What is free now, where the machine is ours alone.
    fn hoard(&self) -> Result<Option<Hoard>> {
        if self.lab.quick { Ok(None) } else { Hoard::of_free().map(Some) }
    }

    fn send(&mut self, load: &str, options: &send::Options) -> Result<()> {
        self.send_of(load, None, options)
    }

    fn send_of(&mut self, load: &str, of: Option<u64>, options: &send::Options) -> Result<()> {
        machine::settle();
        self.add_of(load, of, send::measure(options)?)
    }

    fn add(&mut self, load: &str, report: Report) -> Result<()> {
        self.add_of(load, None, report)
    }

    /// Adds what was measured with so many of something.
    fn add_of(&mut self, load: &str, of: Option<u64>, report: Report) -> Result<()> {
        ensure!(report.messages > 0, "{load} came to nothing: {report:?}");
        let measurement = Measurement {
            headers: self.lab.serialization.name().to_owned(),
            body: self.lab.body,
            server: self.kind,
            load: load.to_owned(),
            of,
            report,
        };
        if self.lab.json {
            println!("{}", serde_json::to_string(&measurement)?);
        }
        self.results.add(measurement);
        Ok(())
    }
}

fn sends(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    bench.send(CLOSED, &load)?;
    // The first server's maximum in the first round is the measure for all.
    let rate = (bench.results.first_rate(CLOSED) / 2.0).max(1.0);
    bench.send("open loop at half of the first server's maximum", &send::Options { rate: Some(rate), ..load })?;
    server.stop()
}

fn calm(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    bench.send("one in flight", &send::Options { connections: 1, in_flight: 1, ..load.clone() })?;
    bench.send("open loop at 2,000 messages/s", &send::Options { rate: Some(2000.0), ..load })?;
    server.stop()
}

fn batches(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    bench.send(BATCHES, &send::Options { batch: 32, in_flight: 4, ..load })?;
    server.stop()
}

fn flush(bench: &mut Bench) -> Result<()> {
    let server = bench.start("flushDiskType=SYNC_FLUSH\n")?;
    let load = bench.warm(&server)?;
    bench.send(FLUSH_MANY, &send::Options { in_flight: SENDERS / 8, ..load.clone() })?;
    bench.send(FLUSH_ONE, &send::Options { connections: 1, in_flight: 1, ..load })?;
    server.stop()
}

fn store_flush(bench: &mut Bench) -> Result<()> {
    for (load, senders) in [(STORE_MANY, SENDERS), (STORE_ONE, 1)] {
        let lab = bench.lab;
        bench.add(load, store::flush(lab.site.work_dir(), senders, lab.body, lab.seconds)?)?;
    }
    Ok(())
}

fn pulls(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    bench.warm(&server)?;
    let load = fill(&bench.lab.load(&server), bench.lab.bytes / 2)?;
    machine::settle();
    let options = pull_all(&load);
    // Once to warm the paths of the reference.
    pull::measure(&options)?;
    bench.add(PULL, pull::measure(&options)?)?;
    server.stop()
}

fn filters(bench: &mut Bench) -> Result<()> {
    let server = bench.start("enablePropertyFilter=true\n")?;
    bench.warm(&server)?;
    let properties = [("region", "north"), ("price", "17.50"), ("number", "#")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let load = send::Options { topic: "apogee-filter".into(), properties, ..bench.lab.load(&server) };
    // The reference takes a minute for so many.
    let load = fill(&load, bench.lab.bytes / 8)?;
    machine::settle();
    for (name, expression) in [(FILTER_FEW, ACCEPTS_ONE_IN_32), (FILTER_HALF, ACCEPTS_HALF)] {
        let options = pull::Options { sql: Some(expression.into()), ..pull_all(&load) };
        for _ in 0..if bench.kind == Kind::Reference { 3 } else { 1 } {
            pull::measure(&options)?;
        }
        bench.add(name, pull::measure(&options)?)?;
    }
    server.stop()
}

fn transactions(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    let warm_up = send::Options { warm_up: 0.0, duration: bench.lab.warm_up(bench.kind), ..load.clone() };
    transaction::measure(&warm_up)?;
    machine::settle();
    let _ballast = bench.hoard()?.map(Hoard::give);
    bench.add("transactions, 8 x 64 in flight", transaction::measure(&load)?)?;
    server.stop()
}

fn delays(bench: &mut Bench) -> Result<()> {
    let server = bench.start("messageDelayLevel=5s 20s\n")?;
    let load = bench.warm(&server)?;
    let topic = "apogee-delay".to_owned();
    topic::create(&load.broker, std::slice::from_ref(&topic), load.queues)?;
    let load = send::Options { topic, warm_up: 0.0, ..load };
    // About 100,000 messages.
    let many = send::Options { most_gib: 1e5 * (load.body + 300) as f64 / GIB, ..load.clone() };
    let cost = |bench: &Bench| {
        let waiting = delay::Waiting::send(&many, 2, Duration::from_secs(20))?;
        machine::settle();
        let hoard = bench.hoard()?;
        waiting.wait()?;
        // Not before: what is free for some seconds is no longer in use.
        let _ballast = hoard.map(Hoard::give);
        waiting.delivered()
    };
    cost(bench)?;
    let delivered = cost(bench)?;
    bench.add("delayed messages delivered", delivered)?;
    let properties = vec![("DELAY".into(), "1".into())];
    let second = send::Options { rate: Some(10_000.0), duration: 1.0, properties, ..load };
    let late = tail::Options { send: second, pullers: 1, delay: 5.0 };
    tail::measure(&late)?;
    let report = tail::measure(&late)?;
    bench.add("lateness of 10,000 messages due in one second", Report { server: None, ..report })?;
    server.stop()
}

/// All of a load, from two connections.
fn pull_all(load: &send::Options) -> pull::Options {
    pull::Options {
        broker: load.broker.clone(),
        server_pid: load.server_pid,
        topic: load.topic.clone(),
        topics: 1,
        queues: load.queues,
        connections: 2,
        most: 32,
        filter: "*".into(),
        sql: None,
        duration: 60.0,
        json: false,
    }
}

fn tails(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    machine::settle();
    let options = tail::Options { send: send::Options { rate: Some(5000.0), ..load }, pullers: 1, delay: 0.0 };
    bench.add("end to end at 5,000 messages/s", tail::measure(&options)?)?;
    server.stop()
}

fn topics(bench: &mut Bench) -> Result<()> {
    let (server, count) = (bench.start("")?, bench.lab.many(1000));
    let load = bench.warm(&server)?;
    let load = send::Options { topic: "apogee-many".into(), topics: count, ..load };
    let begun = Instant::now();
    topic::create(&load.broker, &topic::names(&load.topic, count), load.queues)?;
    let report = Report::new("creating topics".into(), begun.elapsed().as_secs_f64(), count as u64, 0);
    bench.add("topics created one by one", report)?;
    bench.send("closed loop over all of them", &load)?;
    server.stop()
}

fn starts(bench: &mut Bench) -> Result<()> {
    let mut server = bench.start("")?;
    server.end_broker()?;
    server.remove_store()?;
    bench.add("start, empty", first_send(&mut server)?)?;
    fill(&bench.lab.load(&server), bench.lab.bytes)?;
    server.end_broker()?;
    machine::settle();
    bench.add("start with a store, after a clean end", first_send(&mut server)?)?;
    server.kill_broker();
    machine::settle();
    bench.add("start with a store, after kill -9", first_send(&mut server)?)?;
    server.stop()
}

fn memory(bench: &mut Bench) -> Result<()> {
    let mut server = bench.start("")?;
    bench.add("memory, empty", resident(&server)?)?;
    let outcome = connections::measure(&clients(&server, bench.lab.many(2000)))?;
    bench.add("2,000 clients and groups", of_clients(&outcome))?;
    let load = send::Options { topic: "apogee-many".into(), topics: bench.lab.many(1250), ..bench.lab.load(&server) };
    send::measure(&load)?;
    server.end_broker()?;
    first_send(&mut server)?;
    bench.add("memory, 10,000 queues, after a start", resident(&server)?)?;
    server.stop()
}

/// So many clients in as many groups.
fn clients(server: &Running, clients: usize) -> connections::Options {
    connections::Options {
        broker: server.address().to_owned(),
        server_pid: Some(server.pid()),
        clients,
        groups: None,
        topic: "apogee-clients".into(),
        hold: 2.0,
        json: false,
    }
}

/// The latency is that of first heartbeats, the memory that with all clients connected.
fn of_clients(outcome: &connections::Outcome) -> Report {
    let connections::Outcome { clients, seconds, heartbeat, memory_after, server, .. } = *outcome;
    let server = server.map(|usage| Usage { memory: memory_after.unwrap_or_default(), ..usage });
    Report { latency: heartbeat, server, ..Report::new("first heartbeats".into(), seconds, clients as u64, 0) }
}

/// Sends so many bytes in batches; gives the load.
fn fill(load: &send::Options, bytes: u64) -> Result<send::Options> {
    let most_gib = bytes as f64 / GIB;
    let load = send::Options { batch: 32, in_flight: 4, warm_up: 0.0, duration: 300.0, most_gib, ..load.clone() };
    send::measure(&load)?;
    Ok(load)
}

/// Starts the broker; the latency is the time from there until it has accepted a message.
fn first_send(server: &mut Running) -> Result<Report> {
    let begun = Instant::now();
    server.begin_broker()?;
    let attempt = || proof::send(&mut Caller::connect(server.address())?, "apogee-start", "first");
    while let Err(error) = attempt() {
        ensure!(begun.elapsed() < PATIENCE, "no message accepted: {error}");
        thread::sleep(Duration::from_millis(1));
    }
    let mut latency = histogram();
    latency.saturating_record(begun.elapsed().as_nanos() as u64);
    let report = Report::new("start".into(), begun.elapsed().as_secs_f64(), 1, 0);
    Ok(Report { latency: Latency::of(&latency), ..report })
}

fn resident(server: &Running) -> Result<Report> {
    let memory = ServerProcess(server.pid()).memory()?;
    Ok(Report { messages: 1, server: Some(Usage { memory, ..Usage::default() }), ..Report::default() })
}

const GIB: f64 = (1 << 30) as f64;
const SENDERS: usize = 64;
const PATIENCE: Duration = Duration::from_mins(2);

const CLOSED: &str = "closed loop, 8 x 64 in flight";
const BATCHES: &str = "batches of 32, 8 x 4 in flight";
const FLUSH_MANY: &str = "synchronous flush, 64 in flight";
const FLUSH_ONE: &str = "synchronous flush, one in flight";
const STORE_MANY: &str = "store alone with synchronous flush, 64 in flight";
const STORE_ONE: &str = "store alone with synchronous flush, one in flight";
const FILTER_FEW: &str = "pull with an SQL-92 filter that accepts one in 32";
const FILTER_HALF: &str = "pull with an SQL-92 filter that accepts half";
/// Of messages that carry their place in a batch of 32.
const ACCEPTS_ONE_IN_32: &str =
    "region IN ('south', 'north') AND price BETWEEN 10 AND 20 AND number = 7 AND TAGS IS NULL";
const ACCEPTS_HALF: &str = "region IN ('south', 'north') AND price BETWEEN 10 AND 20 AND number < 16 AND TAGS IS NULL";
const PULL: &str = "pull from 0, in the page cache";
