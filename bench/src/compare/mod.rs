//! Ours, the reference, the echo server and bare system calls in turn, under the same load.

pub mod bare;
mod experiment;
pub mod machine;
pub mod results;
pub mod servers;

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result};
use apogee_remoting::Serialization;
use clap::Args;

use crate::{connections, delay, proof, pull, routes, send, tail, topic, transaction};
use experiment::Experiment;
use machine::Ballast;
use results::Results;
use servers::{Kind, Running, Site};

/// What to compare.
#[derive(Args)]
pub struct Options {
    /// How often each server is started and measured.
    #[arg(long, default_value_t = 5)]
    alternations: usize,
    /// About two minutes: one alternation with short times. Only good to see that everything runs.
    #[arg(long)]
    quick: bool,
    /// What to measure.
    #[arg(long, value_delimiter = ',', default_value = "sends")]
    experiments: Vec<Experiment>,
    /// Which servers, in this order; half of the first one's maximum is the rate of the open loop.
    #[arg(long, value_delimiter = ',', default_value = "reference,ours,echo,journal,bare")]
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
    /// Seconds of full load before the reference is measured: more where its code is not compiled by then.
    #[arg(long, default_value_t = 30.0)]
    warm_up: f64,
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
    // A quick run may have company, which needs memory, too.
    let ballast = if options.quick { None } else { Some(Rc::new(Ballast::take()?)) };
    for serialization in options.serializations() {
        let lab = options.lab(site.clone(), serialization, ballast.clone());
        let mut results = Results::default();
        for round in 1..=options.alternations() {
            for experiment in &options.experiments {
                for kind in kinds {
                    eprintln!(
                        "{serialization:?} headers, round {round} of {}: {experiment:?}, {kind}",
                        options.alternations()
                    );
                    let run = experiment.run(&lab, *kind, &mut results);
                    run.with_context(|| format!("{experiment:?}, {kind}, round {round}"))?;
                }
            }
        }
        println!("\n{serialization:?} headers, {} bytes, medians of {}:", options.body, options.alternations());
        print!("{}", results.table());
    }
    Ok(())
}

impl Options {
    fn lab(&self, site: Site, serialization: Serialization, ballast: Option<Rc<Ballast>>) -> Lab {
        Lab {
            site,
            ballast,
            serialization,
            body: self.body,
            seconds: if self.quick { 4.0 } else { self.duration },
            reference_warm_up: if self.quick { 10.0 } else { self.warm_up },
            bytes: if self.quick { 256 << 20 } else { 4 << 30 },
            quick: self.quick,
            json: self.json,
        }
    }

    fn serializations(&self) -> Vec<Serialization> {
        self.serialization.map_or(vec![Serialization::Json, Serialization::RocketMq], |one| vec![one])
    }

    fn alternations(&self) -> usize {
        if self.quick { 1 } else { self.alternations.max(1) }
    }
}

/// What all experiments of a run have in common.
struct Lab {
    site: Site,
    /// Memory in use, which servers are given as they need it.
    ballast: Option<Rc<Ballast>>,
    serialization: Serialization,
    body: usize,
    /// Of each measurement.
    seconds: f64,
    /// Before each measurement of the reference.
    reference_warm_up: f64,
    /// Of a large store.
    bytes: u64,
    quick: bool,
    json: bool,
}

impl Lab {
    /// The load that experiments vary: single messages, as many as the server can take.
    fn load(&self, server: &Running) -> send::Options {
        send::Options {
            server_pid: Some(server.pid()),
            serialization: self.serialization,
            ..send::Options::closed_loop(server.address(), self.body, self.seconds)
        }
    }

    /// The same as an open loop with so many messages per second, of the broker at `address`.
    fn load_at(&self, address: &str, rate: f64) -> send::Options {
        send::Options { rate: Some(rate), ..send::Options::closed_loop(address, self.body, self.seconds) }
    }

    /// The reference is slow until its code is compiled.
    fn warm_up(&self, kind: Kind) -> f64 {
        if kind == Kind::Reference { self.reference_warm_up } else { 3.0 }
    }

    /// A number of clients or topics.
    fn many(&self, count: usize) -> usize {
        if self.quick { count / 20 } else { count }
    }
}
