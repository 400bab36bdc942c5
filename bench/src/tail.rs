//! Sends at a rate while long polls wait: latency from the time a message was due to the time it was received.

use anyhow::Result;
use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::offset::{GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader};
use apogee_remoting::{Command, RequestCode};
use clap::Args;
use hdrhistogram::Histogram;

use crate::clock::{nanos, to_nanos};
use crate::generate::{self, Course, beside};
use crate::pull::{Filter, PullShape, Puller};
use crate::report::{Report, histogram};
use crate::server_process::ServerProcess;
use crate::wire::Caller;
use crate::{send, topic};

/// The load: the options of `send`, whose latencies become those of the whole way.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    pub send: send::Options,
    /// Connections that pull, each with a thread.
    #[arg(long, default_value_t = 1)]
    pub pullers: usize,
    /// The messages are delayed for so many seconds (`--property DELAY=LEVEL`): latencies count from when they are due.
    #[arg(long, default_value_t = 0.0)]
    pub delay: f64,
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<()> {
    measure(options)?.print(options.send.json)
}

/// Measures. The messages of the report are those received.
pub fn measure(options: &Options) -> Result<Report> {
    let mut load = options.send.clone();
    let rate = *load.rate.get_or_insert(5000.0);
    let topics = topic::names(&load.topic, load.topics);
    if !load.no_create {
        topic::create(&load.broker, &topics, load.queues)?;
    }
    let pullers = options.connect(&topics)?;
    let course = Course::new(load.warm_up, load.duration, load.most_bytes());
    let lanes = load.lanes(&course)?;
    let delay = to_nanos(options.delay);
    let receiving = pullers.into_iter().map(|puller| || receive(puller, &course, delay)).collect();
    let watch = || course.watch(load.server_pid.map(ServerProcess));
    let add = |sum: &mut Histogram<u64>, one: &Histogram<u64>| Ok(sum.add(one)?);
    let (latency, (sent, watched)) = beside(receiving, histogram(), add, || generate::run(lanes, watch))?;
    let received = latency.len();
    let load = format!("end to end at {rate:.0} messages/s, {} bytes; {} were acknowledged", load.body, sent.messages);
    let report = watched.report(load, received, received * options.send.body as u64, &latency);
    Ok(Report { failures: sent.failures, ..report })
}

impl Options {
    /// Connects the pullers; they start behind what is stored.
    fn connect(&self, topics: &[String]) -> Result<Vec<Puller>> {
        let mut caller = Caller::connect(&self.send.broker)?;
        let mut queues = Vec::new();
        for topic in topics {
            for queue in 0..self.send.queues {
                queues.push((topic.clone(), queue, max_offset(&mut caller, topic, queue)?));
            }
        }
        let shape = PullShape { most: 32, filter: Filter::Tags("*".into()), hold_millis: HOLD_MILLIS };
        let count = self.pullers.clamp(1, queues.len().max(1));
        (0..count)
            .map(|number| {
                let own = queues.iter().skip(number).step_by(count).cloned();
                Puller::connect(&self.send.broker, own, shape.clone())
            })
            .collect()
    }
}

/// Latencies of the messages that were sent in the measured time, until all of them must have come.
fn receive(mut puller: Puller, course: &Course, delay: u64) -> Result<Histogram<u64>> {
    let mut latency = histogram();
    puller.ask_all()?;
    // A held request is answered at the latest when its time is over, so this ends.
    while nanos() < course.until() + delay + to_nanos(1.0) {
        puller.next(|answer| {
            let now = nanos();
            for record in entries(answer.records) {
                let sent = record?.body.first_chunk().map_or(0, |start| u64::from_be_bytes(*start));
                if (course.from..course.until()).contains(&sent) {
                    latency.saturating_record(now.saturating_sub(sent + delay).max(1));
                }
            }
            anyhow::Ok(())
        })??;
        puller.ask_again()?;
    }
    Ok(latency)
}

/// Offset behind the newest message of a queue.
pub fn max_offset(caller: &mut Caller, topic: &str, queue_id: i32) -> Result<i64> {
    let header = GetMaxOffsetRequestHeader { topic, queue_id, committed: true };
    let response = caller.call(&Command::request(RequestCode::GET_MAX_OFFSET).with_header(&header))?;
    Ok(response.header::<GetMaxOffsetResponseHeader>()?.offset)
}

const HOLD_MILLIS: i64 = 2000;
