//! Ours, the reference and the echo server in turn, under the same load.

mod machine;
mod servers;
mod table;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use apogee_remoting::Serialization;
use clap::Args;

use crate::report::Report;
use crate::send;
use machine::Ballast;
use servers::{Kind, Running, Site};
use table::Results;

/// What to compare.
#[derive(Args)]
pub struct Options {
    /// How often each server is started and measured.
    #[arg(long, default_value_t = 5)]
    alternations: usize,
    /// About two minutes: one alternation with short times. Only good to see that everything runs.
    #[arg(long)]
    quick: bool,
    /// Also measure one request in flight, and 2,000 messages per second.
    #[arg(long)]
    all: bool,
    /// Which servers, in this order; half of the first one's maximum is the rate of the open loop.
    #[arg(long, value_delimiter = ',', default_value = "reference,ours,echo")]
    servers: Vec<Kind>,
    /// Only with these headers: json or rocketmq; both by default.
    #[arg(long, value_parser = crate::wire::parse_serialization)]
    serialization: Option<Serialization>,
    /// Bytes of each body.
    #[arg(long, default_value_t = 1024)]
    body: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 10.0)]
    duration: f64,
    /// Where the servers' programs are; beside this one by default.
    #[arg(long)]
    bin: Option<PathBuf>,
    /// The script that runs the reference.
    #[arg(long, default_value = "scripts/reference")]
    reference: PathBuf,
    /// Where stores are put; each is removed after its run.
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// Print each measurement as one line of JSON, too.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    let site = Site::new(options.bin.clone(), options.reference.clone(), options.work_dir.clone())?;
    let kinds = &options.servers;
    for serialization in options.serializations() {
        let mut results = Results::default();
        for round in 1..=options.alternations() {
            for kind in kinds {
                eprintln!("{serialization:?} headers, round {round} of {}: {kind}", options.alternations());
                options.measure(&site, *kind, serialization, &mut results)?;
            }
        }
        println!("\n{serialization:?} headers, {} bytes, medians of {}:", options.body, options.alternations());
        print!("{}", results.table(kinds));
    }
    Ok(())
}

impl Options {
    /// One life of a server: start, warm-up, all loads.
    fn measure(&self, site: &Site, kind: Kind, serialization: Serialization, results: &mut Results) -> Result<()> {
        machine::settle();
        let _ballast = Ballast::take()?;
        let server = Running::start(site, kind, serialization)?;
        let base = self.load(&server, serialization);
        send::measure(&send::Options { warm_up: 0.0, duration: self.warm_up(kind), ..base.clone() })?;
        for load in self.loads() {
            let mut options = send::Options { no_create: true, ..base.clone() };
            match load {
                Load::Closed => {}
                Load::RoundTrip => (options.connections, options.in_flight) = (1, 1),
                Load::Rate(rate) => options.rate = Some(rate),
                // The first server's maximum in the first round is the measure for all.
                Load::Half => options.rate = Some((results.first_rate() / 2.0).max(1.0)),
            }
            machine::settle();
            let report = send::measure(&options)?;
            ensure!(report.messages > 0, "{kind} acknowledged nothing: {report:?}");
            self.tell(kind, &report)?;
            results.add(load.name(), kind, report);
        }
        server.stop()
    }

    fn load(&self, server: &Running, serialization: Serialization) -> send::Options {
        send::Options {
            broker: server.address().to_owned(),
            server_pid: Some(server.pid()),
            connections: 8,
            in_flight: 64,
            rate: None,
            threads: 1,
            body: self.body,
            batch: 1,
            topic: "apogee-bench".to_owned(),
            topics: 1,
            queues: 8,
            keys: false,
            tag: None,
            serialization,
            warm_up: 1.0,
            duration: if self.quick { 4.0 } else { self.duration },
            most_gib: MOST_GIB,
            no_create: false,
            json: false,
        }
    }

    fn tell(&self, kind: Kind, report: &Report) -> Result<()> {
        if self.json {
            println!("{{\"server\":\"{kind}\",\"report\":{}}}", serde_json::to_string(report)?);
        }
        Ok(())
    }

    fn loads(&self) -> Vec<Load> {
        let mut loads = vec![Load::Closed, Load::Half];
        if self.all {
            loads.extend([Load::RoundTrip, Load::Rate(2000.0)]);
        }
        loads
    }

    fn serializations(&self) -> Vec<Serialization> {
        self.serialization.map_or(vec![Serialization::Json, Serialization::RocketMq], |one| vec![one])
    }

    fn alternations(&self) -> usize {
        if self.quick { 1 } else { self.alternations.max(1) }
    }

    /// The reference is slow until its code is compiled.
    fn warm_up(&self, kind: Kind) -> f64 {
        match (kind, self.quick) {
            (Kind::Reference, false) => 30.0,
            (Kind::Reference, true) => 10.0,
            _ => 3.0,
        }
    }
}

#[derive(Clone, Copy)]
enum Load {
    /// Eight connections with 64 requests in flight on each.
    Closed,
    /// Open loop at half of the reference's maximum.
    Half,
    /// One request in flight.
    RoundTrip,
    /// Open loop.
    Rate(f64),
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed loop, 8 x 64 in flight",
            Self::Half => "open loop at half of the first server's maximum",
            Self::RoundTrip => "one in flight",
            Self::Rate(_) => "open loop at 2,000 messages/s",
        }
    }
}

/// Of requests in one measurement: keeps a store below 12 GB.
const MOST_GIB: f64 = 3.5;
