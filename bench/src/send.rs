//! Sends: closed and open loop.

use std::sync::Arc;

use anyhow::{Result, ensure};
use apogee_remoting::Serialization;
use clap::Args;

use crate::generate::{self, Course, Lane, MessageShape, Pace, Template};
use crate::report::Report;
use crate::server_process::ServerProcess;
use crate::topic;
use crate::wire::parse_serialization;

/// The load.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Broker, host:port.
    #[arg(long)]
    pub broker: String,
    /// Process to measure.
    #[arg(long)]
    pub server_pid: Option<u32>,
    /// Connections in all.
    #[arg(long, default_value_t = 8)]
    pub connections: usize,
    /// Requests in flight on each connection, in a closed loop.
    #[arg(long, default_value_t = 64)]
    pub in_flight: usize,
    /// Messages per second in all: makes it an open loop.
    #[arg(long)]
    pub rate: Option<f64>,
    /// Threads of the generator.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Bytes of each body, at least 8.
    #[arg(long, default_value_t = 1024)]
    pub body: usize,
    /// Messages in each request.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// Topic, or the beginning of their names when there are several.
    #[arg(long, default_value = "apogee-bench")]
    pub topic: String,
    /// Topics.
    #[arg(long, default_value_t = 1)]
    pub topics: usize,
    /// Queues of each topic.
    #[arg(long, default_value_t = 8)]
    pub queues: i32,
    /// Give each message a key beside its unique id.
    #[arg(long)]
    pub keys: bool,
    /// A property of every message, as NAME=VALUE (TAGS, DELAY and others); several times for several of them. The value #
    /// is the place of a message in its batch, from 0 on.
    #[arg(long = "property", value_parser = parse_property)]
    pub properties: Vec<(String, String)>,
    /// How headers are written: json or rocketmq.
    #[arg(long, default_value = "json", value_parser = parse_serialization)]
    pub serialization: Serialization,
    /// Seconds before the measurement begins.
    #[arg(long, default_value_t = 3.0)]
    pub warm_up: f64,
    /// Seconds to measure.
    #[arg(long, default_value_t = 10.0)]
    pub duration: f64,
    /// End early when so many GiB of requests were sent.
    #[arg(long, default_value_t = 8.0)]
    pub most_gib: f64,
    /// The topics exist: do not create them.
    #[arg(long)]
    pub no_create: bool,
    /// Print one line of JSON.
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Single messages, as many as the broker can take over eight connections: what the others vary.
    pub fn closed_loop(broker: &str, body: usize, duration: f64) -> Self {
        Self {
            broker: broker.to_owned(),
            server_pid: None,
            connections: 8,
            in_flight: 64,
            rate: None,
            threads: 1,
            body,
            batch: 1,
            topic: "apogee-bench".to_owned(),
            topics: 1,
            queues: 8,
            keys: false,
            properties: Vec::new(),
            serialization: Serialization::Json,
            warm_up: 1.0,
            duration,
            // Keeps a store below 12 GB.
            most_gib: 3.5,
            no_create: false,
            json: false,
        }
    }
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    measure(options)?.print(options.json)
}

/// Measures.
pub fn measure(options: &Options) -> Result<Report> {
    ensure!(options.body >= 8, "a body has at least 8 bytes");
    ensure!(options.queues > 0 && options.topics > 0 && options.batch > 0, "there is nothing to send");
    if !options.no_create {
        topic::create(&options.broker, &topic::names(&options.topic, options.topics), options.queues)?;
    }
    let course = Course::new(options.warm_up, options.duration, options.most_bytes());
    let lanes = options.lanes(&course)?;
    let (outcome, watched) = generate::run(lanes, || course.watch(options.server_pid.map(ServerProcess)))?;
    let bytes = outcome.messages * options.body as u64;
    let report = watched.report(options.describe(), outcome.messages, bytes, &outcome.latency);
    Ok(Report { failures: outcome.failures, ..report })
}

impl Options {
    /// The requests of this load, one for each queue.
    pub fn templates(&self) -> Arc<[Template]> {
        let shape = MessageShape {
            body: self.body,
            batch: self.batch,
            keys: self.keys,
            properties: self.properties.clone(),
            serialization: self.serialization,
        };
        let queues = (0..self.queues)
            .flat_map(|queue| topic::names(&self.topic, self.topics).into_iter().map(move |topic| (topic, queue)));
        queues.map(|(topic, queue)| Template::new(&topic, queue, &shape)).collect()
    }

    /// The threads of this load, connected.
    pub fn lanes(&self, course: &Arc<Course>) -> Result<Vec<Lane>> {
        let templates = self.templates();
        let threads = self.threads.clamp(1, self.connections.max(1));
        let pace = match self.rate {
            Some(rate) => Pace::Open(1e9 * (self.batch * threads) as f64 / rate),
            None => Pace::Closed(self.in_flight),
        };
        let lane = |number: usize| {
            let connections = self.connections / threads + usize::from(number < self.connections % threads);
            let target = (self.broker.as_str(), connections);
            Lane::new(number, target, Arc::clone(&templates), self.batch, pace, Arc::clone(course))
        };
        (0..threads).map(lane).collect()
    }

    /// Most bytes of requests.
    pub fn most_bytes(&self) -> u64 {
        (self.most_gib * f64::from(1 << 30)) as u64
    }

    fn describe(&self) -> String {
        let pace = match self.rate {
            Some(rate) => format!("open loop at {rate:.0} messages/s over {} connections", self.connections),
            None => format!("closed loop, {} connections x {} in flight", self.connections, self.in_flight),
        };
        let Self { batch, body, topics, queues, serialization, .. } = self;
        format!("send {batch} x {body} bytes, {pace}, {topics} topics x {queues} queues, {serialization:?}")
    }
}

fn parse_property(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is expected")?;
    Ok((name.to_owned(), value.to_owned()))
}
