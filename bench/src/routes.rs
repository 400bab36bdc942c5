//! Route queries at a name server while its brokers register again and again.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apogee_remoting::protocol::register::{RegisterBrokerBody, RegisterBrokerRequestHeader};
use apogee_remoting::protocol::route::{BrokerData, GetRouteInfoRequestHeader, QueueData, TopicRouteData};
use apogee_remoting::protocol::topic::TopicConfig;
use apogee_remoting::{Command, RequestCode, Serialization, json};
use clap::Args;

use crate::clock::{nanos, to_seconds, wall_millis};
use crate::generate::{self, Course, Lane, Pace, Template, beside};
use crate::report::Report;
use crate::server_process::ServerProcess;
use crate::topic;
use crate::wire::{Caller, parse_serialization};

/// The load.
#[derive(Args, Clone)]
pub struct Options {
    /// Name server, host:port.
    #[arg(long)]
    pub name_server: String,
    /// Process to measure.
    #[arg(long)]
    pub server_pid: Option<u32>,
    /// Brokers that register.
    #[arg(long, default_value_t = 10)]
    pub brokers: usize,
    /// Topics, each with eight queues on every broker.
    #[arg(long, default_value_t = 1000)]
    pub topics: usize,
    /// Registrations per second of all brokers together. Each brings a new version with one changed topic.
    #[arg(long, default_value_t = 10.0)]
    pub registrations: f64,
    /// Connections that ask.
    #[arg(long, default_value_t = 8)]
    pub connections: usize,
    /// Requests in flight on each connection.
    #[arg(long, default_value_t = 64)]
    pub in_flight: usize,
    /// How headers are written: json or rocketmq.
    #[arg(long, default_value = "json", value_parser = parse_serialization)]
    pub serialization: Serialization,
    /// Seconds before the measurement begins.
    #[arg(long, default_value_t = 3.0)]
    pub warm_up: f64,
    /// Seconds to measure.
    #[arg(long, default_value_t = 10.0)]
    pub duration: f64,
    /// Print one line of JSON.
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// A thousand topics on ten brokers, as many queries as the name server can take over eight connections.
    pub fn closed_loop(name_server: &str, server_pid: u32, serialization: Serialization, duration: f64) -> Self {
        Self {
            name_server: name_server.to_owned(),
            server_pid: Some(server_pid),
            brokers: 10,
            topics: 1000,
            registrations: 10.0,
            connections: 8,
            in_flight: 64,
            serialization,
            warm_up: 3.0,
            duration,
            json: false,
        }
    }
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    measure(options)?.print(options.json)
}

/// Registers all brokers and measures.
pub fn measure(options: &Options) -> Result<Report> {
    ask(options, Brokers::register(&options.name_server, options.brokers, options.topics)?)
}

/// Measures a closed loop of queries for all topics of these brokers in turn.
pub fn ask(options: &Options, mut brokers: Brokers) -> Result<Report> {
    let size = route_of(&options.name_server, brokers.topic(0))?.len();
    let templates: Arc<[Template]> =
        brokers.names.iter().map(|topic| Template::of(query(topic), options.serialization)).collect();
    let course = Course::new(options.warm_up, options.duration, u64::MAX);
    let target = (options.name_server.as_str(), options.connections);
    let lane = Lane::new(0, target, templates, 1, Pace::Closed(options.in_flight), Arc::clone(&course))?;
    let registering = || -> Result<()> {
        let begun = nanos();
        while nanos() < course.until() {
            if to_seconds(nanos() - begun) * options.registrations > brokers.changes as f64 {
                brokers.change_one().inspect_err(|_| course.end())?;
            } else {
                thread::sleep(LOOK);
            }
        }
        Ok(())
    };
    let watch = || course.watch(options.server_pid.map(ServerProcess));
    let queries = || generate::run(vec![lane], watch);
    let ((), (outcome, watched)) = beside(vec![registering], (), |(), ()| Ok(()), queries)?;
    let Options { topics, brokers, connections, in_flight, .. } = options;
    let load = format!(
        "routes of {topics} topics on {brokers} brokers, {size} bytes, {connections} connections x {in_flight} in flight"
    );
    let report = watched.report(load, outcome.messages, outcome.messages * size as u64, &outcome.latency);
    Ok(Report { failures: outcome.failures, ..report })
}

/// Bytes of the body that answers a query for a topic on so many brokers.
pub fn answer_size(brokers: usize) -> usize {
    let mut route = TopicRouteData::default();
    for number in 0..brokers {
        let broker_addrs = [(0, address(number))].into();
        let (broker_name, cluster) = (broker(number), CLUSTER.to_owned());
        route.broker_datas.push(BrokerData { broker_addrs, broker_name, cluster, ..BrokerData::default() });
        route.queue_datas.push(QueueData {
            broker_name: broker(number),
            read_queue_nums: QUEUES,
            write_queue_nums: QUEUES,
            perm: 6,
            topic_sys_flag: 0,
        });
    }
    json::to_vec_standard(&route).len()
}

/// Brokers that are registered for as long as this is there, with their connections.
pub struct Brokers {
    callers: Vec<Caller>,
    names: Vec<String>,
    body: RegisterBrokerBody,
    changes: usize,
}

impl Brokers {
    /// Registers `count` brokers with the same topics.
    pub fn register(name_server: &str, count: usize, topics: usize) -> Result<Self> {
        ensure!(count > 0 && topics > 1, "a name server with nothing to tell is not measured");
        let names = topic::names("apogee-route", topics);
        let mut body = RegisterBrokerBody::default();
        let table = &mut body.topic_config_serialize_wrapper.topic_config_table;
        for name in &names {
            let config = TopicConfig {
                topic_name: name.clone(),
                read_queue_nums: QUEUES,
                write_queue_nums: QUEUES,
                ..TopicConfig::default()
            };
            table.insert(name.clone(), config);
        }
        let callers = (0..count).map(|_| Caller::connect(name_server)).collect::<Result<_>>()?;
        let mut brokers = Self { callers, names, body, changes: 0 };
        (0..count).try_for_each(|number| brokers.announce(number))?;
        Ok(brokers)
    }

    /// A topic that all of them have.
    pub fn topic(&self, number: usize) -> &str {
        &self.names[number % self.names.len()]
    }

    /// The next broker in turn has one topic with another number of queues.
    fn change_one(&mut self) -> Result<()> {
        let name = &self.names[self.changes % self.names.len()];
        self.changes += 1;
        let wrapper = &mut self.body.topic_config_serialize_wrapper;
        if let Some(topic) = wrapper.topic_config_table.get_mut(name) {
            topic.write_queue_nums = 2 * QUEUES - 1 - topic.write_queue_nums;
        }
        self.announce(self.changes % self.callers.len())
    }

    fn announce(&mut self, number: usize) -> Result<()> {
        let version = &mut self.body.topic_config_serialize_wrapper.data_version;
        version.advance(0, wall_millis());
        let (name, address) = (broker(number), address(number));
        let header = RegisterBrokerRequestHeader {
            broker_name: &name,
            broker_addr: &address,
            cluster_name: CLUSTER,
            ha_server_addr: Some(&address),
            broker_id: 0,
            heartbeat_timeout_millis: None,
            enable_acting_master: Some(false),
            compressed: false,
            body_crc32: 0,
        };
        let request = Command::request(RequestCode::REGISTER_BROKER).with_header(&header);
        self.callers[number].call(&request.with_body(json::to_vec_standard(&self.body)))?;
        Ok(())
    }
}

/// The body of the route of a topic.
fn route_of(name_server: &str, topic: &str) -> Result<Vec<u8>> {
    let answer = Caller::connect(name_server)?.call(&query(topic));
    Ok(answer.with_context(|| format!("no route of {topic}"))?.body.bytes().to_vec())
}

fn query(topic: &str) -> Command {
    let header = GetRouteInfoRequestHeader { topic, accept_standard_json_only: Some(true) };
    Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_header(&header)
}

fn broker(number: usize) -> String {
    format!("broker-{number}")
}

fn address(number: usize) -> String {
    format!("10.0.{}.{}:10911", number / 250, number % 250 + 1)
}

const CLUSTER: &str = "bench";
const QUEUES: i32 = 8;
const LOOK: Duration = Duration::from_millis(5);
