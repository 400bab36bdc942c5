//! Idle clients: what each costs a broker in time and memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use apogee_remoting::protocol::heartbeat::{ConsumerData, HeartbeatData, ProducerData};
use apogee_remoting::protocol::subscription::{ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData};
use apogee_remoting::{Command, RequestCode, json};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::report::{Latency, Meter, Usage, histogram};
use crate::server_process::{Memory, ServerProcess};
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
    /// Clients.
    #[arg(long, default_value_t = 2000)]
    pub clients: usize,
    /// Consumer groups that the clients share; one for each by default.
    #[arg(long)]
    pub groups: Option<usize>,
    /// Topic that every group subscribes to.
    #[arg(long, default_value = "apogee-bench")]
    pub topic: String,
    /// Seconds to stay connected after the last heartbeat.
    #[arg(long, default_value_t = 2.0)]
    pub hold: f64,
    /// Print one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// What the clients cost.
#[derive(Serialize)]
pub struct Outcome {
    pub clients: usize,
    groups: usize,
    /// From the first connection to the answer to the last heartbeat, one client after the other.
    pub seconds: f64,
    /// Of one first heartbeat, without connecting.
    pub heartbeat: Option<Latency>,
    pub memory_before: Option<Memory>,
    /// With all of them connected.
    pub memory_after: Option<Memory>,
    /// Until the last heartbeat; its "message" is a client.
    pub server: Option<Usage>,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    measure(options)?.print(options.json)
}

/// Connects and measures.
pub fn measure(options: &Options) -> Result<Outcome> {
    raise_file_limit().context("cannot raise the limit on open files")?;
    let (clients, groups) = (options.clients, options.groups.unwrap_or(options.clients).max(1));
    topic::create(&options.broker, std::slice::from_ref(&options.topic), 8)?;
    let process = options.server_pid.map(ServerProcess);
    let memory = || process.map(ServerProcess::memory).transpose();
    let (memory_before, meter, mut times) = (memory()?, Meter::start(process)?, histogram());
    let start = Instant::now();
    let mut connected = Vec::with_capacity(clients);
    for number in 0..clients {
        let mut caller = Caller::connect(&options.broker)?;
        let subscription = SubscriptionData {
            topic: options.topic.clone(),
            sub_string: "*".to_owned(),
            sub_version: crate::clock::wall_millis(),
            ..SubscriptionData::default()
        };
        let group = format!("apogee-bench-group-{}", number % groups);
        let request = heartbeat(format!("127.0.0.1@{number}"), group, vec![subscription]);
        let asked = Instant::now();
        caller.call(&request)?;
        times.saturating_record(asked.elapsed().as_nanos() as u64);
        connected.push(caller);
    }
    let seconds = start.elapsed().as_secs_f64();
    let server = meter.stop()?.map(|spent| spent.on(clients as u64));
    thread::sleep(Duration::from_secs_f64(options.hold));
    let memory_after = memory()?;
    drop(connected);
    Ok(Outcome { clients, groups, seconds, heartbeat: Latency::of(&times), memory_before, memory_after, server })
}

impl Outcome {
    fn print(&self, json: bool) -> Result<()> {
        if json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        println!("{} clients of {} groups in {:.2} s", self.clients, self.groups, self.seconds);
        if let Some(Latency { p50, p99, max, .. }) = self.heartbeat {
            println!("  first heartbeat µs  p50 {p50:.1}  p99 {p99:.1}  max {max:.1}");
        }
        if let (Some(before), Some(after), Some(server)) = (self.memory_before, self.memory_after, self.server) {
            let kib = |bytes: u64| bytes / 1024;
            println!("  anonymous memory    {} -> {} KiB", kib(before.anonymous), kib(after.anonymous));
            println!("  server CPU          {:.2} s", server.cpu_seconds);
        }
        Ok(())
    }
}

/// The heartbeat of a push consumer.
pub fn heartbeat(client_id: String, group: String, subscriptions: Vec<SubscriptionData>) -> Command {
    let consumer = ConsumerData {
        group_name: group,
        consume_type: ConsumeType::ConsumePassively,
        message_model: MessageModel::Clustering,
        consume_from_where: ConsumeFromWhere::ConsumeFromLastOffset,
        subscription_data_set: subscriptions,
        unit_mode: false,
    };
    let heartbeat = HeartbeatData {
        client_id,
        consumer_data_set: vec![consumer],
        producer_data_set: vec![ProducerData { group_name: "CLIENT_INNER_PRODUCER".to_owned() }],
        ..HeartbeatData::default()
    };
    Command::request(RequestCode::HEART_BEAT).with_body(json::to_vec_standard(&heartbeat))
}

fn raise_file_limit() -> rustix::io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
}
