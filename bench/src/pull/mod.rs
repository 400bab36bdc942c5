//! Pulls queues from their beginning.

mod puller;

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use apogee_remoting::ResponseCode;
use apogee_remoting::protocol::subscription::SubscriptionData;
use clap::Args;
use hdrhistogram::Histogram;

pub use puller::{Filter, GROUP, PullShape, Puller};

use crate::clock::{nanos, wall_millis};
use crate::connections::heartbeat;
use crate::generate::{Course, beside};
use crate::report::{Report, histogram};
use crate::server_process::ServerProcess;
use crate::topic;
use crate::wire::Caller;

/// The load.
#[derive(Args)]
pub struct Options {
    /// Broker, host:port.
    #[arg(long)]
    pub broker: String,
    /// Process to measure.
    #[arg(long)]
    pub server_pid: Option<u32>,
    /// Topic, or the beginning of their names when there are several.
    #[arg(long, default_value = "apogee-bench")]
    pub topic: String,
    /// Topics.
    #[arg(long, default_value_t = 1)]
    pub topics: usize,
    /// Queues of each topic.
    #[arg(long, default_value_t = 8)]
    pub queues: i32,
    /// Connections, each with a thread; the queues are spread over them and asked for at the same time.
    #[arg(long, default_value_t = 2)]
    pub connections: usize,
    /// Messages asked for at once.
    #[arg(long, default_value_t = 32)]
    pub most: i32,
    /// Tags.
    #[arg(long, default_value = "*")]
    pub filter: String,
    /// An SQL-92 expression instead; the messages of the report are then those that it was applied to.
    #[arg(long)]
    pub sql: Option<String>,
    /// End after so many seconds, or when all queues are read.
    #[arg(long, default_value_t = 60.0)]
    pub duration: f64,
    /// Print one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    measure(options)?.print(options.json)
}

/// Measures. The bytes of the report are those of whole records.
pub fn measure(options: &Options) -> Result<Report> {
    // A group is forgotten with its last connection.
    let (filter, _subscribed) = options.subscribe()?;
    let pullers = options.pullers(&filter)?;
    let course = Course::new(0.0, options.duration, u64::MAX);
    let running = AtomicUsize::new(pullers.len());
    let reading = pullers.into_iter().map(|puller| || read(puller, &course, &running)).collect();
    let watch = || course.watch(options.server_pid.map(ServerProcess));
    let (outcome, watched) = beside(reading, Outcome::default(), Outcome::add, watch)?;
    let messages = if options.sql.is_some() { outcome.passed } else { outcome.messages };
    Ok(watched.report(options.describe(), messages, outcome.bytes, &outcome.latency))
}

impl Options {
    /// Tells the broker what the group wants, where requests do not say it.
    fn subscribe(&self) -> Result<(Filter, Option<Caller>)> {
        let Some(expression) = &self.sql else { return Ok((Filter::Tags(self.filter.clone()), None)) };
        let version = wall_millis();
        let subscription = |topic| SubscriptionData {
            topic,
            sub_string: expression.clone(),
            expression_type: "SQL92".into(),
            sub_version: version,
            ..SubscriptionData::default()
        };
        let topics = topic::names(&self.topic, self.topics).into_iter().map(subscription).collect();
        let mut caller = Caller::connect(&self.broker)?;
        caller.call(&heartbeat("apogee-bench-puller".into(), GROUP.into(), topics))?;
        Ok((Filter::Subscribed(version), Some(caller)))
    }

    fn pullers(&self, filter: &Filter) -> Result<Vec<Puller>> {
        let queues: Vec<_> = topic::names(&self.topic, self.topics)
            .into_iter()
            .flat_map(|topic| (0..self.queues).map(move |queue| (topic.clone(), queue)))
            .collect();
        let shape = PullShape { most: self.most, filter: filter.clone(), hold_millis: 0 };
        let connections = self.connections.clamp(1, queues.len().max(1));
        (0..connections)
            .map(|number| {
                let own = queues.iter().skip(number).step_by(connections);
                Puller::connect(&self.broker, own.map(|(topic, queue)| (topic.clone(), *queue, 0)), shape.clone())
            })
            .collect()
    }

    fn describe(&self) -> String {
        let Self { topics, queues, most, connections, .. } = self;
        format!("pull {topics} topics x {queues} queues, {most} at a time, {connections} connections; whole records")
    }
}

/// What one connection, or all of them, got.
struct Outcome {
    latency: Histogram<u64>,
    messages: u64,
    /// Bytes of records.
    bytes: u64,
    /// Messages looked at, received or not.
    passed: u64,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { latency: histogram(), messages: 0, bytes: 0, passed: 0 }
    }
}

impl Outcome {
    fn add(&mut self, other: &Self) -> Result<()> {
        self.latency.add(&other.latency)?;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.passed += other.passed;
        Ok(())
    }
}

/// Reads the puller's queues to their ends; the last one to get there ends the measurement.
fn read(mut puller: Puller, course: &Course, running: &AtomicUsize) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut pull = || -> Result<()> {
        puller.ask_all()?;
        while puller.open() > 0 && nanos() < course.until() {
            let code = puller.next(|answer| {
                outcome.latency.saturating_record(answer.latency.max(1));
                outcome.messages += answer.count_records();
                outcome.bytes += answer.records.len() as u64;
                answer.code
            })?;
            // Nothing fits here, or the queue begins later: these answers tell where to go on. Others: it ends here.
            if let ResponseCode::SUCCESS | ResponseCode::PULL_RETRY_IMMEDIATELY | ResponseCode::PULL_OFFSET_MOVED =
                ResponseCode(code)
            {
                puller.ask_again()?;
            }
        }
        Ok(())
    };
    let result = pull();
    if running.fetch_sub(1, Ordering::Relaxed) == 1 || result.is_err() {
        course.end();
    }
    outcome.passed = puller.passed();
    result.map(|()| outcome)
}
